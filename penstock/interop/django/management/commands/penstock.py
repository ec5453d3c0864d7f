"""`manage.py penstock …`: the penstock command on the project's database."""

import os
import sys
from argparse import ArgumentParser
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandParser

from penstock.interop.django.application import the_app

APP = "penstock.interop.django:app"
NAMED = ("worker", "tick", "server", "up", "migrate")
"""Take the application where others take an address."""


class Command(BaseCommand):
    help = "The penstock command on the project's database: jobs, queues, workers, schedules, top, doctor …"
    requires_system_checks: tuple[str, ...] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        # its own options are for Penstock's command line, --help among them
        run(own_arguments(argv[2:]))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs="*")

    def handle(self, *_: Any, arguments: list[str], **__: Any) -> None:
        run(arguments)


def own_arguments(given: list[str]) -> list[str]:
    """Without those that Django has read before: --settings and --pythonpath."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    return parser.parse_known_args(given)[1]


def run(arguments: list[str]) -> NoReturn:
    """Ends the process, with the exit code of the command."""
    from penstock.cli import main

    app = the_app()
    # for the processes that it starts
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))
    if arguments and arguments[0] in NAMED:
        arguments = [arguments[0], APP, *arguments[1:]]
    else:
        os.environ.update(DATABASE_URL=app.url(), PENSTOCK_SCHEMA=app.database.schema)
    sys.argv = ["penstock", *arguments]
    main()
    sys.exit(0)

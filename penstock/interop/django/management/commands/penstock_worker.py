"""`manage.py penstock_worker`: `penstock worker` for the project's tasks."""

from typing import Any

from penstock.interop.django.management.commands import penstock


class Command(penstock.Command):
    help = "Run tasks until stopped. Takes the options of `penstock worker`: --queues, --processes, --grace …"

    def run_from_argv(self, argv: list[str]) -> None:
        penstock.run(["worker", *penstock.own_arguments(argv[2:])])

    def handle(self, *_: Any, arguments: list[str], **__: Any) -> None:
        penstock.run(["worker", *arguments])

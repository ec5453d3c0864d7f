"""The command line as a whole."""

import signal
from typing import Annotated

import typer

from penstock.cli.artifacts import artifacts
from penstock.cli.bench import bench
from penstock.cli.db import db, migrate, on_database
from penstock.cli.doctor import doctor
from penstock.cli.enqueue import enqueue
from penstock.cli.init import init
from penstock.cli.jobs import jobs
from penstock.cli.move import move
from penstock.cli.queues import queues
from penstock.cli.schedules import schedules
from penstock.cli.server import server, up
from penstock.cli.token import token
from penstock.cli.top import top
from penstock.cli.wake import wake
from penstock.cli.worker import tick, worker
from penstock.cli.workers import workers

cli = typer.Typer(
    name="penstock",
    help="Jobs on the Postgres you already have. Commands take --json; up, server and worker, which go on, take "
    "--log-format json. The database is DATABASE_URL, or an embedded Postgres under .penstock/.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
cli.command()(init)
cli.command()(up)
cli.command()(server)
cli.command()(worker)
cli.command()(tick)
cli.command()(on_database(top))
cli.command()(on_database(workers))
cli.command()(on_database(doctor))
cli.command()(on_database(bench))
cli.command()(on_database(wake))
cli.command()(migrate)
cli.command()(on_database(move))
cli.command()(on_database(enqueue))
cli.command()(token)
cli.add_typer(db, name="db")
cli.add_typer(jobs, name="jobs")
cli.add_typer(queues, name="queues")
cli.add_typer(schedules, name="schedules")
cli.add_typer(artifacts, name="artifacts")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("penstock"))
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    try:
        cli()
    finally:
        # what is left is the interpreter's own end, where KeyboardInterrupt could only be a traceback
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)

"""`penstock schedules`: what is enqueued by the clock."""

from typing import Annotated

import typer

from penstock.app import Penstock
from penstock.cli import complete
from penstock.cli.db import on_database
from penstock.cli.given import read_arguments
from penstock.cli.operate import operator
from penstock.cli.output import out, print_json, print_table
from penstock.cli.queues import Create, refuse_unknown_queue
from penstock.cron import CatchUp, RecordedSchedule
from penstock.engine import commands
from penstock.errors import InvalidInput, meant
from penstock.job_options import Choices

schedules = typer.Typer(help="Schedules: jobs that are enqueued by the clock.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The schedule's name.", autocompletion=complete.schedules)]


@schedules.command("list")
@on_database
def list_(app: Penstock, json: bool) -> None:
    """List schedules with their next and last tick."""
    listed = app.schedules.list()
    if json:
        print_json({"schedules": listed})
        return
    print_table(
        ["schedule", "cron", "zone", "kind", "next", "last", "from", ""],
        [
            [
                each.name, each.cron, each.tz, each.kind, each.next_tick and f"{each.next_tick:%Y-%m-%d %H:%M:%S%z}",
                each.last_tick and f"{each.last_tick:%Y-%m-%d %H:%M:%S%z}", each.source,
                "PAUSED" if each.paused else None,
            ]
            for each in listed
        ],
        empty="no schedules yet: add one with `penstock schedules add`, or start a worker whose code has @app.cron",
    )  # fmt: skip


@schedules.command()
@on_database
def add(
    app: Penstock,
    json: bool,
    name: Name,
    cron: Annotated[str, typer.Argument(help="When, e.g. '30 2 * * MON-FRI'; with six fields the first is seconds.")],
    kind: Annotated[str, typer.Argument(help="The kind of job to enqueue.")],
    args: Annotated[str, typer.Option(help="The job's arguments as a JSON object.")] = "{}",
    tz: Annotated[str, typer.Option(help="The time zone whose clock counts.")] = "UTC",
    catch_up: Annotated[
        CatchUp, typer.Option(help="Ticks missed while no worker ran: fire none, the latest one, or all of them.")
    ] = "one",
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="The queue of its jobs.")] = None,
    priority: Annotated[int | None, typer.Option(help="The priority of its jobs; higher goes first.")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="How often a job is tried.")] = None,
    unique: Annotated[bool, typer.Option("--unique", help="Enqueue nothing while its last job is unfinished.")] = False,
    create: Create = False,
) -> None:
    """Add a schedule to the database, or change it; the worker that leads enqueues its jobs."""
    options: Choices = {}
    if queue is not None:
        refuse_unknown_queue(app, queue, create=create)
        options["queue"] = queue
    if priority is not None:
        options["priority"] = priority
    if max_attempts is not None:
        options["max_attempts"] = max_attempts
    if unique:
        options["unique"] = True
    operator(app).set_schedule(name, cron, kind, read_arguments(args), tz=tz, catch_up=catch_up, **options)
    _tell(app, json, name)


@schedules.command()
@on_database
def remove(app: Penstock, json: bool, name: Name) -> None:
    """Remove a schedule. One that code defines comes back with the next worker, unless it is gone from there too."""
    _refuse_unknown(app, name)
    operator(app).remove_schedule(name)
    if json:
        print_json({"removed": name})
    else:
        out.print(f"{name}: removed", highlight=False, markup=False)


@schedules.command()
@on_database
def pause(app: Penstock, json: bool, name: Name) -> None:
    """Fire nothing of a schedule until `resume`. Jobs it has enqueued go on."""
    _refuse_unknown(app, name)
    operator(app).pause_schedule(name)
    _tell(app, json, name)


@schedules.command()
@on_database
def resume(app: Penstock, json: bool, name: Name) -> None:
    """Let a paused schedule go on with its next tick. Those of the pause are not caught up."""
    _refuse_unknown(app, name)
    operator(app).resume_schedule(name)
    _tell(app, json, name)


@schedules.command()
@on_database
def run(app: Penstock, json: bool, name: Name) -> None:
    """Enqueue a schedule's job at once, paused or not. Its ticks come as they would."""
    _refuse_unknown(app, name)
    job = operator(app).run_schedule(name)
    if json:
        print_json({"id": job.id})
    else:
        typer.echo(job.id)


def _refuse_unknown(app: Penstock, name: str) -> None:
    known = [each.name for each in app.schedules.list()]
    if name not in known:
        raise InvalidInput("name", f"there is no schedule {name!r}{meant(name, known)}; see `penstock schedules list`")


def _tell(app: Penstock, json: bool, name: str) -> None:
    [schedule] = app.engine.run(commands.ListSchedules([name])).schedules
    if json:
        print_json(schedule)
    else:
        out.print(f"{name}: {_state(schedule)}", highlight=False, markup=False)


def _state(schedule: RecordedSchedule) -> str:
    if schedule.next_tick is None:
        return "paused"
    return f"{schedule.kind} next at {schedule.next_tick:%Y-%m-%d %H:%M:%S%z}"

"""`penstock queues`: how much is in them, and what they are told."""

from typing import Annotated, Any

import typer

from penstock.app import Penstock
from penstock.backoff import Backoff
from penstock.cli import complete
from penstock.cli.db import on_database
from penstock.cli.operate import operator
from penstock.cli.output import out, print_json, print_table
from penstock.engine import commands
from penstock.errors import InvalidInput, UnknownQueue
from penstock.json import loads

queues = typer.Typer(help="Queues: how much is in them, and their settings.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The queue's name.", autocompletion=complete.queues)]
Create = Annotated[bool, typer.Option("--create", help="The queue may be a new one.")]


def refuse_unknown_queue(app: Penstock, name: str, *, create: bool) -> None:
    """A slip of the pen would make a queue that no worker serves."""
    if not create and (known := known_unless(app, name)):
        raise UnknownQueue(name, known)


def known_unless(app: Penstock, name: str) -> set[str]:
    """The queues that there are; none of them when this is one."""
    known = {"default", *(queue.name for queue in _seen(app))}
    return set() if name in known or app.jobs.list(queue=name, limit=1).jobs else known


def _seen(app: Penstock) -> list[commands.Queue]:
    return commands.with_served(app.queues.list(), app.workers.list())


@queues.command("list")
@on_database
def list_(app: Penstock, json: bool) -> None:
    """List queues with their jobs by state, and those that workers serve."""
    listed = _seen(app)
    if json:
        print_json({"queues": listed})
        return
    print_table(
        ["queue", "ready", "running", "scheduled", "blocked", "oldest", "settings"],
        [
            [
                queue.name, queue.ready, queue.running, queue.scheduled, queue.blocked,
                None if queue.oldest_ready_seconds is None else f"{queue.oldest_ready_seconds:.1f} s",
                " ".join((["PAUSED"] if queue.paused else []) + [f"{k}={v}" for k, v in queue.settings.items()]),
            ]
            for queue in listed
        ],
        empty="no queues yet: a queue exists as soon as a job names it",
    )  # fmt: skip


@queues.command()
@on_database
def pause(app: Penstock, json: bool, name: Name, create: Create = False) -> None:
    """Let no job of a queue start until `resume`. Running ones go on."""
    refuse_unknown_queue(app, name, create=create)
    operator(app).pause_queue(name)
    _tell(app, json, name)


@queues.command()
@on_database
def resume(app: Penstock, json: bool, name: Name, create: Create = False) -> None:
    """Let a paused queue's jobs start again."""
    refuse_unknown_queue(app, name, create=create)
    operator(app).resume_queue(name)
    _tell(app, json, name)


@queues.command(name="set")
@on_database
def set_(
    app: Penstock,
    json: bool,
    name: Name,
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="SETTING=VALUE...",
            help="max_running=3 · max_running_per_key=1 · rate=100 rate_period=60 (seconds) · rate_per_key=10 · "
            "fair_by=owner|org|limit_key · lease_length=60 · keep=all|failed · parked_timeout=259200 · "
            'backoff=\'{"base": 60, "cap": 3600}\' · an empty value or `none` takes a setting away',
        ),
    ],
    create: Create = False,
) -> None:
    """Change a queue's settings, e.g. penstock queues set exports max_running=3 rate=100 rate_period=60."""
    changes = dict(_read(setting) for setting in settings)
    refuse_unknown_queue(app, name, create=create)
    operator(app).set_queue(name, **changes)
    _tell(app, json, name)


def _read(setting: str) -> tuple[str, Any]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise InvalidInput(name, "write it as setting=value")
    if value in ("", "none", "null"):
        return name, None
    if name == "backoff":
        try:
            return name, Backoff(**loads(value))
        except ValueError as error:
            raise InvalidInput("backoff", f'must be JSON such as {{"base": 60, "cap": 3600}}: {error}') from None
        except TypeError:
            raise InvalidInput("backoff", f'must be JSON such as {{"base": 60, "cap": 3600}}, not {value}') from None
    try:
        return name, loads(value)
    except ValueError:
        return name, value


def _tell(app: Penstock, json: bool, name: str) -> None:
    [queue] = [each for each in app.queues.list() if each.name == name]
    if json:
        print_json(queue)
    else:
        told = " ".join(f"{key}={value}" for key, value in queue.settings.items())
        out.print(f"{name}: {'paused' if queue.paused else 'active'} {told}".rstrip(), highlight=False, markup=False)

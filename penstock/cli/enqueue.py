"""`penstock enqueue`: a job from the command line."""

import sys
from datetime import datetime
from typing import Annotated, Any

import typer

from penstock.app import Penstock
from penstock.cli.load import load_app
from penstock.cli.output import out, print_json
from penstock.cli.queues import Create, refuse_unknown_queue
from penstock.errors import InvalidInput
from penstock.handler import Choices
from penstock.json import loads


def enqueue(
    app: Penstock,
    json: bool,
    kind: Annotated[str, typer.Argument(help="The kind of the job.")],
    args: Annotated[str, typer.Argument(help="Its arguments as a JSON object; - reads them from stdin.")] = "{}",
    application: Annotated[
        str | None,
        typer.Option(
            "--app", help="Where its handler is, package.module:app: the arguments are checked and its options used."
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Its queue.")] = None,
    delay: Annotated[float | None, typer.Option(min=0, help="Seconds that it waits before it may run.")] = None,
    run_at: Annotated[
        str | None, typer.Option(help="When it may run: 2026-12-24T18:00+01:00. Without a zone: this machine's.")
    ] = None,
    priority: Annotated[int | None, typer.Option(help="Its priority; higher goes first.")] = None,
    max_attempts: Annotated[int | None, typer.Option(min=1, help="How often it is tried.")] = None,
    unique: Annotated[bool, typer.Option("--unique", help="Not while the same work is unfinished.")] = False,
    owner: Annotated[str | None, typer.Option(help="The user that it belongs to.")] = None,
    org: Annotated[str | None, typer.Option(help="The organisation that it belongs to.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended, and print its result.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to --wait.")] = 300.0,
    create: Create = False,
) -> None:
    """Enqueue a job: penstock enqueue send_mail '{"to": "ada@example.com"}' --delay 60.

    Prints the job's id; with --wait its result, as JSON, and exit code 1 when it failed.
    """
    options: Choices = {}
    if queue is not None:
        refuse_unknown_queue(app, queue, create=create)
        options["queue"] = queue
    if delay is not None:
        options["delay"] = delay
    if run_at is not None:
        options["run_at"] = _moment(run_at)
    if priority is not None:
        options["priority"] = priority
    if max_attempts is not None:
        options["max_attempts"] = max_attempts
    if unique:
        options["unique"] = True
    if owner is not None:
        options["owner"] = owner
    if org is not None:
        options["org"] = org
    given = read_arguments(sys.stdin.read() if args == "-" else args)
    if application is not None:
        job = load_app(application).prepare(kind, given, **options)
    else:
        job = app.prepare_unchecked(kind, given, **options)
    handle = app.handle(app.engine.enqueue([job], None)[0].id)
    if wait:
        print_json(handle.result(timeout))
    elif json:
        print_json({"id": handle.id})
    else:
        out.print(str(handle.id), highlight=False)


def read_arguments(text: str) -> dict[str, Any]:
    try:
        read = loads(text)
    except ValueError as error:
        raise InvalidInput("args", f'must be JSON such as {{"document": "d1"}}: {error}') from None
    if not isinstance(read, dict):
        raise InvalidInput("args", f'must be a JSON object such as {{"document": "d1"}}, not {text}')
    return read


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise InvalidInput("run_at", f"must be a time such as 2026-12-24T18:00+01:00, not {text!r}") from None

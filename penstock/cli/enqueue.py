"""`penstock enqueue`: a job from the command line."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated, Any, Unpack

import psycopg
import typer

from penstock.app import Penstock
from penstock.cli.complete import kinds, queues
from penstock.cli.given import moment, read_arguments
from penstock.cli.lines import enqueue_lines
from penstock.cli.load import load_app
from penstock.cli.output import out, print_json, warn
from penstock.cli.progress import bar
from penstock.cli.queues import Create, refuse_unknown_queue
from penstock.engine import commands
from penstock.errors import InvalidInput, PenstockError, meant
from penstock.handle import JobHandle
from penstock.job import NewJob
from penstock.job_options import Choices
from penstock.logs import shown

LOOK_EVERY = 0.3
"""Seconds between two looks at how far a job is that is waited for."""
_MOST_NAMED = 10
"""Of the kinds that there are."""


def enqueue(
    app: Penstock,
    json: bool,
    kind: Annotated[
        str | None, typer.Argument(help="The kind of the job.", show_default=False, autocompletion=kinds)
    ] = None,
    args: Annotated[str, typer.Argument(help="Its arguments as a JSON object; - reads them from stdin.")] = "{}",
    application: Annotated[
        str | None,
        typer.Option(
            "--app", help="Where its handler is, package.module:app: the arguments are checked and its options used."
        ),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Its queue.", autocompletion=queues)] = None,
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
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Many jobs, all or none: a file with a JSON object in each line; -: stdin. After a KIND each is the "
            'arguments of one job; without, it is {"kind": …, "args": …} with options of its own.',
        ),
    ] = None,
) -> None:
    """Enqueue a job: penstock enqueue send_mail '{"to": "ada@example.com"}' --delay 60.

    Prints the job's id; with --wait its result, as JSON, and exit code 1 when it failed. With --from it prints how many
    jobs there were: penstock enqueue send_mail --from addresses.jsonl.
    """
    options: Choices = {}
    if queue is not None:
        options["queue"] = queue
    if delay is not None:
        options["delay"] = delay
    if run_at is not None:
        options["run_at"] = moment(run_at)
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
    known: set[str] = set()
    unchecked: dict[str, None] = {}
    definitions = load_app(application) if application is not None else None

    def prepared(kind: str, args: dict[str, Any], **own: Unpack[Choices]) -> NewJob:
        chosen: Choices = {**options, **own}
        if "queue" in chosen and chosen["queue"] not in known:
            refuse_unknown_queue(app, chosen["queue"], create=create)
            known.add(chosen["queue"])
        if definitions is not None:
            return definitions.prepare(kind, args, **chosen)
        unchecked[kind] = None
        return app.prepare_unchecked(kind, args, **chosen)

    if source is not None:
        if wait or args != "{}":
            raise InvalidInput("wait" if wait else "args", "is for one job: leave it out with --from")
        enqueue_lines(app, json, source, kind, prepared)
        _warn_of_unknown(app, unchecked, json=json)
        return
    if kind is None:
        raise InvalidInput("kind", "name the kind of the job, or a file of many jobs by --from")
    given = read_arguments(sys.stdin.read() if args == "-" else args)
    maker = definitions.flow_maker(kind) if definitions else None
    if maker is not None and options:
        raise InvalidInput(next(iter(options)), f"is for one job, and {kind} is a flow: leave it out")
    work = [prepared(kind, given)] if maker is None else maker.make(given).jobs()
    handle = app.handle(app.engine.enqueue(work)[0].id)
    _warn_of_unknown(app, unchecked, json=json)
    if wait:
        print_json(_result(handle, timeout, json))
    elif json:
        print_json({"id": handle.id})
    else:
        out.print(str(handle.id), highlight=False)


def _warn_of_unknown(app: Penstock, kinds: Iterable[str], *, json: bool) -> None:
    """Of a slip of the pen, as far as the database can know: a worker that will run them may be yet to come."""
    with suppress(PenstockError, psycopg.Error):  # they are enqueued, whoever may not look
        known = app.engine.run(commands.KnownKinds())
        for kind in kinds:
            if known and kind not in known:
                more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
                warn(
                    f"kind: nobody is known to run {kind!r}{meant(kind, known)}; there are "
                    f"{', '.join(known[:_MOST_NAMED])}{more}. It waits for a worker that has a handler of it",
                    json=json,
                )


def _result(handle: JobHandle[Any], timeout: float, json: bool) -> object:
    """Waits for it, and shows meanwhile how far it is."""
    with bar("waiting", 100, json=json, percent=True) as tell:
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                return handle.result(min(max(left, 0), LOOK_EVERY))
            except TimeoutError:
                if left <= 0:
                    raise PenstockError(
                        f"it has not ended within {timeout:g} s, and goes on: `penstock jobs show {handle.id}`, "
                        "`penstock workers` say how it is"
                    ) from None
            job = handle.refresh()
            tell(int(job.percent), what=shown(job.progress.get("message") or str(job.state)))

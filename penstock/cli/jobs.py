"""`penstock jobs`: look through jobs and change their course."""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from penstock.app import Penstock
from penstock.cli import complete
from penstock.cli.db import on_database
from penstock.cli.operate import agree, operate, operator
from penstock.cli.options import KindFilter, OrgFilter, OwnerFilter, QueueFilter, StateFilter, Yes
from penstock.cli.output import err, out, print_json, print_record, print_table
from penstock.cli.queues import Create, known_unless, refuse_unknown_queue
from penstock.engine.commands import Action, SearchPage, StepsOf, TakenStep
from penstock.errors import InvalidInput, UnknownJob, UnknownQueue
from penstock.job import Job, JobState
from penstock.jobs import Filter
from penstock.logs import counted, shown
from penstock.operations import checked_priority
from penstock.workers import Holder

jobs = typer.Typer(help="Look through jobs, live and finished, and change their course.", no_args_is_help=True)

_LOOKS_FOR = 3.0

Ids = Annotated[
    list[UUID] | None, typer.Argument(help="Ids of jobs; leave out to choose by filter.", show_default=False)
]


def _filter(
    queue: list[str] | None,
    kind: list[str] | None,
    state: list[JobState] | None = None,
    owner: list[str] | None = None,
    org: list[str] | None = None,
) -> Filter:
    given: dict[str, Any] = {"queue": queue, "kind": kind, "state": state, "owner": owner, "org": org}
    return {name: value for name, value in given.items() if value}  # type: ignore[return-value]


def _chosen(app: Penstock, queue: list[str] | None, kind: list[str] | None, state: list[JobState] | None) -> Filter:
    """Nobody changes every job by leaving out a word, or believes that nothing is left after a slip of the pen."""
    if not (queue or kind or state):
        raise InvalidInput("ids", "name jobs, or choose them by --queue, --kind or --state")
    for unknown in _unknown_among(app, queue):
        raise unknown
    return _filter(queue, kind, state)


def _unknown_among(app: Penstock, queues: list[str] | None) -> Iterator[UnknownQueue]:
    for name in queues or ():
        if known := known_unless(app, name):
            yield UnknownQueue(name, known, "`penstock queues list` shows them")


def _tell_missed(named: list[UUID], changed: Sequence[UUID], why: str) -> None:
    """A flow's members come along, so there may be more than were named."""
    if missed := [id for id in named if id not in changed]:
        others = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
        err.print(
            f"left alone: {missed[0]}{others}, {why} or unknown; see `penstock jobs show {missed[0]}`",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip


@jobs.command("list")
@on_database
def list_(
    app: Penstock,
    json: bool,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    owner: OwnerFilter = None,
    org: OrgFilter = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many.")] = 20,
    before: Annotated[UUID | None, typer.Option(help="The next page: the id it begins before.")] = None,
    error: Annotated[str | None, typer.Option(help="Only those whose attempts have said this.")] = None,
) -> None:
    """List jobs, newest first."""
    chosen = _filter(queue, kind, state, owner, org)
    if error:
        chosen["error"] = error
    with err.status("looking…"):
        page = _search(app, chosen, before, limit)
    if json:
        print_json(page)
        return
    print_table(
        ["id", "kind", "queue", "state", "attempt", "%", "created", "error"],
        [
            [
                job.id, job.kind, job.queue, job.state, f"{job.attempt}/{job.max_attempts}", f"{job.percent:.0f}",
                f"{job.created_at.astimezone():%m-%d %H:%M:%S}", _trouble(job)[:80],
            ]
            for job in page.jobs
        ],
        empty="no jobs",
    )  # fmt: skip
    for unknown in _unknown_among(app, [] if page.jobs else queue):
        err.print(f"{unknown}", highlight=False, markup=False, soft_wrap=True)
    if page.next and page.searched_back_to and len(page.jobs) < limit:
        err.print(f"looked back to {page.searched_back_to.astimezone():%Y-%m-%d %H:%M:%S}", style="dim")
    if page.next:
        err.print(f"more: --before {page.next}", style="dim")


def _search(app: Penstock, chosen: Filter, before: UUID | None, limit: int) -> SearchPage:
    """Looks for some seconds at most: a page that is short says how far it came."""
    until = time.monotonic() + _LOOKS_FOR
    found: list[Job] = []
    while True:
        page = app.jobs.search(before=before, limit=limit - len(found), **chosen)
        found += page.jobs
        before = page.next
        if before is None or len(found) == limit or time.monotonic() > until:
            return SearchPage(found, page.next, page.searched_back_to)


def _trouble(job: Job) -> str:
    """Why a job is not done, as far as it can be told in a line."""
    if job.parked_reason is not None:
        return f"waiting for a worker that knows it: {job.parked_reason}"
    return job.last_error or ""


@jobs.command()
@on_database
def show(
    app: Penstock,
    json: bool,
    id: Annotated[UUID, typer.Argument(help="The job's id.")],
) -> None:
    """Show everything on record about a job."""
    job = app.jobs.get(id)
    if job is None:
        raise UnknownJob(f"there is no job {id}")
    holder, step = app.workers.holder_of(id), _awaited(app, job)
    if json:
        print_json({**dataclasses.asdict(job), "worker": holder, "waits_for": step})
    else:
        _print_job(job, holder, step)


def _awaited(app: Penstock, job: Job) -> TakenStep | None:
    """The step by which its handler waits, if one does."""
    if job.state not in (JobState.SCHEDULED, JobState.BLOCKED) or not app.engine.capabilities.durable_waits:
        return None
    return next((step for step in app.engine.run(StepsOf(job.id)) if step.waits), None)


def _print_job(job: Job, holder: Holder | None, step: TakenStep | None) -> None:
    print_record(job, (name for name in Job.__slots__ if name != "errors"))
    if step is not None:
        until = f" {step.until.astimezone():%Y-%m-%d %H:%M:%S}" if step.until else ""
        out.print(f"[bold]{'now':>16}[/]  {escape(shown(step.awaited + until))}", soft_wrap=True, highlight=False)
    if holder is not None:
        heard = f"heard of at {holder.heard_at.astimezone():%m-%d %H:%M:%S}"
        told = f"{holder.worker}, host {holder.host}, pid {holder.pid}, for {holder.seconds:,.0f} s, {heard}"
        out.print(f"[bold]{'runs on':>16}[/]  {escape(shown(told))}", soft_wrap=True, highlight=False)
    for error in job.errors:
        told = f"attempt {error.get('attempt', '-')} at {error.get('at')}: {error.get('error')}"
        out.print(f"[bold red]{'error':>16}[/]  {escape(shown(told))}", highlight=False)
        for line in str(error.get("traceback") or "").splitlines():
            out.print(escape(shown(line)), highlight=False, soft_wrap=True)


@jobs.command()
@on_database
def retry(
    app: Penstock,
    json: bool,
    ids: Ids = None,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    to_queue: Annotated[str | None, typer.Option(help="Move them to this queue.")] = None,
    create: Create = False,
    yes: Yes = False,
) -> None:
    """Bring failed jobs back to life, by id or by filter. A member of an ended flow brings the whole flow back."""
    if to_queue is not None:
        refuse_unknown_queue(app, to_queue, create=create)
    if ids:
        about: dict[str, object]
        alive = operator(app).retry_jobs(*ids, queue=to_queue)
        _tell_missed(ids, alive, "neither failed nor cancelled")
        many, about = len(alive), {"ids": alive}
    else:
        chosen = _chosen(app, queue, kind, state)
        agree(app, "retry", "Retry {}?", yes=yes, **chosen)
        done = operate(app, "retry", {"queue": to_queue} if to_queue else {}, json, **chosen)
        many, about = done.done, {"operation": done.id}
    if json:
        print_json({"retried": many, **about})
    else:
        out.print(counted(many, "job is alive again", "jobs are alive again"))


@jobs.command()
@on_database
def cancel(
    app: Penstock,
    json: bool,
    ids: Ids = None,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    yes: Yes = False,
) -> None:
    """Cancel jobs by id or by filter. Running ones are asked to stop."""
    if ids:
        about: dict[str, object]
        reached = operator(app).cancel_jobs(*ids)
        _tell_missed(ids, reached, "ended already")
        many, about, left = len(reached), {"ids": reached}, Filter(ids=reached)
    else:
        left = _chosen(app, queue, kind, state)
        agree(app, "cancel", "Cancel {}?", yes=yes, **left)
        done = operate(app, "cancel", {}, json, **left)
        many, about = done.done, {"operation": done.id}
        left["created_before"] = done.created_at  # as the operation's own filter says: what came later was not meant
    # what was reached and is not ended runs, and was asked to stop
    stopping = min(many, app.operations.preview("cancel", **left).jobs) if many else 0
    if json:
        print_json({"cancelled": many - stopping, "stopping": stopping, **about})
        return
    if many > stopping or not stopping:
        out.print(f"{counted(many - stopping, 'job')} cancelled")
    if stopping:
        out.print(counted(stopping, "running job was asked to stop", "running jobs were asked to stop"))


@jobs.command()
@on_database
def purge(
    app: Penstock,
    json: bool,
    ids: Ids = None,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    yes: Yes = False,
) -> None:
    """Delete finished jobs from history: the failed ones that fit, unless --state says otherwise. Cannot be undone."""
    chosen: Filter = {"ids": ids, **_filter(None, None, state)} if ids else _chosen(app, queue, kind, state)
    agree(app, "purge", "Delete {} for good?", yes=yes, **chosen)
    purged = operate(app, "purge", {}, json, **chosen)
    if json:
        print_json({"purged": purged.done, "operation": purged.id})
    else:
        out.print(f"{counted(purged.done, 'job')} purged")


@jobs.command()
@on_database
def move(
    app: Penstock,
    json: bool,
    to_queue: Annotated[str, typer.Argument(help="The queue to move them to.", autocompletion=complete.queues)],
    ids: Ids = None,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    create: Create = False,
    yes: Yes = False,
) -> None:
    """Move jobs that have not started to another queue, by id or by filter: penstock jobs move slow --kind news."""
    refuse_unknown_queue(app, to_queue, create=create)
    chosen = _filter(queue, kind, state) if ids else _chosen(app, queue, kind, state)
    _change_waiting(app, json, "move", {"queue": to_queue}, f"moved to {to_queue}", ids, chosen, yes)


@jobs.command()
@on_database
def priority(
    app: Penstock,
    json: bool,
    number: Annotated[int, typer.Argument(help="The priority that they get; higher goes first.")],
    ids: Ids = None,
    queue: QueueFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    yes: Yes = False,
) -> None:
    """Give jobs that have not started another priority, by id or by filter: penstock jobs priority 10 --kind mail."""
    options = {"priority": checked_priority(number)}
    told = f"now of priority {number}"
    chosen = _filter(queue, kind, state) if ids else _chosen(app, queue, kind, state)
    _change_waiting(app, json, "set_priority", options, told, ids, chosen, yes)


def _change_waiting(
    app: Penstock, json: bool, action: Action, options: dict[str, Any], told: str, ids: list[UUID] | None,
    filter: Filter, yes: bool,
) -> None:  # fmt: skip
    if not ids:
        agree(app, action, "Change {}?", yes=yes, **filter)
    changed = operate(app, action, options, json, **({**filter, "ids": ids} if ids else filter))
    if json:
        print_json({"changed": changed.done, "operation": changed.id})
    else:
        out.print(f"{counted(changed.done, 'job')} {told}", highlight=False, markup=False)

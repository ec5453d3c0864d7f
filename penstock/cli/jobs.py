"""`penstock jobs`: look through jobs and change their course."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from penstock.app import Penstock
from penstock.cli.db import on_database
from penstock.cli.options import KindFilter, OrgFilter, OwnerFilter, QueueFilter, StateFilter, Yes
from penstock.cli.output import ask, err, out, print_json, print_record, print_table
from penstock.cli.progress import bar
from penstock.cli.queues import Create, refuse_unknown_queue
from penstock.errors import InvalidInput, UnknownJob
from penstock.job import Job, JobState
from penstock.jobs import Filter
from penstock.logs import counted, shown
from penstock.workers import Holder

jobs = typer.Typer(help="Look through jobs, live and finished, and change their course.", no_args_is_help=True)

PART = 500
_LIVE = [each for each in JobState if not each.final]

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


def _in_parts(app: Penstock, doing: str, json: bool, filter: Filter) -> Iterator[list[UUID]]:
    """The ids of the jobs that fit, newest first, with a bar: each part is changed in a transaction of its own, so
    that a million jobs keep nobody waiting and Ctrl-C leaves what is done done."""
    page, done = app.jobs.list(limit=PART, **filter), 0
    with bar(doing, json=json) as tell:
        while page.jobs:
            yield [job.id for job in page.jobs]
            tell(done := done + len(page.jobs))
            if page.next is None:
                return
            page = app.jobs.list(limit=PART, before=page.next, **filter)


def _refuse_everything(*chosen: object) -> None:
    """Nobody changes every job by leaving out a word."""
    if not any(chosen):
        raise InvalidInput("ids", "name jobs, or choose them by --queue, --kind or --state")


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
) -> None:
    """List jobs, newest first."""
    page = app.jobs.list(before=before, limit=limit, **_filter(queue, kind, state, owner, org))
    if json:
        print_json({"jobs": page.jobs, "next": page.next})
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
    if page.next:
        err.print(f"more: --before {page.next}", style="dim")


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
    holder = app.workers.holder_of(id)
    if json:
        print_json({**dataclasses.asdict(job), "worker": holder})
    else:
        _print_job(job, holder)


def _print_job(job: Job, holder: Holder | None) -> None:
    print_record(job, (name for name in Job.__slots__ if name != "errors"))
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
        alive = app.jobs.retry(*ids, queue=to_queue)
    else:
        _refuse_everything(queue, kind, state)
        ask("Retry every failed job that fits?", yes=yes)
        alive = []
        for ids in _in_parts(app, "retrying", json, _filter(queue, kind, state or [JobState.FAILED])):
            alive += app.jobs.retry_where(ids=ids, to_queue=to_queue, state=state or [JobState.FAILED])
    if json:
        print_json({"retried": alive})
    else:
        out.print(counted(len(alive), "job is alive again", "jobs are alive again"))


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
    chosen = list(ids or ())
    if not chosen:
        _refuse_everything(queue, kind, state)
        for ids in _in_parts(app, "looking", json, _filter(queue, kind, state or _LIVE)):
            chosen += ids
        ask(f"Cancel {counted(len(chosen), 'job')}?", yes=yes)
    reached: list[UUID] = []
    asked: set[UUID] = set()
    with bar("cancelling", len(chosen), json=json) as tell:
        for start in range(0, len(chosen), PART):
            ended = app.jobs.cancel(*chosen[start : start + PART])
            reached += ended
            asked |= {job.id for job in app.jobs.each(ids=ended, state=_LIVE)} if ended else set()
            tell(min(start + PART, len(chosen)))
    stopping = [id for id in reached if id in asked]
    cancelled = [id for id in reached if id not in asked]
    if json:
        print_json({"cancelled": cancelled, "stopping": stopping})
        return
    if cancelled or not stopping:
        out.print(f"{counted(len(cancelled), 'job')} cancelled")
    if stopping:
        out.print(counted(len(stopping), "running job was asked to stop", "running jobs were asked to stop"))


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
    if ids:
        states = state or [each for each in JobState if each.final]
        parts: Iterable[list[UUID]] = [ids]
    else:
        _refuse_everything(queue, kind, state)
        states = state or [JobState.FAILED]
        parts = _in_parts(app, "purging", json, _filter(queue, kind, states))
    ask("Delete them for good?", yes=yes)
    purged = sum(app.jobs.purge_where(ids=part, state=states) for part in parts)
    if json:
        print_json({"purged": purged})
    else:
        out.print(f"{counted(purged, 'job')} purged")

"""One job: what became of it, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.engine.commands import Operation, RunningJob, TakenStep
from penstock.errors import InvalidInput, StoreFault
from penstock.job import Job, JobState
from penstock.server.dashboard.files import preview_of, read_text
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section
from penstock.server.dashboard.values import MOST, beginning, shown
from penstock.server.http.problems import not_found

section = Section()

CHILDREN = 50
_PROGRESS = ("message", "phase", "done", "total", "failed", "reason")
_TEXTS_SHOWN = 5
"""Files whose beginning is read for the page."""
_OF_A_STEP = 200
"""Characters of what it gave, however many there are."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point on a job's line."""

    icon: str
    what: str
    at: datetime | None
    error: str | None = None
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    artifact: Artifact
    preview: str | None
    text: str | None = None
    missing: str | None = None
    """Why there is no preview, where there should be one."""


async def record(look: Look) -> bool:
    """Who wants to see secrets is written down first."""
    if not _reveals(look):
        return False
    if await look.run(commands.GetJob(_id(look))) is None:
        raise not_found()
    await look.services.app.engine.arun(commands.AddAudit(look.session.name, "reveal_secrets", str(_id(look)), {}))
    return True


def _reveals(look: Look) -> bool:
    return look.session.operates and look.query.get("reveal") == "1"


@section.page("/jobs/{id}", "Job", under="/jobs", record=record)
async def job(look: Look) -> Contents:
    job = await look.run(commands.GetJob(_id(look)))
    if job is None:
        raise not_found()
    reveal = _reveals(look)
    args, output = shown(job.args), shown(job.output)
    worker = await _worker(look, job)
    children = await look.run(commands.ListJobs({"parent": str(job.id)}, None, CHILDREN + 1)) if _is_flow(job) else []
    parents = await look.run(commands.ListJobs({"ids": [str(job.parent)]}, None, 1)) if job.parent else []
    steps = await look.run(commands.StepsOf(job.id))
    return {
        "job": job,
        "name": job.kind,
        "args": args.plain if reveal else args.masked,
        "output": output.plain if reveal else output.masked,
        "has_secrets": args.has_secrets or output.has_secrets,
        "revealed": reveal,
        "line": _line(job, worker, next((step for step in steps if step.waits), None), reveal=reveal),
        "worker": worker,
        "parent": parents[0] if parents else None,
        "children": children[:CHILDREN],
        "more_children": len(children) > CHILDREN,
        "steps": _results(steps, reveal=reveal),
        "files": await _files(look, job),
        "progress": {name: job.progress.get(name) for name in _PROGRESS},
        "queues": look.services.app.queue_names,
        "waited": _seconds(job.run_at, job.started_at),
        "took": _seconds(job.started_at, job.finished_at),
    }


@section.action("/jobs/{id}/retry")
async def retry(look: Look, form: Form) -> Done:
    done = await look.operator.aretry(ids=[_id(look)], to_queue=form.text("queue"))
    return _done(look, done, "It is alive again.", "There was nothing to retry.")


@section.action("/jobs/{id}/cancel")
async def cancel(look: Look, form: Form) -> Done:
    done = await look.operator.acancel(ids=[_id(look)], reason=form.text("reason"))
    return _done(look, done, "It is cancelled, or has been asked to stop.", "It had ended already.")


@section.action("/jobs/{id}/move")
async def move(look: Look, form: Form) -> Done:
    queue = form.text("queue")
    if queue is None:
        raise InvalidInput("queue", "must name the queue to move it to")
    done = await look.operator.amove(queue, ids=[_id(look)])
    return _done(look, done, f"It is in {queue} now.", "It was not moved: it has started, or was there already.")


@section.action("/jobs/{id}/priority")
async def set_priority(look: Look, form: Form) -> Done:
    priority = form.whole_number("priority")
    if priority is None:
        raise InvalidInput("priority", "must be a whole number")
    done = await look.operator.aset_priority(priority, ids=[_id(look)])
    return _done(
        look, done, f"Its priority is {priority} now.", "It was not changed: it has started, or had it already."
    )


@section.action("/jobs/{id}/purge")
async def purge(look: Look, _: Form) -> Done:
    done = await look.operator.apurge(ids=[_id(look)])
    told = "It is deleted." if done.done else "It was not deleted: it has not finished."
    return Done(told, "/jobs" if done.done else f"/jobs/{_id(look)}")


def _done(look: Look, operation: Operation, changed: str, unchanged: str) -> Done:
    return Done(changed if operation.done else unchanged, f"/jobs/{_id(look)}")


def _id(look: Look) -> UUID:
    try:
        return UUID(look.path["id"])
    except ValueError:
        raise not_found() from None


def _is_flow(job: Job) -> bool:
    return job.waiting_on > 0 or "total" in job.progress or job.kind == "batch"


def _results(steps: Sequence[TakenStep], *, reveal: bool) -> list[tuple[TakenStep, object]]:
    """What the steps gave: of many, less of each."""
    most = MOST // max(1, len(steps)) + _OF_A_STEP
    results = [(step, shown(step.output, most)) for step in steps]
    return [(step, result.plain if reveal else result.masked) for step, result in results]


async def _worker(look: Look, job: Job) -> tuple[str, RunningJob] | None:
    if job.state is not JobState.RUNNING:
        return None
    for worker in await look.run(commands.Workers(job.id)):
        for each in worker.running:
            if each.id == job.id:
                place = f"{worker.worker} on {worker.host}" if worker.host else worker.worker
                return f"{place}, pid {worker.pid}" if worker.pid else place, each
    return None


def _line(
    job: Job, worker: tuple[str, RunningJob] | None, waits: TakenStep | None, *, reveal: bool
) -> Sequence[Moment]:
    """What happened to it, in order."""
    text = _plainly if reveal else beginning
    line = [Moment("ready", "enqueued", job.created_at)]
    for error in job.errors:
        line.append(_failure(error, text))
    if job.started_at is not None and job.state is JobState.RUNNING:
        where = f", {worker[0]}" if worker else ""
        line.append(Moment("running", f"attempt {job.attempt} runs{where}", job.started_at))
    elif job.state is JobState.SUCCEEDED:
        line.append(Moment("succeeded", f"attempt {job.attempt} succeeded", job.finished_at))
    elif job.state is JobState.CANCELLED:
        line.append(Moment("cancelled", "cancelled", job.finished_at))
    elif job.state is JobState.FAILED:
        line.append(Moment("failed", "given up", job.finished_at))
    elif waits is not None and job.state in (JobState.SCHEDULED, JobState.BLOCKED):
        line.append(Moment(job.state.value, waits.awaited, waits.until))
    elif job.state is JobState.SCHEDULED:
        line.append(Moment("scheduled", f"attempt {job.attempt + 1} is due", job.run_at))
    elif job.state is JobState.BLOCKED:
        line.append(Moment("blocked", f"waits for {job.waiting_on} more", None))
    else:
        line.append(Moment("ready", f"ready for attempt {job.attempt + 1}", job.run_at))
    return line


def _failure(error: dict[str, Any], text: Any) -> Moment:
    at = error.get("at")
    what = f"attempt {error['attempt']} failed" if error.get("attempt") else "failed"
    traceback = error.get("traceback")
    return Moment(
        "failed", what, datetime.fromisoformat(at) if isinstance(at, str) else None,
        text(str(error.get("error") or "")), text(str(traceback)) if traceback else None,
    )  # fmt: skip


async def _files(look: Look, job: Job) -> list[File]:
    files: list[File] = []
    texts = 0
    for artifact in await look.run(commands.ArtifactsOfJobs([job.id])):
        shown, text, missing = preview_of(artifact), None, None
        if shown == "text" and texts < _TEXTS_SHOWN:
            texts += 1
            try:
                text = await read_text(look.services, artifact)
            except FileNotFoundError:
                missing = "It is not in the store."
            except StoreFault:
                missing = "No preview: the store of files does not answer."
        files.append(File(artifact, shown, text, missing))
    return files


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return (end - start).total_seconds() if start and end else None


def _plainly(value: Any) -> Any:
    return value

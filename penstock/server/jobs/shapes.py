"""A job as the API shows it: the fields of the seeds, then everything else a client may want to know."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from penstock.engine.commands import SeenJob
from penstock.job import JobState
from penstock.workers import Holder

Status = Literal["queued", "processing", "completed", "failed", "cancelled"]

_STATUS: dict[JobState, Status] = {
    JobState.BLOCKED: "queued",
    JobState.SCHEDULED: "queued",
    JobState.READY: "queued",
    JobState.RUNNING: "processing",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}

_encode = msgspec.json.Encoder().encode


def status_of(job: SeenJob) -> Status:
    """A flow waits while its jobs run: to whoever asked for it, it is under way as soon as one of them is, and until
    its own last step has ended."""
    if job.progress and (job.state is JobState.BLOCKED or (job.rollup is not None and not job.state.final)):
        return "processing"
    return _STATUS[job.state]


def percent_of(job: SeenJob) -> float:
    percent = 100.0 if job.state is JobState.SUCCEEDED else float(job.progress.get("percent", 0))
    return int(percent) if percent == int(percent) else percent


def progress_of(job: SeenJob) -> dict[str, Any]:
    progress = job.progress
    # what is there only when something went wrong
    wrong = {"docsFailed": progress.get("failed"), "retryReason": progress.get("reason")}
    return {
        "percent": percent_of(job),
        "phase": "complete" if job.state is JobState.SUCCEEDED else progress.get("phase") or status_of(job),
        "docsComplete": progress.get("done"),
        "docsTotal": progress.get("total"),
        "message": progress.get("message"),
        **{name: value for name, value in wrong.items() if value is not None},
    }


def job_shape(job: SeenJob, artifacts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    return {
        "id": job.id,
        "type": job.kind,
        "status": status_of(job),
        "progress": progress_of(job),
        "artifacts": artifacts,
        "state": job.state,
        "queue": job.queue,
        "params": job.args,
        "output": job.output,
        "error": job.error,
        "attempts": job.attempt,
        "maxAttempts": job.max_attempts,
        "cancelRequested": job.cancel_requested,
        "owner": job.owner,
        "org": job.org,
        "parentId": job.parent,
        "createdAt": job.created_at,
        "runAt": job.run_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }


def service_shape(job: SeenJob, artifacts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """With what only whoever runs the system is told."""
    return job_shape(job, artifacts) | {"parkedReason": job.parked_reason, "errors": job.errors}


def worker_shape(holder: Holder) -> dict[str, Any]:
    return {"name": holder.worker, "host": holder.host, "pid": holder.pid, "since": holder.since}


def encode(shape: object) -> bytes:
    return _encode(shape)


def version_of(content: bytes) -> str:
    """Names a state: equal content, equal version."""
    return blake2b(content, digest_size=12).hexdigest()

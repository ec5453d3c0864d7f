"""A job as the framework shows it: a TaskResult."""

import builtins
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from penstock.interop.django.framework import AnyResult, AnyTask, TaskError, TaskResult, TaskResultStatus
from penstock.job import Job, JobState

UNKNOWN = "unknown"
"""A worker of an earlier attempt: of those only the errors are kept."""

_STATUS: dict[JobState, Any] = {
    JobState.BLOCKED: TaskResultStatus.READY,
    JobState.SCHEDULED: TaskResultStatus.READY,
    JobState.READY: TaskResultStatus.READY,
    JobState.RUNNING: TaskResultStatus.RUNNING,
    JobState.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.CANCELLED: TaskResultStatus.FAILED,
}
_OURS = {
    "Timeout": "builtins.TimeoutError",
    "BudgetSpent": "builtins.TimeoutError",
    "Fail": "penstock.outcome.Fail",
}
_LAST_FRAME = re.compile(r'^  File ".*$', re.MULTILINE)


def result_of(task: AnyTask, job: Job, alias: str, worker: str | None) -> AnyResult:
    result: AnyResult = TaskResult(
        task=task,
        id=str(job.id),
        status=_STATUS[job.state],
        enqueued_at=enqueued_at(job.id, job.created_at),
        started_at=job.started_at,
        finished_at=job.finished_at,
        last_attempted_at=job.started_at,
        args=list(job.args.get("args", ())),
        kwargs=dict(job.args.get("kwargs", {})),
        backend=alias,
        errors=[_error(each, job.state) for each in job.errors],
        worker_ids=workers(job.attempt, worker),
    )
    set_on(result, _return_value=job.output)
    return result


def new_result(task: AnyTask, id: UUID, alias: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> AnyResult:
    """Of a task that is about to be enqueued. What is no JSON among its arguments is refused."""
    return TaskResult(
        task=task,
        id=str(id),
        status=cast(TaskResultStatus, TaskResultStatus.READY),
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=list(args),
        kwargs=dict(kwargs),
        backend=alias,
        errors=[],
        worker_ids=[],
    )


def set_on(result: AnyResult, **values: object) -> None:
    """Results are frozen for those who are given one; backends write to them so."""
    for name, value in values.items():
        object.__setattr__(result, name, value)


def enqueued_at(id: UUID, otherwise: datetime) -> datetime:
    """As the job's id has it, which whoever enqueues it knows without asking."""
    return datetime.fromtimestamp((id.int >> 80) / 1000, UTC) if id.version == 7 else otherwise


def workers(attempts: int, last: str | None) -> list[str]:
    """One for each attempt: their number is what the framework takes for the number of attempts."""
    return [UNKNOWN] * (attempts - 1) + [last or UNKNOWN] * (attempts > 0)


def _error(error: Mapping[str, Any], state: JobState) -> TaskError:
    text = error.get("traceback") or f"{error['error']}\n"
    return TaskError(exception_class_path=_class_path(error, text, state), traceback=text)


def _class_path(error: Mapping[str, Any], text: str, state: JobState) -> str:
    name = error.get("type")
    if name is None:
        return f"penstock.errors.{'JobCancelled' if state is JobState.CANCELLED else 'LeaseLost'}"
    if not error.get("traceback"):
        return _OURS.get(name, f"builtins.{name}" if hasattr(builtins, name) else f"penstock.errors.{name}")
    # the job keeps the name alone; where the class is, is said in the traceback, below its last frame
    frames = list(_LAST_FRAME.finditer(text))
    told = re.search(rf"^([\w.<>]*\b{re.escape(name)})(?=:|$)", text[frames[-1].end() if frames else 0 :], re.MULTILINE)
    path = told[1] if told else _OURS.get(name, name)
    return path if "." in path else f"builtins.{path}"

"""A task with the options of a job: @task(max_attempts=3, timeout=60)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from penstock.backoff import Backoff, Errors
from penstock.interop.django.framework import (
    DEFAULT_TASK_BACKEND_ALIAS,
    DEFAULT_TASK_QUEUE_NAME,
    AnyTask,
    Task,
    TaskContext,
    TypedTask,
)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class PenstockTask(TypedTask[P, R], Generic[P, R]):
    """What @task makes of a function on a Penstock backend. Those of its options that Django does not have are a
    handler's, and mean what they mean there; None is what OPTIONS of the backend says.

    ```python
    @task(queue_name="mail", max_attempts=5, timeout=60)
    def send_welcome(address: str) -> None: ...
    ```
    """

    max_attempts: int | None = None
    """Runs until it is given up. A task that says so, or has a backoff or retry_on, is tried again when it raises; any
    other only when its worker was lost."""
    retry_on: Errors | None = None
    no_retry_on: Errors | None = None
    backoff: Backoff | None = None
    timeout: float | None = None
    max_snoozes: int | None = None
    unique: bool | str | None = None
    limit_key: str | None = None
    idempotency_key: str | None = None
    owner: str | None = None
    org: str | None = None

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        **options: Any,
    ) -> "PenstockTask[P, R]":
        given = {"priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend, **options}
        return replace(self, **{name: value for name, value in given.items() if value is not None})


JOB_OPTIONS = tuple(
    field.name for field in fields(PenstockTask) if field.name not in {each.name for each in fields(Task)}
)
_WORKERS = ("retry_on", "no_retry_on")
"""Are the handler's: a single call cannot choose them."""
_ASK_FOR_RETRIES = ("max_attempts", "retry_on", "backoff")


def job_options(task: AnyTask, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What the task says of its jobs, else what its backend says of all."""
    said = {name: value for name in JOB_OPTIONS if (value := getattr(task, name, None)) is not None}
    options = {name: value for name, value in defaults.items() if name in JOB_OPTIONS} | said
    if not any(name in options for name in _ASK_FOR_RETRIES):
        # the framework promises one call, and a task that was written for it may not stand a second
        options["retry_on"] = ()
    return options


def options_of_call(task: AnyTask, defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in job_options(task, defaults).items() if name not in _WORKERS}


@overload
def task(function: Callable[P, R], /) -> PenstockTask[P, R]: ...
@overload
def task(
    *, takes_context: Literal[True], backend: str = ..., priority: int = ..., queue_name: str = ..., **options: Any
) -> "Callable[[Callable[Concatenate[JobTaskContext, P], R]], PenstockTask[P, R]]": ...
@overload
def task(
    *, takes_context: Literal[False] = False, backend: str = ..., priority: int = ..., queue_name: str = ...,
    **options: Any,
) -> Callable[[Callable[P, R]], PenstockTask[P, R]]: ...  # fmt: skip
def task(*function: Callable[..., Any], backend: str = DEFAULT_TASK_BACKEND_ALIAS, **options: Any) -> Any:
    """The framework's @task with options of a job, in every version of it and on every backend: in tests another may
    stand for ours, to which they mean nothing."""

    # which a task of Django 6.0 does not have by itself
    usual = {"priority": 0, "queue_name": DEFAULT_TASK_QUEUE_NAME, "run_after": None, "takes_context": False}

    def make(function: Callable[..., Any]) -> PenstockTask[..., Any]:
        return PenstockTask(func=function, backend=backend, **{**usual, **options})

    return make(*function) if function else make


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTaskContext(TaskContext):
    """What a task with takes_context=True is given: the framework's context, and the job's.

    ```python
    @task(takes_context=True)
    def import_rows(context: JobTaskContext, path: str) -> None:
        context.job.progress(percent=50)
    ```
    """

    job: Any
    """A SyncContext, in async tasks a Context: progress, steps, artifacts, cancellation."""

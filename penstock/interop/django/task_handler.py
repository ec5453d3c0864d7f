"""A task as a handler: what a worker calls."""

import inspect
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from penstock.context import Context, JobContext, SyncContext
from penstock.handler import Handler
from penstock.interop.django import discovery
from penstock.interop.django.application import DjangoPenstock
from penstock.interop.django.framework import (
    AnyResult,
    AnyTask,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from penstock.interop.django.job_task import JobTaskContext, job_options
from penstock.interop.django.results import enqueued_at, new_result, set_on, workers
from penstock.json import loads_anyway
from penstock.outcome import OUTCOMES, Failure, OtherVersion


def add_handler(app: DjangoPenstock, task: AnyTask) -> Handler[..., Any]:
    """The handler of a task: its kind is the path of the task, its arguments are {"args": […], "kwargs": {…}}."""
    made = app.handlers_of_tasks.get(task.module_path)
    if made is not None:
        return made
    with _adding:
        return app.handlers_of_tasks.get(task.module_path) or _add(app, task)


_adding = threading.Lock()
"""Two requests may be the first to enqueue a task."""


def _add(app: DjangoPenstock, task: AnyTask) -> Handler[..., Any]:
    if not app.handlers_of_tasks:
        app.on_failure(tell_of_failure)
    function = _async_handler(task) if inspect.iscoroutinefunction(task.func) else _handler(task)
    function.__name__, function.__qualname__ = task.func.__name__, task.func.__qualname__
    function.__module__, function.__doc__ = task.func.__module__, task.func.__doc__
    options = job_options(task, task.get_backend().options)
    decorate = app.job(kind=task.module_path, queue=task.queue_name, priority=int(task.priority), **options)
    handler: Handler[..., Any] = decorate(function)
    app.handlers_of_tasks[task.module_path] = handler
    return handler


def _handler(task: AnyTask) -> Callable[..., Any]:
    signature = _signature(task)

    def run(ctx: SyncContext, args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> Any:
        result = _running(task, ctx, args or [], kwargs or {})
        _refuse_others(signature, task, result)
        task_started.send_robust(type(task.get_backend()), task_result=result)
        returned = task.func(*_arguments(task, ctx, result), **result.kwargs)
        if not isinstance(returned, OUTCOMES):
            returned = _succeed(result, returned)
            task_finished.send_robust(type(task.get_backend()), task_result=result)
        return returned

    return run


def _async_handler(task: AnyTask) -> Callable[..., Any]:
    signature = _signature(task)

    async def run(ctx: Context, args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> Any:
        result = _running(task, ctx, args or [], kwargs or {})
        _refuse_others(signature, task, result)
        await task_started.asend_robust(type(task.get_backend()), task_result=result)
        returned = await task.func(*_arguments(task, ctx, result), **result.kwargs)
        if not isinstance(returned, OUTCOMES):
            returned = _succeed(result, returned)
            await task_finished.asend_robust(type(task.get_backend()), task_result=result)
        return returned

    return run


def _signature(task: AnyTask) -> inspect.Signature:
    # of what is called: a decorator may give its function more than it takes itself
    return inspect.signature(task.func, follow_wrapped=False)


def _refuse_others(signature: inspect.Signature, task: AnyTask, result: AnyResult) -> None:
    """The handler takes any `args` and `kwargs`; whether they fit the task shows here, before anybody hears of it."""
    given = [None, *result.args] if task.takes_context else result.args
    try:
        signature.bind(*given, **result.kwargs)
    except TypeError as error:
        raise OtherVersion(f"the handler here takes other arguments: {error}") from None


def _running(task: AnyTask, ctx: JobContext, args: list[Any], kwargs: dict[str, Any]) -> AnyResult:
    result = new_result(task, ctx.id, task.backend, args, kwargs)
    now = timezone.now()
    set_on(
        result, status=TaskResultStatus.RUNNING, enqueued_at=enqueued_at(ctx.id, ctx.job.created_at), started_at=now,
        last_attempted_at=now, worker_ids=workers(ctx.attempt, f"{socket.gethostname()}:{os.getpid()}"),
    )  # fmt: skip
    return result


def _arguments(task: AnyTask, ctx: Any, result: AnyResult) -> list[Any]:
    return [JobTaskContext(task_result=result, job=ctx), *result.args] if task.takes_context else result.args


def _succeed(result: AnyResult, returned: Any) -> Any:
    """As the framework has it: what is no JSON is the task's error."""
    value = normalize_json(returned)
    set_on(result, status=TaskResultStatus.SUCCESSFUL, finished_at=timezone.now(), _return_value=value)
    return value


def tell_of_failure(failure: Failure) -> None:
    """Of a task that was given up, also of one that took too long; not of attempts that another follows."""
    task = discovery.known.get(failure.job.kind)
    if task is None:
        return
    given = loads_anyway(failure.job.args)
    result = new_result(task, failure.job.id, task.backend, given.get("args", []), given.get("kwargs", {}))
    raised = failure.exception
    path = f"{type(raised).__module__}.{type(raised).__qualname__}" if raised else "builtins.TimeoutError"
    error = TaskError(exception_class_path=path, traceback=failure.traceback or failure.error)
    set_on(
        result, status=TaskResultStatus.FAILED, enqueued_at=enqueued_at(failure.job.id, failure.job.created_at),
        finished_at=timezone.now(), errors=[error], worker_ids=workers(failure.job.attempt, None),
    )  # fmt: skip
    if raised is None:
        task_finished.send_robust(type(task.get_backend()), task_result=result)
        return
    try:
        raise raised  # the framework logs what is being handled
    except BaseException:
        task_finished.send_robust(type(task.get_backend()), task_result=result)

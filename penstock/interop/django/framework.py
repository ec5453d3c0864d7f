"""Django's tasks framework: of Django itself since 6.0, before that of django-tasks. The names are the same but one."""

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import django

from penstock.extras import needs

if TYPE_CHECKING:
    from django_tasks import task_backends
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.backends.immediate import ImmediateBackend
    from django_tasks.base import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        Task,
        TaskContext,
        TaskError,
        TaskResult,
        TaskResultStatus,
    )
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json
elif django.VERSION >= (6, 0):
    from django.tasks import task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.backends.immediate import ImmediateBackend
    from django.tasks.base import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        Task,
        TaskContext,
        TaskError,
        TaskResult,
        TaskResultStatus,
    )
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    with needs("django", "a backend for tasks before Django 6"):
        import django_tasks.exceptions
        from django_tasks import task_backends
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.backends.immediate import ImmediateBackend
        from django_tasks.base import (
            DEFAULT_TASK_BACKEND_ALIAS,
            DEFAULT_TASK_QUEUE_NAME,
            Task,
            TaskContext,
            TaskError,
            TaskResult,
            TaskResultStatus,
        )
        from django_tasks.exceptions import TaskResultDoesNotExist
        from django_tasks.signals import task_enqueued, task_finished, task_started
        from django_tasks.utils import normalize_json

    # renamed after 0.12, to what Django calls it
    InvalidTask = getattr(django_tasks.exceptions, "InvalidTask", None) or django_tasks.exceptions.InvalidTaskError

P = ParamSpec("P")
R = TypeVar("R")

# only django-tasks says what a task takes and returns
if TYPE_CHECKING:
    AnyTask = Task[..., Any]
    AnyResult = TaskResult[Any]

    class TypedTask(Task[P, R]): ...
else:
    AnyTask, AnyResult = Task, TaskResult

    class TypedTask(Task, Generic[P, R]):
        __slots__ = ()


__all__ = [
    "DEFAULT_TASK_BACKEND_ALIAS", "DEFAULT_TASK_QUEUE_NAME", "AnyResult", "AnyTask", "BaseTaskBackend",
    "ImmediateBackend", "InvalidTask", "Task", "TaskContext", "TaskError", "TaskResult", "TaskResultDoesNotExist",
    "TaskResultStatus", "TypedTask", "normalize_json", "task_backends", "task_enqueued", "task_finished",
    "task_started",
]  # fmt: skip

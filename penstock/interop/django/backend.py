"""The backend: what TASKS names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core.checks import CheckMessage
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from penstock.engine import commands
from penstock.engine.postgres.statement import Statement
from penstock.handler import Handler
from penstock.interop.django import discovery, framework
from penstock.interop.django.application import DjangoPenstock, the_app
from penstock.interop.django.checks import check_backend
from penstock.interop.django.framework import (
    AnyResult,
    AnyTask,
    InvalidTask,
    Task,
    TaskResultDoesNotExist,
    task_enqueued,
)
from penstock.interop.django.job_task import PenstockTask, options_of_call
from penstock.interop.django.results import enqueued_at, new_result, result_of, set_on
from penstock.interop.django.task_handler import add_handler
from penstock.job import Enqueued, Job, NewJob


class PenstockBackend(framework.BaseTaskBackend):
    """Tasks as jobs in Postgres.

    OPTIONS: `enqueue`, one of "transaction", "on_commit" and "now", and `database`, the alias whose transactions are
    meant; and what tasks of it have unless they say otherwise: max_attempts, backoff, timeout and others of a handler.
    """

    task_class = PenstockTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @property
    def app(self) -> DjangoPenstock:
        return the_app()

    @property
    def database(self) -> str:
        """The alias whose transactions its tasks are enqueued in, or after."""
        return str(self.options.get("database", DEFAULT_DB_ALIAS))

    @property
    def when(self) -> str:
        """ "transaction" where that is possible, unless OPTIONS says otherwise."""
        chosen = self.options.get("enqueue")
        return chosen or ("transaction" if self.app.settings.is_where(self.database) else "on_commit")

    def validate_task(self, task: AnyTask) -> None:
        super().validate_task(task)
        discovery.known.setdefault(task.module_path, task)

    def enqueue(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> AnyResult:
        self.validate_task(task)
        job, result = self._prepare(task, args, kwargs)
        match self.when:
            case "on_commit":
                transaction.on_commit(partial(self._enqueue, job, result), using=self.database)
            case "now":
                self._enqueue(job, result, own=True)
            case _:
                self._enqueue(job, result, self.database)
        return result

    def _prepare(self, task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[NewJob, AnyResult]:
        result = new_result(task, UUID(int=0), self.alias, args, kwargs)
        job = self._handler(task).prepare(args=result.args, kwargs=result.kwargs)
        if task.run_after is not None:
            # the job's own time changes with its attempts
            job = replace(job, options={**(job.options or {}), "run_after": task.run_after.isoformat()})
        set_on(result, id=str(job.id))
        return job, result

    def _handler(self, task: AnyTask) -> Handler[..., Any]:
        run_at = task.run_after
        if run_at is not None and timezone.is_naive(run_at):
            run_at = timezone.make_aware(run_at)  # USE_TZ is off
        return add_handler(self.app, task).using(
            queue=task.queue_name, priority=int(task.priority), run_at=run_at, **options_of_call(task, self.options)
        )

    def _enqueue(self, job: NewJob, result: AnyResult, alias: str | None = None, *, own: bool = False) -> None:
        """On the connection of an alias, in its transaction; else on one where nothing else is under way."""
        alias = None if own else alias or self.app.settings.database
        [enqueued] = self.app.database.enqueue([job], connections[alias] if alias else None)
        self._note(result, enqueued)

    def _note(self, result: AnyResult, enqueued: Enqueued) -> None:
        # by its unique or idempotency key, another may stand for it
        set_on(result, id=str(enqueued.id), enqueued_at=enqueued_at(enqueued.id, timezone.now().astimezone(UTC)))
        task_enqueued.send(type(self), task_result=result)

    def get_result(self, result_id: str) -> AnyResult:
        try:
            id = UUID(str(result_id))
        except ValueError:
            raise TaskResultDoesNotExist(result_id) from None
        job: Job | None = self._ask(commands.GetJob(id))
        task = self._task(job) if job is not None else None
        if job is None or task is None:
            raise TaskResultDoesNotExist(result_id)
        worker = self._ask(_worker_of(id)) if job.attempt > 0 else None
        return result_of(task, job, self.alias, worker)

    def _ask(self, asked: Any) -> Any:
        """Where it was enqueued: before the commit nobody else knows of it."""
        engine = self.app.database
        alias = self.database if self.when == "transaction" else self.app.settings.database
        return engine.run(asked) if alias is None else engine.run_on(connections[alias], asked)

    def _task(self, job: Job) -> AnyTask | None:
        """None for a job that is no task: of a handler, or of a task that this program does not have."""
        task = discovery.known.get(job.kind) or _imported(job.kind)
        if task is None:
            return None
        after = job.options.get("run_after")
        said: dict[str, Any] = {"priority": job.priority, "queue_name": job.queue, "backend": self.alias}
        said["run_after"] = None if after is None else datetime.fromisoformat(after)
        try:
            return task.using(**said)
        except InvalidTask:
            return task  # an operator has moved it to where no task may be enqueued

    def check(self, **_: object) -> Iterator[CheckMessage]:
        yield from check_backend(self)


class ImmediateBackend(framework.ImmediateBackend):
    """Runs tasks where they are enqueued, for tests: the framework's own, for tasks with options of ours."""

    task_class = PenstockTask
    supports_defer = True


def _imported(kind: str) -> AnyTask | None:
    try:
        found = import_string(kind)
    except (ImportError, ValueError):
        return None
    return found if isinstance(found, Task) else None


def _worker_of(id: UUID) -> Statement[str | None]:
    """Its name for as long as it is there, then the number of its lease."""
    text = """select coalesce(l.worker, 'lease ' || j.lease::text)
                from penstock.get_job(%s) as j
                left join penstock.leases_now as l on l.id = j.lease"""
    return Statement(text, [id], lambda rows: rows[0][0] if rows else None)

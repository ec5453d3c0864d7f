"""A handle on an enqueued job: what became of it, and how to change its course."""

import typing
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload
from uuid import UUID

import msgspec

from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.errors import JobCancelled, JobFailed, UnknownJob
from penstock.job import Enqueued, Job, JobState
from penstock.json import from_builtin, return_type
from penstock.logs import counted

R = TypeVar("R")


class JobHandle(Generic[R]):
    """An enqueued job. `created` is False when an existing one stands for it, by its unique or idempotency key.

    ```python
    job = greet.enqueue("Ada")
    app.tick()  # or a worker, anywhere
    assert job.result(timeout=10) == "hello Ada"
    ```
    """

    __slots__ = ("_engine", "_function", "created", "id")

    def __init__(
        self, engine: Engine, id: UUID, created: bool = False, function: Callable[..., Any] | None = None
    ) -> None:
        self.id = id
        self.created = created
        self._engine = engine
        self._function = function

    def __repr__(self) -> str:
        return f"<JobHandle {self.id}>"

    def refresh(self) -> Job:
        """Everything on record about the job, as of now."""
        return self._found(self._engine.run(commands.GetJob(self.id)))

    async def arefresh(self) -> Job:
        return self._found(await self._engine.arun(commands.GetJob(self.id)))

    def result(self, timeout: float | None = None) -> R:
        """Waits for the job to end and returns what its handler returned.

        Raises JobFailed, JobCancelled, or TimeoutError after `timeout` seconds.
        """
        return self._result_of(self._engine.wait(self.id, timeout))

    async def aresult(self, timeout: float | None = None) -> R:  # noqa: ASYNC109 - the twin of result()
        return self._result_of(await self._engine.await_end(self.id, timeout))

    def cancel(self, reason: str = "cancelled") -> bool:
        """Cancels the job, or the whole flow; a running one is asked to stop. False when it had ended already."""
        return bool(self._engine.run(commands.Cancel([self.id], reason)))

    async def acancel(self, reason: str = "cancelled") -> bool:
        return bool(await self._engine.arun(commands.Cancel([self.id], reason)))

    def retry(self, *, queue: str | None = None) -> bool:
        """Brings a failed or cancelled job back with a fresh budget of attempts. False when it is neither."""
        return bool(self._engine.run(commands.Retry([self.id], queue)))

    async def aretry(self, *, queue: str | None = None) -> bool:
        return bool(await self._engine.arun(commands.Retry([self.id], queue)))

    def _found(self, job: Job | None) -> Job:
        if job is None:
            raise UnknownJob(f"there is no job {self.id}: its transaction was rolled back, or its history was dropped")
        return job

    def _result_of(self, job: Job | None) -> R:
        job = self._found(job)
        if job.state is JobState.CANCELLED:
            raise JobCancelled(f"{job.kind} {job.id} was cancelled: {job.last_error}")
        if job.state is JobState.FAILED:
            raise JobFailed(f"{job.kind} {job.id} failed after {counted(job.attempt, 'attempt')}: {job.last_error}")
        kind = return_type(self._function)
        return typing.cast(R, msgspec.convert(job.output, kind, dec_hook=from_builtin, str_keys=True))


class JobHandles(Sequence[JobHandle[R]]):
    """Handles on many enqueued jobs, in their order, made as they are looked at."""

    def __init__(
        self, engine: Engine, enqueued: Sequence[Enqueued], function: Callable[..., Any] | None = None
    ) -> None:
        self._engine = engine
        self._enqueued = enqueued
        self._function = function

    def __len__(self) -> int:
        return len(self._enqueued)

    @overload
    def __getitem__(self, index: int) -> JobHandle[R]: ...
    @overload
    def __getitem__(self, index: slice) -> "JobHandles[R]": ...
    def __getitem__(self, index: int | slice) -> "JobHandle[R] | JobHandles[R]":
        if isinstance(index, slice):
            return JobHandles(self._engine, self._enqueued[index], self._function)
        enqueued = self._enqueued[index]
        return JobHandle(self._engine, enqueued.id, enqueued.created, self._function)

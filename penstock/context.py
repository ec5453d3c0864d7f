"""What a handler is told about the job it runs, and what it may do about it."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar
from uuid import UUID

import msgspec

from penstock.durable import Remembered, SyncWaits, Waits
from penstock.engine.beside import completes_nothing
from penstock.engine.commands import (
    NULL,
    CompleteAndEnqueue,
    Completed,
    Earlier,
    Outputs,
    Progress,
)
from penstock.engine.protocol import AsyncTransaction, Engine, Transaction
from penstock.errors import InvalidInput, LeaseLost, PenstockError
from penstock.flow import Flow
from penstock.job import ClaimedJob, Lease, NewJob
from penstock.json import clean, loads_anyway
from penstock.keeper import Keeper
from penstock.outcome import Snooze
from penstock.replay import Replay
from penstock.storage import ArtifactsOfJob, SyncArtifactsOfJob

if TYPE_CHECKING:
    import psycopg

__all__ = ["Context", "Earlier", "JobContext", "SyncContext"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Report = dict[str, Any]


class _Noted:
    """Progress is noted at once and written a moment later: there is nothing to wait for, but `await` may be said."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_NOTED = _Noted()


class JobContext(Remembered):
    """What async and sync handlers have in common, and what middleware is given.

    ```python
    @app.middleware
    async def log(ctx: JobContext, call_next):
        print(ctx.kind, ctx.id, ctx.attempt)
        return await call_next()
    ```
    """

    queue: str = "default"
    """The one that the job was claimed from."""

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
        version: int | None = None,
    ) -> None:
        self.job = job
        self.lease = lease
        self._engine = engine
        self._note = note
        self._keeper = keeper
        self._cancelled = False
        self._to_enqueue: list[NewJob] = []
        self._replay = Replay(job, lease, version)
        self._said: Report = {}
        self._transaction: Transaction | AsyncTransaction | None = None
        self._cutting = threading.Lock()

    @property
    def id(self) -> UUID:
        """The job's."""
        return self.job.id

    @property
    def kind(self) -> str:
        """The job's, which is the handler's."""
        return self.job.kind

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first is 1."""
        return self.job.attempt

    @property
    def last_attempt(self) -> bool:
        """Whether a failure now would be for good."""
        return self.job.attempt >= self.job.max_attempts

    @property
    def owner(self) -> str | None:
        """Whose job it is, if it is anybody's."""
        return self.job.owner

    @property
    def org(self) -> str | None:
        """The organisation it belongs to, if any."""
        return self.job.org

    @property
    def carried(self) -> dict[str, str]:
        """What a middleware sent along when the job was enqueued, such as a trace."""
        options = loads_anyway(self.job.options) if self.job.options else {}
        carried: dict[str, str] = options.get("carried", {})
        return carried

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants the job stopped, or its worker lost it."""
        return self._cancelled

    def cancel(self) -> None:
        """Tells the handler to stop. For the worker."""
        self._cancelled = True

    def handling(self) -> AbstractContextManager[None]:
        """Around the handler, in the task or the thread that runs it. For the worker."""
        return self._replay.names.of_handler()

    def lose(self) -> None:
        """Tells the handler to stop because the job is another worker's by now. For the worker."""
        self.cancel()
        self._replay.end(LeaseLost(f"job {self.id} is no longer this worker's"))
        with self._cutting:
            if self._transaction is not None:
                # nothing on it can be committed any more, and it may be half open: an answer that never comes
                self._transaction.cut()

    def _forget_transaction(self) -> None:
        """Before the pool has its connection back: from then on it may be another job's, and is not to be cut with this
        one."""
        with self._cutting:
            self._transaction = None

    def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        *,
        phase: str | None = None,
        done: float | None = None,
        total: float | None = None,
    ) -> Awaitable[None]:
        """Says how far the job is: a percentage, or how much is done of how much.

        Cheap: reports are written a few times a second at most, the last one always.
        """
        if percent is None and done is not None and total:
            percent = 100 * done / total
        if percent is not None:
            if isinstance(percent, bool) or not isinstance(percent, int | float) or not math.isfinite(percent):
                raise InvalidInput("percent", f"must be a number from 0 to 100, not {percent!r}")
            percent = min(100.0, max(0.0, float(percent)))
        message, phase = (None if text is None else clean(str(text)) for text in (message, phase))
        given = {"percent": percent, "message": message, "phase": phase, "done": done, "total": total}
        report = {name: value for name, value in given.items() if value is not None}
        # kept besides: a run that completes itself writes its last word in its own transaction
        self._said = {**self._said, **report}
        if self._note is not None:
            self._note(report)
        return _NOTED

    def snooze(self, seconds: float) -> NoReturn:
        """Ends this run: the job looks again in so many seconds, without holding a worker or costing an attempt."""
        raise Snooze(seconds)

    def enqueue(self, work: NewJob | Flow) -> UUID:
        """Enqueues a prepared job or a flow in the transaction that completes this job: both happen, or neither."""
        self._refuse_in_step("ctx.enqueue()", "enqueue with app.enqueue()")
        jobs = work.jobs() if isinstance(work, Flow) else [work]
        self._to_enqueue += jobs
        return jobs[0].id

    def _refuse_in_step(self, what: str, instead: str) -> None:
        """What completes the job is its last run's alone, which takes no step that an earlier one remembered."""
        step = self._replay.names.step_here()
        if step is not None:
            raise PenstockError(
                f"{what} is part of the job's completion, and step {step!r} is remembered before: nothing of it would "
                f"be kept if this run fails or waits; in a step {instead}, or call {what} outside of steps"
            )

    def _keeper_of_files(self) -> Keeper:
        if self._keeper is None:
            raise PenstockError("there is no store for artifacts here: run the job with a worker of its application")
        return self._keeper

    def _completion(self, output: bytes | None) -> CompleteAndEnqueue:
        completed = Completed(self.id, self.job.claims, NULL if output is None else msgspec.Raw(output))
        progress = Progress(**self._said) if self._said else None
        return CompleteAndEnqueue(self.lease, completed, self._to_enqueue, progress)

    @property
    def completes_itself(self) -> bool:
        """Whether the handler has taken a transaction or enqueued in one, which its completion is then part of."""
        return self._transaction is not None or bool(self._to_enqueue)


class Context(JobContext, Waits):
    """Handed to an async handler whose first parameter is a Context.

    ```python
    @app.job
    async def resize(ctx: Context, pictures: list[str]) -> int:
        for number, picture in enumerate(pictures):
            await ctx.progress(done=number, total=len(pictures), message=picture)
        return len(pictures)

    resize.enqueue(["cat.png", "dog.png"])
    ```
    """

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
        version: int | None = None,
    ) -> None:
        super().__init__(job, lease, engine, note, keeper, version)
        self._held = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._transaction: AsyncTransaction | None = None

    @property
    def artifacts(self) -> ArtifactsOfJob:
        """Where the job's files go: await ctx.artifacts.put("resume.pdf", data)."""
        return ArtifactsOfJob(self.job, self.lease, self._keeper_of_files())

    async def outputs(self) -> list[Earlier]:
        """What this job waited for, in the order it was enqueued: each with its state and output."""
        return await self._engine.arun(Outputs(self.lease, self.id, self.job.claims))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["psycopg.AsyncConnection[Any]"]:
        """A connection whose writes are committed together with the job's completion, when the handler returns.

        If the handler fails, or the job is no longer this worker's, none happens. A second block joins the first.
        """
        self._refuse_in_step("ctx.transaction()", "write on a connection of your own")
        async with self._opening:
            if self._transaction is None:
                opened = self._engine.atransaction()
                if not self._engine.capabilities.transactions:
                    raise completes_nothing()
                self._transaction = await self._held.enter_async_context(opened)
                self._held.callback(self._forget_transaction)
            connection: psycopg.AsyncConnection[Any] = self._transaction.connection
        async with connection.transaction():
            yield connection

    async def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction with what it enqueued and its completion; False when the job is lost."""
        if self._transaction is None:
            return await self._engine.arun(self._completion(output))
        async with self._held:
            return await self._transaction.complete(self._completion(output))

    async def let_go(self) -> None:
        """Rolls back what the handler wrote, unless it is committed. For the worker."""
        if self._transaction is not None:
            # its connection is not put back to be used again: it is in a transaction, and the pool closes such
            await self._held.aclose()


class SyncContext(JobContext, SyncWaits):
    """Handed to a sync handler whose first parameter is a SyncContext. It runs in a thread, or in a process.

    ```python
    @app.job
    def resize(ctx: SyncContext, pictures: list[str]) -> int:
        for number, picture in enumerate(pictures):
            ctx.progress(done=number, total=len(pictures), message=picture)  # ends here when it was cancelled
        return len(pictures)

    resize.enqueue(["cat.png", "dog.png"])
    ```
    """

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
        version: int | None = None,
    ) -> None:
        super().__init__(job, lease, engine, note, keeper, version)
        self._held = ExitStack()
        self._opening = threading.Lock()
        self._transaction: Transaction | None = None

    # by hand: a handler in a thread is ended from within
    def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        *,
        phase: str | None = None,
        done: float | None = None,
        total: float | None = None,
    ) -> Awaitable[None]:
        """Says how far the job is; see Context.progress. Ends the handler when the job was cancelled."""
        self.stop_if_cancelled()
        return super().progress(percent, message, phase=phase, done=done, total=total)

    @property
    def artifacts(self) -> SyncArtifactsOfJob:
        """Where the job's files go: ctx.artifacts.put("resume.pdf", data)."""
        return SyncArtifactsOfJob(self.job, self.lease, self._keeper_of_files())

    def outputs(self) -> list[Earlier]:
        """What this job waited for, in the order it was enqueued: each with its state and output."""
        return self._engine.run(Outputs(self.lease, self.id, self.job.claims))

    @contextmanager
    def transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        """A connection whose writes are committed together with the job's completion; see Context.transaction."""
        self._refuse_in_step("ctx.transaction()", "write on a connection of your own")
        with self._opening:
            if self._transaction is None:
                opened = self._engine.transaction()
                if not self._engine.capabilities.transactions:
                    raise completes_nothing()
                self._transaction = self._held.enter_context(opened)
                self._held.callback(self._forget_transaction)
            connection: psycopg.Connection[Any] = self._transaction.connection
        with connection.transaction():
            yield connection

    def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction with what it enqueued and its completion; False when the job is lost."""
        if self._transaction is None:
            return self._engine.run(self._completion(output))
        with self._held:
            return self._transaction.complete(self._completion(output))

    def let_go(self) -> None:
        """Rolls back what the handler wrote, unless it is committed. For the worker."""
        if self._transaction is not None:
            # its connection is not put back to be used again: it is in a transaction, and the pool closes such
            self._held.close()

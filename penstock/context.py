"""What a handler is told about the job it runs, and what it may do about it."""

import inspect
import math
import threading
from asyncio import Lock, to_thread
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar, overload
from uuid import UUID

import msgspec
import psycopg

from penstock.engine import calls
from penstock.engine.http import Engine, RemoteEngine
from penstock.engine.postgres.complete import complete_with
from penstock.engine.postgres.connections import cut
from penstock.engine.postgres.drivers import AsyncPsycopg, Psycopg, arun_script, run_script
from penstock.errors import InvalidInput, LeaseLost, PenstockError
from penstock.flow import Flow
from penstock.job import ClaimedJob, JobState, Lease, NewJob
from penstock.json import clean, encode_output, from_builtin, loads, return_type
from penstock.outcome import Cancel, Snooze
from penstock.storage import ArtifactsOfJob, Keeper, SyncArtifactsOfJob
from penstock.storage.http import RemoteKeeper

P = ParamSpec("P")
R = TypeVar("R")

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Earlier:
    """A job that this one waited for."""

    id: UUID
    name: str | None
    kind: str
    phase: str | None
    state: JobState
    args: dict[str, Any]
    output: Any


class _Noted:
    """Progress is noted at once and written a moment later: there is nothing to wait for, but `await` may be said."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_NOTED = _Noted()


class JobContext:
    """What async and sync handlers have in common."""

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        self.job = job
        self.lease = lease
        self._engine = engine
        self._note = note
        self._keeper = keeper
        self._cancelled = False
        self._to_enqueue: list[NewJob] = []
        self._steps: dict[str, Any] | None = None
        self._said: Report = {}
        self._connection: Any = None
        self._cutting = threading.Lock()

    @property
    def id(self) -> UUID:
        return self.job.id

    @property
    def kind(self) -> str:
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
        return self.job.owner

    @property
    def org(self) -> str | None:
        return self.job.org

    @property
    def carried(self) -> dict[str, str]:
        """What a middleware sent along when the job was enqueued, such as a trace."""
        options = loads(self.job.options) if self.job.options else {}
        carried: dict[str, str] = options.get("carried", {})
        return carried

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants the job stopped, or its worker lost it."""
        return self._cancelled

    def cancel(self) -> None:
        """Tells the handler to stop. For the worker."""
        self._cancelled = True

    def lose(self) -> None:
        """Tells the handler to stop because the job is another worker's by now. For the worker."""
        self.cancel()
        with self._cutting:
            if self._connection is not None:
                # nothing on it can be committed any more, and it may be half open: an answer that never comes
                cut(self._connection)

    def _forget_connection(self) -> None:
        """Before the pool has it back: from then on it may be another job's, and is not to be cut with this one."""
        with self._cutting:
            self._connection = None

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
        jobs = work.jobs() if isinstance(work, Flow) else [work]
        self._to_enqueue += jobs
        return jobs[0].id

    def _keeper_of_files(self) -> Keeper:
        if isinstance(self._engine, RemoteEngine):
            return RemoteKeeper(self._engine)
        if self._keeper is None:
            raise PenstockError("there is no store for artifacts here: run the job with a worker of its application")
        return self._keeper

    @property
    def _held_by(self) -> tuple[Lease, int]:
        return self.lease, self.job.claims

    def _may_remember(self) -> bool:
        """A first claim has no steps to recall."""
        return self._steps is None and self.job.claims > 1

    def _read_outputs(self, found: Sequence[dict[str, Any]]) -> list[Earlier]:
        return [Earlier(**one) for one in found]


class Context(JobContext):
    """Handed to an async handler whose first parameter is a Context."""

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        super().__init__(job, lease, engine, note, keeper)
        self._held = AsyncExitStack()
        self._opening = Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None

    @overload
    async def step(self, name: str, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Runs the function once and remembers its result: a later attempt gets it without running it again.

        A function that is not async runs in a thread. What it returns must have a JSON form.
        """
        if self._may_remember():
            self._steps = await self._recall_steps()
        steps = self._steps = self._steps or {}
        if name not in steps:
            if inspect.iscoroutinefunction(function):
                result = await function(*args, **kwargs)
            else:
                result = await to_thread(function, *args, **kwargs)
                if inspect.isawaitable(result):
                    result = await result
            encoded = encode_output(result)
            if not await self._remember_step(name, encoded):
                raise LeaseLost(f"job {self.id} is no longer this worker's: step {name!r} is not remembered")
            steps[name] = loads(encoded)
        return _as_returned_by(function, steps[name])

    @property
    def artifacts(self) -> ArtifactsOfJob:
        """Where the job's files go: await ctx.artifacts.put("resume.pdf", data)."""
        return ArtifactsOfJob(self.job, self.lease, self._keeper_of_files())

    async def _recall_steps(self) -> dict[str, Any]:
        return await self._engine.arun(calls.recall_steps(self.id, self._held_by))

    async def _remember_step(self, name: str, encoded: bytes) -> bool:
        return await self._engine.arun(calls.remember_step(self.lease, self.job, name, encoded))

    async def outputs(self) -> list[Earlier]:
        """What this job waited for, in the order it was enqueued: each with its state and output."""
        return self._read_outputs(await self._engine.arun(calls.outputs(self.id, self._held_by)))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection whose writes are committed together with the job's completion, when the handler returns.

        If the handler fails, or the job is no longer this worker's, none happens. A second block joins the first.
        """
        async with self._opening:
            connection = self._connection or await self._hold_connection()
        async with connection.transaction():
            yield connection

    async def _hold_connection(self) -> psycopg.AsyncConnection[Any]:
        pool = await self._engine.pools.of_this_loop()
        connection = self._connection = await self._held.enter_async_context(pool.connection())
        self._held.callback(self._forget_connection)
        await connection.execute("begin")
        return connection

    @property
    def completes_itself(self) -> bool:
        return self._connection is not None or bool(self._to_enqueue)

    async def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction with what it enqueued and its completion; False when the job is lost."""
        if isinstance(self._engine, RemoteEngine):
            return await self._engine.acomplete_with(self.lease, self.job, output, self._to_enqueue, self._said)
        async with self._held:
            connection = self._connection or await self._hold_connection()
            script = complete_with(self.lease, self.job, output, self._to_enqueue, self._said)
            accepted = await arun_script(AsyncPsycopg(connection, self._engine.schema), script, self._engine.schema)
            await connection.execute("commit" if accepted else "rollback")
            return accepted

    async def let_go(self) -> None:
        """Rolls back what the handler wrote, unless it is committed. For the worker."""
        if self._connection is not None:
            # not put back to be used again: it is in a transaction, and the pool closes such
            await self._held.aclose()


class SyncContext(JobContext):
    """Handed to a sync handler whose first parameter is a SyncContext. It runs in a thread, or in a process."""

    def __init__(
        self,
        job: ClaimedJob,
        lease: Lease,
        engine: Engine,
        note: Callable[[Report], None] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        super().__init__(job, lease, engine, note, keeper)
        self._held = ExitStack()
        self._opening = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

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

    def stop_if_cancelled(self) -> None:
        """Ends the handler here when somebody wants the job stopped; `finally` blocks run."""
        if self._cancelled:
            raise Cancel("cancelled")

    def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function once and remembers its result: a later attempt gets it without running it again."""
        self.stop_if_cancelled()
        if self._may_remember():
            self._steps = self._recall_steps()
        steps = self._steps = self._steps or {}
        if name not in steps:
            encoded = encode_output(function(*args, **kwargs))
            if not self._remember_step(name, encoded):
                raise LeaseLost(f"job {self.id} is no longer this worker's: step {name!r} is not remembered")
            steps[name] = loads(encoded)
        remembered: R = _as_returned_by(function, steps[name])
        return remembered

    @property
    def artifacts(self) -> SyncArtifactsOfJob:
        """Where the job's files go: ctx.artifacts.put("resume.pdf", data)."""
        return SyncArtifactsOfJob(self.job, self.lease, self._keeper_of_files())

    def _recall_steps(self) -> dict[str, Any]:
        return self._engine.run(calls.recall_steps(self.id, self._held_by))

    def _remember_step(self, name: str, encoded: bytes) -> bool:
        return self._engine.run(calls.remember_step(self.lease, self.job, name, encoded))

    def outputs(self) -> list[Earlier]:
        """What this job waited for, in the order it was enqueued: each with its state and output."""
        return self._read_outputs(self._engine.run(calls.outputs(self.id, self._held_by)))

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection whose writes are committed together with the job's completion; see Context.transaction."""
        with self._opening:
            connection = self._connection or self._hold_connection()
        with connection.transaction():
            yield connection

    def _hold_connection(self) -> psycopg.Connection[Any]:
        connection = self._connection = self._held.enter_context(self._engine.pools.sync().connection())
        self._held.callback(self._forget_connection)
        connection.execute("begin")
        return connection

    @property
    def completes_itself(self) -> bool:
        return self._connection is not None or bool(self._to_enqueue)

    def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction with what it enqueued and its completion; False when the job is lost."""
        if isinstance(self._engine, RemoteEngine):
            return self._engine.complete_with(self.lease, self.job, output, self._to_enqueue, self._said)
        with self._held:
            connection = self._connection or self._hold_connection()
            script = complete_with(self.lease, self.job, output, self._to_enqueue, self._said)
            accepted = run_script(Psycopg(connection, self._engine.schema), script, self._engine.schema)
            connection.execute("commit" if accepted else "rollback")
            return accepted

    def let_go(self) -> None:
        """Rolls back what the handler wrote, unless it is committed. For the worker."""
        if self._connection is not None:
            self._held.close()


def _as_returned_by(function: Callable[..., Any], remembered: object) -> Any:
    """As the type the function returns: the same on the run that made it and on later ones."""
    return msgspec.convert(remembered, return_type(function), dec_hook=from_builtin, str_keys=True)

"""What a handler is told about the job it runs, and what it may do about it."""

import asyncio
import inspect
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar, overload
from uuid import UUID

import msgspec

from penstock.callbacks import make_url
from penstock.engine.commands import (
    NULL,
    CompleteAndEnqueue,
    Completed,
    Earlier,
    Outputs,
    Progress,
)
from penstock.engine.commands.command import Command
from penstock.engine.protocol import AsyncTransaction, Engine, Transaction
from penstock.engine.script import arun, run
from penstock.errors import CallFailed, InvalidInput, PenstockError
from penstock.flow import Flow
from penstock.job import ClaimedJob, JobState, Lease, NewJob, PreparedJob
from penstock.json import clean, encode_output, from_builtin, loads, return_type
from penstock.keeper import Keeper
from penstock.outcome import Cancel, Snooze
from penstock.replay import Approval, Approver, Called, Replay, failure_of
from penstock.storage import ArtifactsOfJob, SyncArtifactsOfJob

if TYPE_CHECKING:
    import psycopg

__all__ = ["Context", "Earlier", "JobContext", "SyncContext"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Report = dict[str, Any]


class Callee(Protocol[P, R_co]):
    """A handler, as whoever calls it sees it."""

    def prepare(self, /, *args: P.args, **kwargs: P.kwargs) -> PreparedJob[R_co]: ...


class _Noted:
    """Progress is noted at once and written a moment later: there is nothing to wait for, but `await` may be said."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_NOTED = _Noted()


class JobContext:
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
        jobs = work.jobs() if isinstance(work, Flow) else [work]
        self._to_enqueue += jobs
        return jobs[0].id

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

    def uuid(self) -> UUID:
        """A UUID that is the same in every run of the job: for a provider's idempotency key."""
        return self._replay.uuid()

    def random(self) -> float:
        """A number from 0 to 1, the same in every run of the job."""
        return self._replay.random()

    def callback_url(self, event: str, *, expires: float = 7 * 86_400.0, secret: str | None = None) -> str:
        """An address for a provider to call back once, within `expires` seconds: what it POSTs there as JSON is the
        payload of `wait_for(event, key=str(ctx.id))`. It begins with PENSTOCK_PUBLIC_URL.

        With `secret="STRIPE"` the server takes only what is signed as Standard Webhooks with the secret in
        PENSTOCK_CALLBACK_SECRET_STRIPE.
        """
        return make_url(self.id, event, self._replay.name(f"callback_url {event}"[:200]), expires, secret)

    def _progress_said(self) -> Progress | None:
        """What is to be written before the job leaves its worker."""
        if self._transaction is not None:
            raise PenstockError(
                "a handler cannot wait while its ctx.transaction() is open: nothing of it would be kept; "
                "write in a step, or after the wait"
            )
        return Progress(**self._said) if self._said else None


class Context(JobContext):
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

    @overload
    async def step(self, name: str, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Runs the function once and remembers its result: a later attempt gets it without running it again.

        A function that is not async runs in a thread. What it returns must have a JSON form.
        """
        with self._replay.taking():
            known = await arun(self._ask, self._replay.recall(name))
            if known is not None:
                return _as_returned_by(function, known.output)
            if inspect.iscoroutinefunction(function):
                result = await function(*args, **kwargs)
            else:
                result = await asyncio.to_thread(function, *args, **kwargs)
                if inspect.isawaitable(result):
                    result = await result
            remembered = await arun(self._ask, self._replay.remember(name, encode_output(result)))
            return _as_returned_by(function, remembered)

    async def sleep(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        until: datetime | None = None,
        name: str | None = None,
    ) -> None:
        """Leaves the worker and comes back when the time is over: nothing is held meanwhile, steps before it are not
        taken again, and a restart resets nothing."""
        length = _length(seconds, minutes, hours, days, until)
        script = self._replay.sleep(self._replay.name(name or "sleep"), length, until, self._progress_said())
        with self._replay.taking():
            await arun(self._ask, script)

    async def call(self, handler: Callee[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Has another handler run as a job of its own and gives what it returned. The job is started once, however
        often this one is run again; nothing is held while it runs. Raises CallFailed when it did not succeed."""
        [result] = await self.gather(handler.prepare(*args, **kwargs))
        return result

    @overload
    async def gather(self, *jobs: PreparedJob[R], name: str | None = None) -> list[R]: ...
    @overload
    async def gather(
        self, *jobs: PreparedJob[R], return_exceptions: bool, name: str | None = None
    ) -> list[R | CallFailed]: ...
    async def gather(
        self, *jobs: PreparedJob[Any], return_exceptions: bool = False, name: str | None = None
    ) -> list[Any]:
        """Has any number of jobs run, waits for all of them, and gives what they returned, in their order:
        await ctx.gather(*(resize.prepare(each) for each in pictures)).

        Raises CallFailed for the first that did not succeed, or with `return_exceptions` gives it in its place.
        """
        if not jobs:
            return []
        script = self._replay.call(self._replay.name(name or _label(jobs)), jobs, self._progress_said())
        with self._replay.taking():
            return _results(jobs, await arun(self._ask, script), return_exceptions)

    async def wait_for(
        self,
        event: str,
        *,
        key: str = "",
        timeout: float | None = None,  # noqa: ASYNC109 - not of this run
        name: str | None = None,
    ) -> Any:
        """Waits for somebody to `app.emit(event, key=…, payload=…)`, now or later, and gives the payload. Raises
        WaitTimeout after so many seconds. One that was emitted before is had at once; each is had by one who waits."""
        given = self._replay.name(name or _event_label(event, key))
        script = self._replay.wait(given, event, key, timeout, self._progress_said())
        with self._replay.taking():
            return (await arun(self._ask, script))["payload"]

    async def approve(
        self,
        question: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - not of this run
        by: Approver = "operator",
        details: object = None,
        name: str | None = None,
    ) -> Approval:
        """Asks a person and waits for the answer, which is given once: on the dashboard, by `app.operator(who).approve`
        or over HTTP; by the job's owner too with `by="owner"`. Raises WaitTimeout after so many seconds.

        if not await ctx.approve("Ship order 7?", details={"total": 120}): …
        """
        script = self._replay.approve(name, question, timeout, by, details, self._progress_said())
        with self._replay.taking():
            return await arun(self._ask, script)

    async def now(self) -> datetime:
        """What time it is, remembered: the same in every run of the job."""
        return await self.step(self._replay.name("now"), _now)

    async def _ask(self, command: Command[T]) -> T:
        return await self._engine.arun(command)

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
        async with self._opening:
            if self._transaction is None:
                self._transaction = await self._held.enter_async_context(self._engine.atransaction())
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


class SyncContext(JobContext):
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

    # by hand
    def stop_if_cancelled(self) -> None:
        """Ends the handler here when somebody wants the job stopped; `finally` blocks run."""
        if self._cancelled:
            raise Cancel("cancelled")

    # by hand: it is in a thread already
    def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function once and remembers its result: a later attempt gets it without running it again."""
        self.stop_if_cancelled()
        with self._replay.taking():
            known = run(self._ask, self._replay.recall(name))
            if known is None:
                remembered = run(self._ask, self._replay.remember(name, encode_output(function(*args, **kwargs))))
            else:
                remembered = known.output
            result: R = _as_returned_by(function, remembered)
            return result

    def sleep(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        until: datetime | None = None,
        name: str | None = None,
    ) -> None:
        """Leaves the worker and comes back when the time is over; see Context.sleep."""
        length = _length(seconds, minutes, hours, days, until)
        script = self._replay.sleep(self._replay.name(name or "sleep"), length, until, self._progress_said())
        with self._replay.taking():
            run(self._ask, script)

    def call(self, handler: Callee[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Has another handler run as a job of its own and gives what it returned; see Context.call."""
        [result] = self.gather(handler.prepare(*args, **kwargs))
        return result

    @overload
    def gather(self, *jobs: PreparedJob[R], name: str | None = None) -> list[R]: ...
    @overload
    def gather(
        self, *jobs: PreparedJob[R], return_exceptions: bool, name: str | None = None
    ) -> list[R | CallFailed]: ...
    def gather(self, *jobs: PreparedJob[Any], return_exceptions: bool = False, name: str | None = None) -> list[Any]:
        """Has any number of jobs run and waits for all of them; see Context.gather."""
        if not jobs:
            return []
        script = self._replay.call(self._replay.name(name or _label(jobs)), jobs, self._progress_said())
        with self._replay.taking():
            return _results(jobs, run(self._ask, script), return_exceptions)

    def wait_for(
        self,
        event: str,
        *,
        key: str = "",
        timeout: float | None = None,
        name: str | None = None,
    ) -> Any:
        """Waits for somebody to emit an event and gives its payload; see Context.wait_for."""
        given = self._replay.name(name or _event_label(event, key))
        script = self._replay.wait(given, event, key, timeout, self._progress_said())
        with self._replay.taking():
            return run(self._ask, script)["payload"]

    def now(self) -> datetime:
        """What time it is, remembered: the same in every run of the job."""
        return self.step(self._replay.name("now"), _now)

    def _ask(self, command: Command[T]) -> T:
        return self._engine.run(command)

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
        with self._opening:
            if self._transaction is None:
                self._transaction = self._held.enter_context(self._engine.transaction())
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

    def approve(
        self,
        question: str,
        *,
        timeout: float | None = None,
        by: Approver = "operator",
        details: object = None,
        name: str | None = None,
    ) -> Approval:
        """Asks a person and waits for the answer, which is given once: on the dashboard, by `app.operator(who).approve`
        or over HTTP; by the job's owner too with `by="owner"`. Raises WaitTimeout after so many seconds.

        if not ctx.approve("Ship order 7?", details={"total": 120}): …
        """
        script = self._replay.approve(name, question, timeout, by, details, self._progress_said())
        with self._replay.taking():
            return run(self._ask, script)


def _as_returned_by(function: Callable[..., Any], remembered: object) -> Any:
    """As the type the function returns: the same on the run that made it and on later ones."""
    return msgspec.convert(remembered, return_type(function), dec_hook=from_builtin, str_keys=True)


def _now() -> datetime:
    return datetime.now(UTC)


def _length(seconds: float, minutes: float, hours: float, days: float, until: datetime | None) -> float | None:
    length = seconds + 60 * minutes + 3600 * hours + 86_400 * days
    if until is not None:
        if until.tzinfo is None:
            raise InvalidInput("until", "needs a time zone, e.g. datetime.now(UTC) + timedelta(hours=1)")
        if length:
            raise InvalidInput("until", "give either a length or until, not both")
        return None
    if not 0 <= length <= 1e9:
        raise InvalidInput("seconds", f"must be between 0 and 1e9 seconds, not {length!r}")
    return length


def _label(jobs: Sequence[NewJob]) -> str:
    kinds = sorted({job.kind for job in jobs})
    return "call " + ", ".join(kinds[:3])[:200]


def _event_label(event: str, key: str) -> str:
    return f"wait for {event} {key}"[:200].rstrip()


def _results(jobs: Sequence[PreparedJob[Any]], called: Sequence[Called], return_exceptions: bool) -> list[Any]:
    results: list[Any] = []
    for job, each in zip(jobs, called, strict=True):
        if each.state is JobState.SUCCEEDED:
            results.append(each.output if job.function is None else _as_returned_by(job.function, each.output))
        elif return_exceptions:
            results.append(failure_of(each))
        else:
            raise failure_of(each)
    return results

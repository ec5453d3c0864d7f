"""What a handler may wait for, and what it takes from outside: each is remembered, so that a run which comes back goes
on where the last one left off. Replay has the rules; here they are asked for, by handlers of both worlds."""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from types import FrameType
from typing import Any, ParamSpec, Protocol, TypeVar, overload
from uuid import UUID

import msgspec

from penstock.automatic_names import in_own_thread
from penstock.callbacks import make_url
from penstock.engine.commands import Progress, Suspend, SuspendedJob
from penstock.engine.commands.command import Command
from penstock.engine.protocol import AsyncTransaction, Engine, Transaction
from penstock.engine.script import arun, run
from penstock.errors import CallFailed, InvalidInput, PenstockError
from penstock.event import Key
from penstock.job import ClaimedJob, JobState, NewJob, PreparedJob
from penstock.json import encode_output, from_builtin, return_type
from penstock.outcome import Cancel
from penstock.replay import Asking, Replay
from penstock.wait_results import Approval, Approver, Called, failure_of

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


class Callee(Protocol[P, R_co]):
    """A handler, as whoever calls it sees it."""

    def prepare(self, /, *args: P.args, **kwargs: P.kwargs) -> PreparedJob[R_co]: ...


class Remembered:
    """What every handler may take from outside, the same in each run of its job. Like a wait it is refused in tasks and
    threads beside the handler, which take it in another order each time."""

    job: ClaimedJob
    _replay: Replay
    _said: dict[str, Any]
    _transaction: Transaction | AsyncTransaction | None
    _called_back_at: tuple[str, str] = ("", "")
    """The address and the secret of callbacks where the environment has none."""

    def uuid(self) -> UUID:
        """A UUID that is the same in every run of the job: for a provider's idempotency key."""
        return self._replay.uuid()

    def random(self) -> float:
        """A number from 0 to 1, the same in every run of the job."""
        return self._replay.random()

    def callback_url(self, event: str, *, expires: float = 7 * 86_400.0, secret: str | None = None) -> str:
        """An address for a provider to call back once, within `expires` seconds: what it POSTs there as JSON is the
        payload of `wait_for(event, key=ctx.id)`. It begins with PENSTOCK_PUBLIC_URL.

        With `secret="STRIPE"` the server takes only what is signed as Standard Webhooks with the secret in
        PENSTOCK_CALLBACK_SECRET_STRIPE.
        """
        step = self._replay.names.in_order(f"callback_url {event}"[:200])
        return make_url(self.job.id, event, step, expires, secret, self._called_back_at)

    def _progress_said(self) -> Progress | None:
        """What is to be written before the job leaves its worker."""
        if self._transaction is not None:
            raise PenstockError(
                "a handler cannot wait while its ctx.transaction() is open: nothing of it would be kept; "
                "write in a step, or after the wait"
            )
        return Progress(**self._said) if self._said else None


class Waits(Remembered):
    """Steps and waits of an async handler."""

    _engine: Engine

    async def begin(self) -> None:
        """Before the handler is run. For the worker."""
        await arun(self._ask, self._replay.begin())

    @overload
    async def step(self, name: str, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Runs the function once and remembers its result: a later attempt gets it without running it again.

        A function that is not async runs in a thread. What it returns must have a JSON form.
        """
        with self._replay.taking(name):
            known = await arun(self._ask, self._replay.recall(name))
            if known is not None:
                return _as_returned_by(function, known.output)
            if inspect.iscoroutinefunction(function):
                result = await function(*args, **kwargs)
            else:
                result = await asyncio.to_thread(in_own_thread, function, *args, **kwargs)
                if inspect.isawaitable(result):
                    result = await result
            remembered = await arun(self._ask, self._replay.remember(name, _encoded(name, result)))
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
        script = self._replay.sleep(self._replay.names.of(name or "sleep"), length, until, self._progress_said())
        await self._wait(script)

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
        script = self._replay.call(self._replay.names.of(name or _label(jobs)), jobs, self._progress_said())
        return _results(jobs, await self._wait(script), return_exceptions)

    async def wait_for(
        self,
        event: str,
        *,
        key: Key = "",
        timeout: float | None = None,  # noqa: ASYNC109 - not of this run
        name: str | None = None,
    ) -> Any:
        """Waits for an event, `app.emit(event, key=…, payload=…)`, and returns its payload. One that was emitted before
        is received at once. Each event goes to one job. Raises WaitTimeout after `timeout` seconds."""
        script = self._replay.wait(name, event, key, timeout, self._progress_said())
        return await self._wait(script)

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
        return await self._wait(script)

    async def now(self) -> datetime:
        """What time it is, remembered: the same in every run of the job."""
        return await self.step(self._replay.names.in_order("now"), _now)

    async def _wait(self, script: Asking[T]) -> T:
        _refuse_beside(self._replay)
        with self._replay.waiting():
            return await arun(self._ask, script)

    async def _ask(self, command: Command[Any]) -> Any:
        if not isinstance(command, Suspend):
            return await self._engine.arun(command)
        asking: asyncio.Future[SuspendedJob | None] = asyncio.ensure_future(self._engine.arun(command))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # it may be suspended by now, and whoever goes on then would work on a job that waits
            answer = await asking
            if answer is not None and answer.state is JobState.RUNNING:
                raise
            return answer


class SyncWaits(Remembered):
    """Steps and waits of a sync handler."""

    _engine: Engine
    _cancelled: bool

    def begin(self) -> None:
        """Before the handler is run. For the worker."""
        run(self._ask, self._replay.begin())

    # by hand: a task is cancelled by its loop, and a thread only here
    def stop_if_cancelled(self) -> None:
        """Ends the handler here when somebody wants the job stopped; `finally` blocks run."""
        if self._cancelled:
            raise Cancel("cancelled")

    # by hand: it is in a thread already
    def step(self, name: str, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function once and remembers its result: a later attempt gets it without running it again."""
        self.stop_if_cancelled()
        with self._replay.taking(name):
            known = run(self._ask, self._replay.recall(name))
            if known is None:
                result = function(*args, **kwargs)
                remembered = run(self._ask, self._replay.remember(name, _encoded(name, result)))
            else:
                remembered = known.output
            returned: R = _as_returned_by(function, remembered)
            return returned

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
        script = self._replay.sleep(self._replay.names.of(name or "sleep"), length, until, self._progress_said())
        self._wait(script)

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
        script = self._replay.call(self._replay.names.of(name or _label(jobs)), jobs, self._progress_said())
        return _results(jobs, self._wait(script), return_exceptions)

    def wait_for(
        self,
        event: str,
        *,
        key: Key = "",
        timeout: float | None = None,
        name: str | None = None,
    ) -> Any:
        """Waits for somebody to emit an event and gives its payload; see Context.wait_for."""
        script = self._replay.wait(name, event, key, timeout, self._progress_said())
        return self._wait(script)

    def now(self) -> datetime:
        """What time it is, remembered: the same in every run of the job."""
        return self.step(self._replay.names.in_order("now"), _now)

    # by hand: there are no tasks
    def _wait(self, script: Asking[T]) -> T:
        with self._replay.waiting():
            return run(self._ask, script)

    # by hand: nobody cancels it
    def _ask(self, command: Command[T]) -> T:
        return self._engine.run(command)

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
        return self._wait(script)


_RUNNERS = ("penstock.worker.", "penstock.testing.", "penstock.interop.django.testing")


def _refuse_beside(replay: Replay) -> None:
    """A wait ends the run of its handler, so it must be the handler that waits: a task beside it would end nothing but
    itself, and the time of `asyncio.wait_for` would be over with the run. Whose wait it is can be seen by who called
    whom, unless a runner's own frame lies below the loop that all of its tasks are run by."""
    frame: FrameType | None = sys._getframe(2) if replay.names.are_asked_in_order() else None
    while frame is not None and frame.f_code is not asyncio.wait_for.__code__:
        if frame.f_globals.get("__name__", "").startswith(_RUNNERS):
            return
        frame = frame.f_back
    raise PenstockError(
        "a handler waits by itself, for one thing at a time: await this in the handler, not by asyncio.gather, in a "
        "task of its own or by asyncio.wait_for; ctx.gather runs jobs beside each other, and timeout= limits a wait"
    )


def _encoded(step: str, result: object) -> bytes:
    try:
        return encode_output(result)
    except InvalidInput as error:
        raise type(error)(error.field.replace("output", f"step {step!r}", 1), error.problem) from error


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

"""Calling a handler the way it wants: on the event loop, in a thread, in a process, or for a whole batch."""

import asyncio
import contextvars
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from penstock.backoff import RetryRule
from penstock.context import Context, JobContext, SyncContext
from penstock.engine.protocol import Engine
from penstock.errors import StaleArguments
from penstock.handler import Handler
from penstock.middleware import CallNext, Middleware
from penstock.storage import Keeper
from penstock.worker.ending import (
    Ending,
    FailedInProcess,
    NothingToReport,
    Succeeded,
    ending_of,
    ending_of_raised,
    outcome_raised,
    parked,
)
from penstock.worker.process import HandlerProcesses
from penstock.worker.run import Run

Note = Callable[[Run, dict[str, Any]], None]
"""Takes a run's report of progress."""


class Call(Protocol):
    """Runs the handler for one job to an ending; raises what the handler raised."""

    timeout: float | None
    retry: RetryRule | None

    async def __call__(self, run: Run, /) -> Ending: ...


class Calls:
    """A call for each kind, made once."""

    def __init__(
        self,
        handlers: Mapping[str, Handler[..., Any]],
        middleware: Sequence[Middleware],
        engine: Engine,
        note: Note,
        threads: int,
        keeper: Keeper | None = None,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="penstock")
        self.children = HandlerProcesses(engine, self._threads, keeper)
        self.batches: dict[str, BatchCall] = {}
        self.singles: dict[str, Call] = {}
        for kind, handler in handlers.items():
            if handler.options.batch is not None:
                self.batches[kind] = BatchCall(handler, self._threads)
            elif handler.options.isolate:
                self.singles[kind] = ProcessCall(handler, engine, note, middleware, self.children)
            elif inspect.iscoroutinefunction(handler.function):
                self.singles[kind] = AsyncCall(handler, engine, note, middleware, keeper)
            else:
                self.singles[kind] = ThreadCall(handler, engine, note, middleware, self._threads, keeper)

    def close(self) -> None:
        """Ends idle processes; a thread that still runs a handler is left to itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.children.close()


class AsyncCall:
    def __init__(
        self,
        handler: Handler[..., Any],
        engine: Engine,
        note: Note,
        middleware: Sequence[Middleware],
        keeper: Keeper | None,
    ) -> None:
        self._keeper = keeper
        self.timeout = handler.options.timeout
        self.retry = handler.retry_rule
        self._version = handler.options.version
        self._function = handler.function
        self._bind = handler.arguments.bind
        self._takes_context = handler.arguments.takes_context
        self._engine = engine
        self._note = note
        self._middleware = middleware

    async def __call__(self, run: Run, /) -> Ending:
        try:
            args, kwargs = self._bind(run.job.args)
        except StaleArguments as error:
            return parked(error)
        if not self._takes_context and not self._middleware and run.job.claims <= 1:
            return ending_of(await self._function(*args, **kwargs))
        ctx = Context(
            run.job, run.lease, self._engine, lambda report: self._note(run, report), self._keeper, self._version
        )
        run.context = ctx
        ctx.queue = run.queue
        if self._takes_context:
            args = [ctx, *args]

        async def handle() -> Any:
            await ctx.begin()
            with ctx.handling():
                return await self._function(*args, **kwargs)

        try:
            result = await _wrapped(self._middleware, ctx, handle)
            ending = ending_of(result)
            if ctx.completes_itself and isinstance(ending, Succeeded):
                return NothingToReport(accepted=await ctx.complete(ending.output))
            return ending
        finally:
            await ctx.let_go()


class ThreadCall:
    def __init__(
        self,
        handler: Handler[..., Any],
        engine: Engine,
        note: Note,
        middleware: Sequence[Middleware],
        threads: ThreadPoolExecutor,
        keeper: Keeper | None,
    ) -> None:
        self.timeout = handler.options.timeout
        self.retry = handler.retry_rule
        self._keeper = keeper
        self._handler = handler
        self._engine = engine
        self._note = note
        self._middleware = middleware
        self._threads = threads

    async def __call__(self, run: Run, /) -> Ending:
        loop = asyncio.get_running_loop()
        try:
            args, kwargs = self._handler.arguments.bind(run.job.args)
        except StaleArguments as error:
            return parked(error)
        note = self._note
        ctx = SyncContext(
            run.job, run.lease, self._engine, lambda report: _ignore(loop.call_soon_threadsafe(note, run, report)),
            self._keeper, self._handler.options.version,
        )  # fmt: skip
        run.context = ctx
        ctx.queue = run.queue
        run.cooperative = True
        if self._handler.arguments.takes_context:
            args = [ctx, *args]

        left_behind = False
        thread = 0

        def handle() -> Any:
            nonlocal thread
            thread = threading.get_ident()
            ctx.begin()
            with ctx.handling():
                return self._handler.function(*args, **kwargs)

        async def in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            nonlocal left_behind
            work = self._threads.submit(contextvars.copy_context().run, _attempt, function, *args, **kwargs)
            try:
                result, error = await asyncio.wrap_future(work)
            except asyncio.CancelledError as stopped:
                # nobody can end a thread: it is told, left to itself, and lets go of its transaction when it ends
                left_behind = True
                _add_stack(stopped, thread)
                ctx.cancel()
                work.add_done_callback(lambda _: ctx.let_go())
                raise
            if error is not None:
                raise error
            return result

        try:
            call = _wrapped(self._middleware, ctx, lambda: in_thread(handle))
            ending = ending_of(await call)
            if ctx.completes_itself and isinstance(ending, Succeeded):
                return NothingToReport(accepted=await in_thread(ctx.complete, ending.output))
            return ending
        finally:
            if not left_behind:
                ctx.let_go()


class ProcessCall:
    def __init__(
        self,
        handler: Handler[..., Any],
        engine: Engine,
        note: Note,
        middleware: Sequence[Middleware],
        children: HandlerProcesses,
    ) -> None:
        self.timeout = handler.options.timeout
        self.retry = handler.retry_rule
        self._handler = handler
        self._engine = engine
        self._note = note
        self._middleware = middleware
        self._children = children

    async def __call__(self, run: Run, /) -> Ending:
        ctx = JobContext(run.job, run.lease, self._engine)
        ctx.queue = run.queue
        endings: list[Ending] = []
        results: list[Any] = []

        async def in_process() -> Any:
            ending = await self._children.call(self._handler, run, lambda report: self._note(run, report))
            endings.append(ending)
            results.append(ending.result())
            return results[-1]

        try:
            result = await _wrapped(self._middleware, ctx, in_process)
        except FailedInProcess:
            return endings[-1]
        # what it was is on its way already, or in the database; only something else is another ending
        return endings[-1] if results and result is results[-1] else ending_of(result)


class BatchCall:
    """Runs many jobs of a kind with one call of their handler."""

    def __init__(self, handler: Handler[..., Any], threads: ThreadPoolExecutor) -> None:
        self.timeout = handler.options.timeout
        self.retry = handler.retry_rule
        self._handler = handler
        self.size = handler.options.batch or 1
        self._is_async = inspect.iscoroutinefunction(handler.function)
        self._threads = threads

    async def __call__(self, runs: Sequence[Run], /) -> list[Ending]:
        endings: dict[int, Ending] = {}
        items = []
        called = []
        for place, run in enumerate(runs):
            try:
                by_position, by_name = self._handler.arguments.bind(run.job.args)
                [item] = by_position or by_name.values()
            except StaleArguments as error:
                endings[place] = parked(error)
            else:
                items.append(item)
                called.append(place)
        if items:
            for place, result in zip(called, await self._results(items), strict=True):
                endings[place] = (
                    ending_of_raised(result, self.retry) if isinstance(result, Exception) else ending_of(result)
                )
        return [endings[place] for place in range(len(runs))]

    async def _results(self, items: list[Any]) -> Sequence[Any]:
        if self._is_async:
            results = await self._handler.function(items)
        else:
            loop = asyncio.get_running_loop()
            results = await loop.run_in_executor(
                self._threads, contextvars.copy_context().run, self._handler.function, items
            )
        return one_for_each(results, len(items))


def one_for_each(results: Any, jobs: int) -> Sequence[Any]:
    """What a batch handler returned, as a result for each of its jobs."""
    if results is None:
        return [None] * jobs
    if not isinstance(results, list | tuple) or len(results) != jobs:
        each = "its job" if jobs == 1 else f"each of its {jobs} jobs"
        raise TypeError(
            f"a batch handler returns None or a list with a result for {each}, "
            f"not {type(results).__name__} of {len(results) if hasattr(results, '__len__') else 'no length'}"
        )
    return results


async def _wrapped(middleware: Sequence[Middleware], ctx: JobContext, innermost: CallNext) -> Any:
    """The call with every middleware around it, the first outermost."""
    if not middleware:
        return await innermost()

    async def call_handler() -> Any:
        """Whether it returned an outcome or raised it is the handler's own business."""
        try:
            return await innermost()
        except BaseException as error:
            outcome = outcome_raised(error)
            if outcome is None:
                raise
            return outcome

    call: CallNext = call_handler
    for layer in reversed(middleware):
        call = _Wrapped(layer, ctx, call)
    return await call()


class _Wrapped:
    __slots__ = ("_call", "_ctx", "_layer")

    def __init__(self, layer: Middleware, ctx: JobContext, call: CallNext) -> None:
        self._layer = layer
        self._ctx = ctx
        self._call = call

    def __call__(self) -> Any:
        return self._layer(self._ctx, self._call)


def _attempt(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, BaseException | None]:
    """What the function returned, or raised: as a value, because a future changes some exceptions and hangs on one."""
    try:
        return function(*args, **kwargs), None
    except BaseException as error:
        return None, error


def _add_stack(stopped: asyncio.CancelledError, thread: int) -> None:
    """Tells where a thread is, for whoever looks for what it hangs on."""
    frame = sys._current_frames().get(thread)
    if frame is not None:
        stopped.add_note(
            f"In its thread:\nTraceback (most recent call last):\n{''.join(traceback.format_stack(frame))}"
        )


def _ignore(_: object) -> None:
    return None

"""The inside of a handler's process: takes orders from the worker over a pipe, one at a time."""

import asyncio
import contextlib
import contextvars
import ctypes
import importlib
import inspect
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

from penstock.arguments import Arguments
from penstock.backoff import RetryRule
from penstock.context import Context, SyncContext
from penstock.engine.faults import answering_within
from penstock.engine.protocol import Engine, Place
from penstock.errors import StaleArguments
from penstock.job import ClaimedJob, Lease
from penstock.keeper import Keeper
from penstock.logs import current_job
from penstock.outcome import Cancel
from penstock.storage.job_files import keeper_for
from penstock.storage.settings import Elsewhere
from penstock.worker.ending import (
    Ending,
    Failed,
    NothingToReport,
    Succeeded,
    ending_of,
    ending_of_raised,
    failure,
    parked,
)

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Order:
    """Which function to call, and for which job."""

    module: str
    qualname: str
    job: ClaimedJob
    lease: Lease
    place: Place
    storage: Elsewhere | None = None
    retry: RetryRule | None = None
    version: int | None = None
    queue: str = "default"


def serve(connection: Connection, worker: int) -> None:
    """Runs orders until the worker hangs up, whose process id this is."""
    _end_with(worker)
    # Ctrl-C reaches the whole terminal; what to do about it is the worker's business
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # as in the worker: while the database is away a handler waits
    with answering_within(None):
        context = contextvars.copy_context()
    while True:
        try:
            order: Order = connection.recv()
        except (EOFError, OSError):
            return
        # a context of its own: what one job's handler sets must not be there for the next
        run = context.copy().run
        ending = run(_run, order, lambda report: connection.send(("progress", report)))
        with contextlib.suppress(OSError):
            connection.send(("ended", ending))


def _run(order: Order, note: Callable[[dict[str, Any]], None]) -> Ending:
    current_job.set(order.job)
    try:
        function = _find(order.module, order.qualname)
        arguments = Arguments(function)
        try:
            args, kwargs = arguments.bind(order.job.args)
        except StaleArguments as error:
            return parked(error)
        engine = _engine(order.place)
        if inspect.iscoroutinefunction(function):
            return asyncio.run(_run_async(order, function, engine, arguments.takes_context, args, kwargs, note))
        return _run_sync(order, function, engine, arguments.takes_context, args, kwargs, note)
    except KeyboardInterrupt:
        raise
    except _Interrupted as error:
        return Failed(failure(error).error)
    except BaseException as error:
        ending = ending_of_raised(error, order.retry)
        # an exception may be what no pipe takes, and its traceback stays here in any case
        return Failed(ending.error) if isinstance(ending, Failed) else ending


class _Interrupted(Cancel):
    """As one of the handler's own it passes by its `except Exception`."""


def _run_sync(
    order: Order, function: Callable[..., Any], engine: Engine, takes_context: bool,
    args: list[Any], kwargs: dict[str, Any], note: Callable[[dict[str, Any]], None],
) -> Ending:  # fmt: skip
    ctx = SyncContext(order.job, order.lease, engine, note, _keeper(engine, order.storage), order.version)
    ctx.queue = order.queue

    def interrupt(_: int, __: FrameType | None) -> None:
        # once: the clean-up itself must not be interrupted
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ctx.cancel()
        raise _Interrupted("its process was told to end")

    try:
        signal.signal(signal.SIGTERM, interrupt)
        ctx.begin()
        with ctx.handling():
            ending = ending_of(function(*([ctx] if takes_context else []), *args, **kwargs))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if ctx.completes_itself and isinstance(ending, Succeeded):
            return NothingToReport(accepted=ctx.complete(ending.output))
        return ending
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctx.let_go()


async def _run_async(
    order: Order, function: Callable[..., Any], engine: Engine, takes_context: bool,
    args: list[Any], kwargs: dict[str, Any], note: Callable[[dict[str, Any]], None],
) -> Ending:  # fmt: skip
    ctx = Context(order.job, order.lease, engine, note, _keeper(engine, order.storage), order.version)
    ctx.queue = order.queue
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        ctx.cancel()
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, interrupt)
    try:
        await ctx.begin()
        with ctx.handling():
            ending = ending_of(await function(*([ctx] if takes_context else []), *args, **kwargs))
        if ctx.completes_itself and isinstance(ending, Succeeded):
            return NothingToReport(accepted=await ctx.complete(ending.output))
        return ending
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        await ctx.let_go()
        await engine.aclose()


def _find(module: str, qualname: str) -> Callable[..., Any]:
    """The handler's function, by its name: the module is imported here as it was in the worker."""
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = getattr(found, "function", found)
    return function


def _keeper(engine: Engine, storage: Elsewhere | None) -> Keeper | None:
    return keeper_for(engine, storage.here() if storage else None)


@cache
def _engine(place: Place) -> Engine:
    return place.engine()


def _end_with(worker: int) -> None:
    """A worker that is killed takes its handlers' processes with it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != worker:
        os._exit(1)

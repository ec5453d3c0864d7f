"""Middleware: what wraps every call of a handler. One function, called with the context and with what to call next."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from penstock.context import JobContext
from penstock.outcome import OUTCOMES

CallNext = Callable[[], Awaitable[Any]]

log = logging.getLogger("penstock.jobs")


class Middleware(Protocol):
    """Returns what `call_next()` returned, or something else; raises, or lets pass what was raised.

    One that also has a method `stamp()` sends something along with every job: the names and values it returns where a
    job is enqueued are `ctx.carried` where it runs.
    """

    async def __call__(self, ctx: JobContext, call_next: CallNext, /) -> Any: ...


async def log_jobs(_: JobContext, call_next: CallNext, /) -> Any:
    """Says when a job starts and how it ended."""
    log.debug("started")
    started = time.perf_counter()
    try:
        result = await call_next()
    except Exception:
        # of what, and what becomes of it, the worker says itself
        log.info("failed after %s", _duration(started))
        raise
    except BaseException:
        log.info("ended after %s", _duration(started))
        raise
    if isinstance(result, OUTCOMES):
        log.info("ended after %s: %r", _duration(started), result)
    else:
        log.info("done in %s", _duration(started))
    return result


def _duration(started: float) -> str:
    seconds = time.perf_counter() - started
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"

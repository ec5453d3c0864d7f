"""What a start makes of its arguments, beside the event loop: others are answered meanwhile, whatever one user sends.

One thread for all: Python runs one at a time, and each more would keep the event loop waiting for another turn.
"""

import asyncio
import contextvars
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import msgspec

from penstock.flow import at_most

T = TypeVar("T")

MAX_JOBS = 1_000
_SMALL = 8 * 1024
"""Bytes of JSON that are checked faster than a thread is woken."""

_most: ContextVar[int] = ContextVar("penstock jobs of one start", default=MAX_JOBS)


@contextmanager
def starting_at_most(jobs: int) -> Iterator[None]:
    token = _most.set(jobs)
    try:
        yield
    finally:
        _most.reset(token)


async def compose(make: Callable[[], T]) -> T:
    """What it makes, in a thread; a flow that it composes must not have more jobs than one start may create."""

    def limited() -> T:
        with at_most(_most.get()):
            return make()

    run = contextvars.copy_context().run
    return await asyncio.get_running_loop().run_in_executor(_thread(), run, limited)


async def compose_if_large(args: Mapping[str, Any], make: Callable[[], T]) -> T:
    return make() if _is_small(args) else await compose(make)


def _is_small(args: Mapping[str, Any]) -> bool:
    try:
        return len(msgspec.json.encode(args)) <= _SMALL
    except (ValueError, TypeError, RecursionError, OverflowError):
        return False  # what is wrong with it is found out in the thread


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="penstock composer")

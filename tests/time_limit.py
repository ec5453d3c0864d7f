"""No test may hang: one that takes too long fails, and shows where every thread and every task of it stood.

What cannot be interrupted, because it is stuck in C, is ended with its process, and shows its threads too; xdist counts
the test as failed and goes on with another process. pytest's own `faulthandler_timeout` does the same, but not after a
test has failed: one that failed and then hung in its tear-down hung for ever.
"""

import asyncio
import faulthandler
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import _pytest
import pluggy
import pytest

from tests.kit.pooler import POOLED

SECONDS = 120.0
"""For each of set-up, test and tear-down: on idle cores the slowest takes a tenth of it."""
AGAIN = 15.0
"""Seconds after which what hangs in its own cleaning-up is interrupted once more."""
STUCK = 120.0
"""Seconds after the first interruption when it is ended with its process."""
_OF_PYTEST = tuple(str(Path(file).parent) for file in (_pytest.__file__, pluggy.__file__) if file)

_STDERR = os.dup(2)
"""As it was before pytest captured it."""

Phase = Generator[None, object, object]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Phase:
    with time_limit(_seconds(item)):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Phase:
    with time_limit(_seconds(item)):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Phase:
    with time_limit(_seconds(item)):
        return (yield)


def _seconds(item: pytest.Item) -> float:
    marked = item.get_closest_marker("time_limit")
    seconds = float(marked.args[0]) if marked else SECONDS
    # a hand with a clock of its own sends four statements for one there
    return 4 * seconds if POOLED else seconds


@contextmanager
def time_limit(seconds: float, stuck: float = STUCK) -> Iterator[None]:
    def stop(_: int, frame: FrameType | None) -> None:
        pytest.fail(f"it took more than {seconds:g} s\n{where_everybody_is(frame)}", pytrace=False)

    handler = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    faulthandler.dump_traceback_later(seconds + stuck, exit=True, file=_STDERR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def where_everybody_is(frame: FrameType | None) -> str:
    """The stacks of all threads, and of the tasks of the event loop that runs in this one."""
    told = io.StringIO()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, current in sys._current_frames().items():
        stack = traceback.extract_stack(frame if ident == threading.get_ident() else current)
        told.write(f"\nThread {names.get(ident, ident)}:\n")
        told.writelines(traceback.format_list([each for each in stack if not each.filename.startswith(_OF_PYTEST)]))
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no loop runs here
        tasks = set()
    for task in tasks:
        told.write(f"\nTask {task.get_name()}:\n")
        task.print_stack(file=told)
    return told.getvalue()

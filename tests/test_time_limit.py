"""What hangs is ended, and shows where it hung."""

import asyncio
import subprocess
import sys
import threading

import pytest

from tests.time_limit import time_limit


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def test_a_thread_that_waits_for_ever_is_stopped_and_shown() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"more than 0\.05 s") as failed, time_limit(0.05):
        threading.Event().wait()
    assert "threading.Event().wait()" in str(failed.value)
    threading.Event().wait(0.1)  # and nothing goes off after it


def test_tasks_that_wait_for_ever_are_stopped_and_shown() -> None:
    async def hang() -> None:
        other = asyncio.create_task(wait_for_ever(), name="the other")
        await other

    with pytest.raises(pytest.fail.Exception, match="Task the other:") as failed, time_limit(0.05):
        asyncio.run(hang())
    assert "await other" in str(failed.value)
    assert "await asyncio.Event().wait()" in str(failed.value)


def test_what_no_signal_reaches_is_ended_with_its_process() -> None:
    program = """
import signal, threading
from tests.time_limit import time_limit
with time_limit(0.05, stuck=0.2):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    threading.Event().wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert "in wait" in ended.stderr

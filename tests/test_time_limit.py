"""What hangs is ended, and shows where it hung."""

import asyncio
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

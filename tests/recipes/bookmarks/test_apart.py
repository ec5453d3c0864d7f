"""A process of its own for what strangers made: whatever it does, it costs one attempt and never the worker."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock import PenstockError
from penstock.recipes.bookmarks.apart import Limits, run_apart
from penstock.recipes.bookmarks.failures import PageFailed

HOSTILE = Path(__file__).with_name("pictures_hostile.py")
MISSING = Path(__file__).with_name("pictures_missing.py")


async def run(function: str, data: bytes = b"abc", limits: Limits | None = None, **asked: object) -> tuple[Any, bytes]:
    return await run_apart(HOSTILE, function, data, dict, asked, limits)


async def test_what_a_function_makes_comes_back() -> None:
    data = os.urandom(3_000_000)
    assert await run("echo", data, times=2) == ({"size": 3_000_000}, 2 * data)


@pytest.mark.parametrize(
    ("function", "limits", "words"),
    [
        ("crash", Limits(), "broke the program"),
        ("leave", Limits(), "broke the program"),
        ("babble", Limits(), "broke the program"),
        ("swell", Limits(megabytes=300), "too much memory"),
        ("spin", Limits(seconds=1, wall=300), "too long"),
        ("sleep", Limits(wall=1), "too long"),
        ("flood", Limits(), "too large"),
        ("refuse", Limits(), "It says so itself"),
        ("fail", Limits(), "^The file is damaged$"),
    ],
)
async def test_whatever_goes_wrong_the_worker_goes_on(function: str, limits: Limits, words: str) -> None:
    before = psutil.Process().children()
    # more than a pipe holds, so that whoever does not read leaves us writing
    async with asyncio.timeout(100):
        with pytest.raises(PageFailed, match=words):
            await run(function, bytes(500_000), limits)
    assert (await run("echo"))[1] == b"abc"
    assert psutil.Process().children() == before


def locked(process: psutil.Process) -> bool:
    return bool(process.rlimit(psutil.RLIMIT_NOFILE) == (0, 0))


async def test_cancelling_leaves_no_process() -> None:
    before = psutil.Process().children()
    task = asyncio.create_task(run("sleep", limits=Limits(wall=300)))
    async with asyncio.timeout(30):
        # until it has given up its rights, and so is about to sleep
        while not any(locked(child) for child in psutil.Process().children()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    task.cancel()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert psutil.Process().children() == before


async def test_it_ends_by_itself_when_its_worker_is_gone() -> None:
    child = Path(sys.modules[run_apart.__module__].__file__ or "").with_name("child.py")
    order = {"program": str(HOSTILE), "function": "sleep", "asked": {}, "seconds": 5, "wall": 1, "megabytes": 500}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(child), json.dumps(order), stdin=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(30):
        assert await process.wait() == -signal.SIGALRM


async def test_it_has_no_secrets_and_reaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://a-password@here")
    facts, _ = await run("reach_out")
    assert facts["reached"] == {"file": False, "socket": False, "listing": False}
    assert "DATABASE_URL" not in facts["environment"]
    assert "HOME" not in facts["environment"]


async def test_a_file_that_is_too_large_is_not_begun() -> None:
    with pytest.raises(PageFailed, match="larger than 64 MB"):
        await run("echo", bytes(64 * 1024 * 1024 + 1))


async def test_a_library_that_is_not_there_says_what_to_install() -> None:
    with pytest.raises(PenstockError, match=r"no_such_decoder: pip install 'penstock\[bookmarks\]'") as failed:
        await run_apart(MISSING, "any", b"", dict)
    assert not isinstance(failed.value, PageFailed)


def test_it_works_outside_of_the_main_thread() -> None:
    async def in_a_thread() -> bytes:
        return await asyncio.to_thread(lambda: asyncio.run(run("echo"))[1])

    assert asyncio.run(in_a_thread()) == b"abc"

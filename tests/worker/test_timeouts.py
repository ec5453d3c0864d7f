"""Handlers that take longer than they may."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from penstock import JobFailed, Penstock, SyncContext
from tests.kit.until import soon
from tests.kit.working import working
from tests.worker import in_process

SOON = 20.0


async def test_an_async_handler_is_interrupted_and_cleans_up(app: Penstock) -> None:
    cleaned = asyncio.Event()

    @app.job(timeout=0.05, max_attempts=1)
    async def sleep() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    async with working(app, {"default": 1}):
        handle = await sleep.aenqueue()
        with pytest.raises(JobFailed, match=r"timed out after 0\.05 s"):
            await handle.aresult(SOON)
        assert cleaned.is_set()
    assert (await handle.arefresh()).errors[0]["type"] == "Timeout"


async def test_a_thread_is_told_to_stop_and_its_slot_is_free(app: Penstock) -> None:
    told = threading.Event()
    go = threading.Event()

    @app.job(timeout=0.05, max_attempts=1)
    def sleep(ctx: SyncContext) -> None:
        go.wait(SOON)
        try:
            ctx.stop_if_cancelled()
        finally:
            if ctx.cancelled:
                told.set()

    @app.job
    def go_on() -> int:
        return 1

    async with working(app, {"default": 1}):
        handle = await sleep.aenqueue()
        with pytest.raises(JobFailed, match=r"timed out after 0\.05 s"):
            await handle.aresult(SOON)
        assert await (await go_on.aenqueue()).aresult(SOON) == 1
        go.set()
        assert await asyncio.to_thread(told.wait, SOON)
    [error] = (await handle.arefresh()).errors
    assert "    go.wait(SOON)" in error["traceback"]


async def test_a_process_is_ended_and_gone(app: Penstock, tmp_path: Path) -> None:
    started, cleaned = tmp_path / "started", tmp_path / "cleaned"
    warm_up = app.job(isolate=True)(in_process.tell_process)
    handler = app.job(isolate=True, timeout=0.5, max_attempts=1)(in_process.sleep_with_clean_up)
    async with working(app, {"default": 1}):
        process = await (await warm_up.aenqueue()).aresult(SOON)
        handle = await handler.aenqueue(started, cleaned)
        with pytest.raises(JobFailed, match=r"timed out after 0\.5 s"):
            await handle.aresult(SOON)
        assert int(started.read_text()) == process
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert cleaned.exists()
    [error] = (await handle.arefresh()).errors
    assert "in sleep_with_clean_up\n" in error["traceback"]


async def test_a_timeout_for_one_call_counts_instead_of_the_handlers(app: Penstock) -> None:
    @app.job(timeout=0.05, max_attempts=1)
    async def sleep(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    async with working(app):
        assert await (await sleep.using(timeout=10).aenqueue(0.2)).aresult(SOON) == "done"
        with pytest.raises(JobFailed, match=r"timed out after 0\.01 s"):
            await (await sleep.using(timeout=0.01).aenqueue(10)).aresult(SOON)


async def test_other_options_of_a_call_leave_the_handlers_timeout(app: Penstock) -> None:
    @app.job(timeout=0.05, max_attempts=1)
    async def sleep() -> None:
        await asyncio.Event().wait()

    async with working(app):
        job = sleep.prepare()
        [enqueued] = await app.engine.aenqueue([type(job)(kind="sleep", max_attempts=1, options={"other": 1})], None)
        with pytest.raises(JobFailed, match=r"timed out after 0\.05 s"):
            await app.handle(enqueued.id).aresult(SOON)


async def test_a_handler_that_ends_in_time_is_left_alone(app: Penstock) -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()

    @app.job(timeout=0.3)
    async def quick() -> None:
        try:
            await asyncio.sleep(0)
            await ended.put("returned")
        except asyncio.CancelledError:
            await ended.put("cancelled")

    async with working(app):
        await (await quick.aenqueue()).aresult(SOON)
        assert await soon(ended.get()) == "returned"
    assert ended.empty()

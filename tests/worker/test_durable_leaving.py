"""What a handler does on its way out, in a `finally` or an `except BaseException`: steps are taken there when the job
ends, not when one of its runs does, be it to wait or because the job is another worker's by then."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock import Context, LeaseLost, Penstock, SyncContext
from penstock.engine import commands
from penstock.errors import WaitTimeout
from penstock.job import JobState
from penstock.outcome import Suspended
from penstock.testing import adrain, arun_inline
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker import in_process

Note = Callable[[str], None]


async def release(ctx: Context, note: Note) -> object:
    try:
        return await ctx.wait_for("paid")
    finally:
        await ctx.step("release", note, "released")


def release_in_a_thread(ctx: SyncContext, note: Note) -> object:
    try:
        return ctx.wait_for("paid")
    finally:
        ctx.step("release", note, "released")


async def release_though_caught(ctx: Context, note: Note) -> object:
    paid = None
    with suppress(BaseException):
        paid = await ctx.wait_for("paid")
    await ctx.step("release", note, "released")
    return paid


@pytest.mark.parametrize("way", [release, release_in_a_thread, release_though_caught])
async def test_a_step_in_finally_is_taken_when_the_job_ends(app: Penstock, way: Callable[..., Any]) -> None:
    noted: list[str] = []

    def pay(ctx: SyncContext) -> object:
        return way(ctx, noted.append)

    async def pay_async(ctx: Context) -> object:
        result: object = await way(ctx, noted.append)
        return result

    app.job(kind="pay")(pay_async if asyncio.iscoroutinefunction(way) else pay)
    handle = await app.aenqueue(app.prepare("pay", {}))
    await adrain(app)
    assert ((await handle.arefresh()).state, noted) == (JobState.BLOCKED, [])
    await app.aemit("paid", payload=12)
    await adrain(app)
    job = await handle.arefresh()
    assert (job.state, job.output, job.attempt, noted) == (JobState.SUCCEEDED, 12, 1, ["released"])


async def test_a_saga_undoes_what_has_failed_not_what_waits(app: Penstock) -> None:
    undone: list[str] = []

    @app.job(max_attempts=1)
    async def book(ctx: Context) -> None:
        try:
            await ctx.sleep(0)
            await ctx.wait_for("confirmed", timeout=0)
        except BaseException:
            await ctx.step("undo", undone.append, "booked")
            raise

    job = await book.aenqueue()
    await adrain(app)
    assert ((await job.arefresh()).errors[-1]["type"], undone) == (WaitTimeout.__name__, ["booked"])


async def test_a_step_in_finally_of_a_process_is_taken_when_the_job_ends(app: Penstock, tmp_path: Path) -> None:
    clean_up = app.job(isolate=True)(in_process.clean_up)
    noted = tmp_path / "noted"
    job = await clean_up.aenqueue(str(noted))
    await adrain(app)
    assert ((await job.arefresh()).state, noted.exists()) == (JobState.BLOCKED, False)
    await app.aemit("paid", payload=12)
    await adrain(app)
    assert (await job.aresult(10), noted.read_text()) == (12, "released")


async def test_a_run_without_a_queue_takes_no_step_on_its_way_out(app: Penstock) -> None:
    noted: list[str] = []

    @app.job
    async def pay(ctx: Context) -> object:
        return await release(ctx, noted.append)

    run = await arun_inline(pay)
    assert (run.outcome, noted, run.steps) == (Suspended("wait for paid"), [], {})


async def test_no_step_is_taken_of_a_job_that_is_another_workers(app: Penstock) -> None:
    noted: list[str] = []
    raised: list[BaseException] = []
    came = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        if ctx.job.claims > 1:
            return
        try:
            came.set()
            await asyncio.Event().wait()
        finally:
            try:
                await ctx.step("release", noted.append, "released")
            except LeaseLost as error:
                raised.append(error)

    async def lose(ctx: Context) -> None:
        await app.engine.arun(commands.ExpireLease(ctx.lease))

    @app.job
    async def lose_by_itself(ctx: Context) -> None:
        if ctx.job.claims > 1:
            return
        try:
            await ctx.step("lose", lose, ctx)
        # or its worker hears of it first, and stops it
        except (LeaseLost, asyncio.CancelledError) as error:
            raised.append(error)
            await ctx.step("release", noted.append, "released")

    for handler in (work, lose_by_itself):
        came.clear()
        raised.clear()
        async with working(app, lease=0.9) as worker:
            job = await handler.aenqueue()
            if handler is work:
                await soon(came.wait())
                await app.engine.arun(commands.ExpireLease(worker.lease))
            await job.aresult(10)
            # the run that lost it may end after the one that has it
            await until(lambda: raised)
    assert noted == []

"""What a handler may do about its job: report progress, take steps that are remembered, read what it waited for."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Backoff, Context, Flow, InvalidInput, JobFailed, JobState, LeaseLost, Penstock, SyncContext
from penstock.engine import commands
from penstock.job import Lease
from penstock.worker import reporter
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker.losing import take_back

SOON = 20.0
AT_ONCE = Backoff.constant(0)


async def test_progress_can_be_read_while_the_job_runs(app: Penstock) -> None:
    go = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        await ctx.progress(25, "reading", phase="text")
        await go.wait()

    async with working(app):
        handle = await work.aenqueue()

        async def percent() -> float:
            return (await handle.arefresh()).percent

        assert await until(percent) == 25
        job = await handle.arefresh()
        assert (job.state, job.progress) == (
            JobState.RUNNING, {"percent": 25, "message": "reading", "phase": "text"}
        )  # fmt: skip
        go.set()
        await handle.aresult(SOON)


async def test_many_reports_are_few_writes_and_the_last_one_is_on_record(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []
    report_progress = commands.ReportProgress

    def count(lease: Any, jobs: Any) -> Any:
        writes.append(len(jobs))
        return report_progress(lease, jobs)

    monkeypatch.setattr(commands, "ReportProgress", count)

    @app.job
    async def work(ctx: Context) -> None:
        for number in range(300):
            ctx.progress(done=number, total=300)
            await asyncio.sleep(0.001)
        ctx.progress(done=300, total=300, message="finished")

    @app.job
    def work_in_thread(ctx: SyncContext) -> None:
        for number in range(300):
            ctx.progress(done=number, total=300)
            time.sleep(0.001)
        ctx.progress(done=300, total=300, message="finished")

    began = time.monotonic()
    async with working(app):
        handles = [await work.aenqueue(), await work_in_thread.aenqueue()]
        for handle in handles:
            await handle.aresult(SOON)
            job = await handle.arefresh()
            assert job.progress == {"percent": 100, "done": 300, "total": 300, "message": "finished"}
    # and one more for the end of each
    assert len(writes) <= (time.monotonic() - began) / reporter.EVERY + 3


async def test_a_report_and_its_job_may_end_together_and_neither_is_lost(app: Penstock) -> None:
    @app.job
    async def work(ctx: Context, number: int) -> None:
        ctx.progress(1, "first")
        for _ in range(number % 7):
            await asyncio.sleep(0)
        ctx.progress(message=f"last of {number}")

    async with working(app):
        handles = await work.aenqueue_many([{"number": number} for number in range(300)])
        for number, handle in enumerate(handles):
            await handle.aresult(SOON)
            assert (await handle.arefresh()).progress == {"percent": 1, "message": f"last of {number}"}


async def test_a_report_that_is_slow_to_arrive_does_not_replace_the_last_one(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, overtaken, arrived = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        ctx.progress(10, "first")
        await under_way.wait()
        ctx.progress(90, "last")

    async with working(app) as worker:
        arun = worker.engine.arun

        async def run_slowly(call: Any) -> Any:
            if not isinstance(call, commands.ReportProgress):
                return await arun(call)
            if under_way.is_set():
                result = await arun(call)
                overtaken.set()
                await arrived.wait()
                return result
            under_way.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(overtaken.wait(), 0.2)
            result = await arun(call)
            arrived.set()
            return result

        monkeypatch.setattr(worker.engine, "arun", run_slowly)
        handle = await work.aenqueue()
        await handle.aresult(SOON)
    assert (await handle.arefresh()).progress == {"percent": 90, "message": "last"}


async def test_a_report_of_a_job_that_fails_is_on_record_too(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        ctx.progress(40, "here it breaks")
        raise LookupError

    async with working(app):
        handle = await work.aenqueue()
        with pytest.raises(JobFailed):
            await handle.aresult(SOON)
    assert (await handle.arefresh()).progress == {"percent": 40, "message": "here it breaks"}


@pytest.mark.parametrize("message", ["a\x00b", "\ud800", 7, LookupError("no text")], ids=repr)
async def test_a_message_that_cannot_be_stored_is_stored_as_well_as_it_can(
    app: Penstock, message: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter, "EVERY", 0.0)
    reported, go = asyncio.Event(), asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        ctx.progress(5, message)
        reported.set()
        await go.wait()
        ctx.progress(10, message)

    @app.job
    async def report_too(ctx: Context) -> None:
        ctx.progress(20)

    async with working(app):
        handle = await work.aenqueue()
        await soon(reported.wait())
        other = await report_too.aenqueue()
        await other.aresult(SOON)
        go.set()
        await handle.aresult(SOON)
    assert (await other.arefresh()).progress == {"percent": 20}
    progress = (await handle.arefresh()).progress
    assert progress["percent"] == 10
    assert progress["message"] == str(message).replace("\x00", "\ufffd").replace("\ud800", "?")


@pytest.mark.parametrize("percent", [True, "50", float("nan"), float("inf")], ids=repr)
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_percentage_that_is_none_is_refused(app: Penstock, percent: Any, sync: bool) -> None:
    def work(ctx: SyncContext) -> None:
        with pytest.raises(InvalidInput, match="percent"):
            ctx.progress(percent)

    async def work_async(ctx: Context) -> None:
        with pytest.raises(InvalidInput, match="percent"):
            await ctx.progress(percent)

    function: Any = work if sync else work_async
    handler = app.job(kind="work", max_attempts=1)(function)
    async with working(app):
        handle = await handler.aenqueue()
        await handle.aresult(SOON)
    assert (await handle.arefresh()).progress == {}


async def test_a_percentage_stays_between_0_and_100(app: Penstock) -> None:
    @app.job
    async def work(ctx: Context, percent: float) -> None:
        await ctx.progress(percent)

    async with working(app):
        handles = await work.aenqueue_many([{"percent": percent} for percent in (-5, 250)])
        for handle in handles:
            await handle.aresult(SOON)
    assert [(await handle.arefresh()).progress for handle in handles] == [{"percent": 0}, {"percent": 100}]


@dataclass
class Document:
    pages: int


ran: list[tuple[str, bool]] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


def load(pages: int) -> Document:
    ran.append(("load", threading.current_thread() is threading.main_thread()))
    return Document(pages)


async def load_async(pages: int) -> Document:
    return load(pages)


def count_words(document: Document, *, each: int) -> int:
    ran.append(("count", threading.current_thread() is threading.main_thread()))
    return document.pages * each


@pytest.mark.parametrize("loader", [load, load_async])
async def test_a_step_runs_once_and_later_attempts_get_what_it_returned(
    app: Penstock, loader: Callable[[int], Any]
) -> None:
    @app.job(max_attempts=3, backoff=AT_ONCE)
    async def work(ctx: Context) -> int:
        document = await ctx.step("load", loader, 3)
        assert document == Document(3)
        if ctx.attempt == 1:
            raise LookupError("after the first step")
        words = await ctx.step("count", count_words, document, each=100)
        if ctx.attempt == 2:
            raise LookupError("after the second step")
        return words

    async with working(app):
        handle = await work.aenqueue()
        assert await handle.aresult(SOON) == 300
    assert (await handle.arefresh()).attempt == 3
    # a function that is not async runs in a thread
    assert ran == [("load", inspect.iscoroutinefunction(loader)), ("count", False)]


async def test_a_step_of_a_sync_handler_runs_once_too(app: Penstock) -> None:
    @app.job(max_attempts=3, backoff=AT_ONCE)
    def work(ctx: SyncContext) -> int:
        document = ctx.step("load", load, 3)
        assert document == Document(3)
        if ctx.attempt == 1:
            raise LookupError("after the first step")
        words = ctx.step("count", count_words, document, each=100)
        if ctx.attempt == 2:
            raise LookupError("after the second step")
        return words

    async with working(app):
        assert await (await work.aenqueue()).aresult(SOON) == 300
    assert [name for name, _ in ran] == ["load", "count"]


async def test_a_step_that_raises_runs_again(app: Penstock) -> None:
    attempts: list[int] = []

    async def flaky(attempt: int) -> int:
        attempts.append(attempt)
        if attempt == 1:
            raise LookupError
        return attempt

    @app.job(max_attempts=2, backoff=AT_ONCE)
    async def work(ctx: Context) -> int:
        return await ctx.step("flaky", flaky, ctx.attempt)

    async with working(app):
        assert await (await work.aenqueue()).aresult(SOON) == 2
    assert attempts == [1, 2]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_step_after_the_lease_is_lost_is_not_remembered_and_says_so(app: Penstock, sync: bool) -> None:
    ran: list[int] = []

    async def step(lease: Lease) -> int:
        [job] = await app.engine.arun(commands.Claim(lease, "default", 1))
        if sync:
            return await asyncio.to_thread(SyncContext(job, lease, app.engine).step, "first", run, lease)
        return await Context(job, lease, app.engine).step("first", run, lease)

    def run(lease: Lease) -> int:
        if not ran:
            take_back(app.database, lease)
        ran.append(lease)
        return len(ran)

    await app.job(kind="work", max_attempts=2)(lambda: None).aenqueue()
    first, second = [await app.engine.arun(commands.OpenLease(name)) for name in ("first", "second")]
    with pytest.raises(LeaseLost, match="step 'first' is not remembered"):
        await step(first)
    assert await step(second) == 2
    assert ran == [first, second]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_job_of_a_flow_reads_the_outputs_of_what_it_waited_for(app: Penstock, sync: bool) -> None:
    @app.job
    async def count(words: str) -> int:
        return len(words.split())

    def read(earlier: list[Any]) -> list[tuple[str | None, str, str | None, dict[str, Any], Any]]:
        assert all(one.state is JobState.SUCCEEDED for one in earlier)
        return [(one.name, one.kind, one.phase, one.args, one.output) for one in earlier]

    def add(ctx: SyncContext) -> Any:
        return read(ctx.outputs())

    async def add_async(ctx: Context) -> Any:
        return read(await ctx.outputs())

    function: Any = add if sync else add_async
    handler = app.job(kind="add")(function)
    flow = Flow(then=handler.prepare())
    flow.add(count.prepare("one two"), name="first", phase="counting")
    flow.add(count.prepare("one two three"), phase="counting")
    async with working(app):
        outputs = await (await app.aenqueue(flow)).aresult(SOON)
    assert outputs == [
        ["first", "count", "counting", {"words": "one two"}, 2],
        [None, "count", "counting", {"words": "one two three"}, 3],
    ]

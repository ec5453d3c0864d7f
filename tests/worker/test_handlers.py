"""Calling handlers: what they are given, what becomes of what they return, and how many run at once."""

import asyncio
import os
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock import Context, Job, JobFailed, JobState, Penstock, SyncContext
from tests.kit.until import until
from tests.kit.working import working
from tests.worker.in_process import Point

SOON = 20.0


async def failed(app: Penstock, id: UUID) -> Job:
    """The record of a job that fails for good."""
    with pytest.raises(JobFailed):
        await app.handle(id).aresult(SOON)
    return await app.handle(id).arefresh()


async def attempted(app: Penstock, id: UUID) -> Job:
    """The record of a job whose first attempt has failed."""

    async def has_errors() -> bool:
        return bool((await app.handle(id).arefresh()).errors)

    await until(has_errors)
    return await app.handle(id).arefresh()


async def test_an_async_handler_runs_on_the_event_loop_and_its_result_has_its_type(app: Penstock) -> None:
    @app.job
    async def mirror(point: Point) -> Point:
        assert threading.current_thread() is threading.main_thread()
        return Point(point.y, point.x)

    async with working(app):
        handle = await mirror.aenqueue(Point(1, 2))
        assert await handle.aresult(SOON) == Point(2, 1)
    job = await handle.arefresh()
    assert (job.state, job.attempt, job.errors, job.percent) == (JobState.SUCCEEDED, 1, [], 100)


async def test_a_sync_handler_runs_in_a_thread_and_its_result_has_its_type(app: Penstock) -> None:
    @app.job
    def mirror(ctx: SyncContext, point: Point) -> Point:
        assert threading.current_thread() is not threading.main_thread()
        assert (ctx.kind, ctx.attempt, ctx.last_attempt) == ("mirror", 1, False)
        return Point(point.y, point.x)

    async with working(app):
        assert await (await mirror.aenqueue(Point(1, 2))).aresult(SOON) == Point(2, 1)


async def test_a_context_tells_about_the_job(app: Penstock) -> None:
    @app.job
    async def tell(ctx: Context) -> tuple[str, str, int, bool, str | None, str | None]:
        return str(ctx.id), ctx.kind, ctx.attempt, ctx.last_attempt, ctx.owner, ctx.org

    async with working(app):
        handle = await tell.using(owner="ada", org="acme", max_attempts=1).aenqueue()
        assert await handle.aresult(SOON) == (str(handle.id), "tell", 1, True, "ada", "acme")


@dataclass
class Order:
    id: UUID
    due: datetime
    points: list[Point]


async def test_arguments_arrive_as_their_types(app: Penstock) -> None:
    got: list[Any] = []

    @app.job
    async def take(
        point: Point, /, order: Order, path: Path, *, at: datetime, seen: set[int] | None = None, **rest: Any
    ) -> None:
        got.append((point, order, path, at, seen, rest))

    order = Order(uuid4(), datetime(2025, 5, 1, tzinfo=UTC), [Point(3, 4)])
    at = datetime(2025, 5, 2, 12, tzinfo=UTC)
    async with working(app):
        await (await take.aenqueue(Point(1, 2), order, Path("a/b"), at=at, more="rest")).aresult(SOON)
    assert got == [(Point(1, 2), order, Path("a/b"), at, None, {"more": "rest"})]


@pytest.mark.parametrize("given", [{"first": 1}, {"first": 1, "second": 2}, {"first": 1, "third": 3}])
async def test_arguments_left_out_have_the_default_of_the_handler_that_runs(
    app: Penstock, given: dict[str, int]
) -> None:
    unnamed: list[int] = []

    @app.job
    def take(first: int, second: int = 20, /, third: int = 30, *, fourth: list[int] = unnamed) -> list[int]:
        assert fourth is unnamed
        return [first, second, third]

    async with working(app):
        [handle] = await take.aenqueue_many([given])
        assert await handle.aresult(SOON) == list(({"first": 1, "second": 20, "third": 30} | given).values())


@pytest.mark.parametrize("name", ["function", "self", "args", "run", "ctx", "context"])
async def test_an_argument_may_have_any_name(app: Penstock, name: str) -> None:
    made: dict[str, Any] = {}
    exec(f"def take({name}: int) -> int: return {name}", made)

    handler = app.job(made["take"])
    async with working(app):
        [handle] = await handler.aenqueue_many([{name: 7}])
        assert await handle.aresult(SOON) == 7


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (object(), "a object has no JSON form"),
        ("a\x00b", "NUL"),
        ("\ud800", "surrogates"),
        (["too much! "] * 50_000, "over the limit"),
        (float("nan"), "no JSON form"),
        (datetime(2025, 5, 1), "without a time zone"),
    ],
    ids=["object", "NUL", "surrogate", "too large", "NaN", "naive"],
)
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_result_that_cannot_be_stored_fails_the_job_for_good(
    app: Penstock, result: object, why: str, sync: bool
) -> None:
    calls: list[None] = []

    def give() -> object:
        calls.append(None)
        return result

    async def give_async() -> object:
        return give()

    handler = app.job(kind="give")(give if sync else give_async)
    async with working(app):
        job = await failed(app, (await handler.aenqueue()).id)
    assert len(calls) == 1
    [error] = job.errors
    assert error["error"].startswith("its result cannot be stored: output")
    assert why in error["error"]


async def test_contextvars_do_not_leak_from_one_job_into_the_next(app: Penstock) -> None:
    setting = ContextVar("setting", default="unset")

    def look() -> str:
        found = setting.get()
        setting.set("left behind")
        return found

    @app.job
    async def look_async() -> str:
        return look()

    @app.job
    def look_in_thread() -> str:
        return look()

    async with working(app, {"default": 1}):
        # all at hand at once: each starts where the one before it ended
        handles = [*await look_async.aenqueue_many([{}] * 20), *await look_in_thread.aenqueue_many([{}] * 20)]
        found = [await handle.aresult(SOON) for handle in handles]
    assert found == ["unset"] * 40


@pytest.mark.parametrize("sync", [False, True], ids=["async", "threads"])
async def test_as_many_run_at_once_as_there_are_slots_and_never_more(app: Penstock, sync: bool) -> None:
    slots = {"narrow": 2, "wide": 20}
    running = dict.fromkeys(slots, 0)
    most = dict.fromkeys(slots, 0)
    lock = threading.Lock()
    all_busy, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def begin(queue: str) -> None:
        with lock:
            running[queue] += 1
            most[queue] = max(most[queue], running[queue])
            if running == slots:
                loop.call_soon_threadsafe(all_busy.set)

    def end(queue: str) -> None:
        with lock:
            running[queue] -= 1

    async def work_async(queue: str, wait: bool) -> None:
        begin(queue)
        await asyncio.sleep(0)
        if wait:
            await all_busy.wait()
        end(queue)

    def work(queue: str, wait: bool) -> None:
        begin(queue)
        if wait:
            go.wait(SOON)
        end(queue)

    function: Any = work if sync else work_async
    handler = app.job(kind="work")(function)
    async with working(app, slots):
        # quick ones first: the worker takes to having more in hand than it has slots
        jobs = [
            handler.using(queue=queue).prepare(queue, wait)
            for wait in (False, True)
            for queue in slots
            for _ in range(80)
        ]
        handles = await app.aenqueue_many(jobs)
        async with asyncio.timeout(SOON):
            await all_busy.wait()
        go.set()
        for handle in handles:
            await handle.aresult(SOON)
    assert most == slots


async def test_a_worker_takes_only_from_its_queues(app: Penstock) -> None:
    @app.job
    async def work() -> int:
        return os.getpid()

    async with working(app, {"mine": 1}):
        other = await work.using(queue="other").aenqueue()
        await (await work.using(queue="mine").aenqueue()).aresult(SOON)
    assert (await other.arefresh()).state is JobState.READY

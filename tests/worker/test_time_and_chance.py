"""What a handler takes of time and chance is the same in every run of its job, and of nobody else's place: in the
handler, in a step that is remembered later on, in a thread. Where no order is kept it is refused."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from penstock import Context, Penstock, SyncContext
from penstock.callbacks import read_token
from penstock.job import JobState
from penstock.testing import adrain, arun_inline, run_inline
from tests.worker import in_process

SECRET = "a secret of sixteen characters or more"


@pytest.fixture(autouse=True)
def _called_back_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://jobs.example.com")
    monkeypatch.setenv("PENSTOCK_SIGNING_SECRET", SECRET)


Taken = tuple[UUID, float, str]


def take(ctx: Context | SyncContext) -> Taken:
    callback = read_token(SECRET, ctx.callback_url("paid").rpartition("/")[2])
    assert callback is not None
    return ctx.uuid(), ctx.random(), callback.step


async def take_late(ctx: Context) -> tuple[UUID, float, str, datetime]:
    await asyncio.sleep(0)
    return *take(ctx), await ctx.now()


async def run_until_it_ends(app: Penstock, handler: Any, *args: object) -> Any:
    handle = await handler.aenqueue(*args)
    async with asyncio.timeout(20):
        while not (job := await handle.arefresh()).state.final:
            await adrain(app)
    assert job.state is JobState.SUCCEEDED, job.errors
    return job.output


async def test_each_step_takes_its_own_whether_those_before_it_are_run_or_remembered(app: Penstock) -> None:
    steps: list[Any] = []
    handlers: list[Any] = []

    @app.job
    async def pay(ctx: Context) -> None:
        handlers.append(take(ctx))
        await ctx.step("in a thread", lambda: steps.append(take(ctx)))
        await ctx.sleep(0)
        await ctx.step("in a task", lambda: _noted(steps, take_late(ctx)))
        await ctx.sleep(0)
        await ctx.step("last", lambda: _noted(steps, take_late(ctx)))
        handlers.append(take(ctx))

    await run_until_it_ends(app, pay)
    # the handler three times at first, and at last where those of steps have not been counted
    assert len(handlers) == 4
    assert handlers[0] == handlers[1] == handlers[2]
    assert [name for _, _, name in handlers[2:]] == ["callback_url paid", "callback_url paid 2"]
    assert [each[2] for each in steps] == [f"{s}: callback_url paid" for s in ("in a thread", "in a task", "last")]
    for place in range(3):
        taken = [each[place] for each in [*steps, *handlers[2:]]]
        assert len(set(taken)) == 5, taken
    assert steps[1][3] < steps[2][3]


async def _noted(found: list[Any], coming: Awaitable[object]) -> None:
    found.append(await coming)


@pytest.mark.parametrize("isolate", [False, True])
async def test_those_of_a_sync_handler_do_so_too_in_a_thread_and_in_a_process(app: Penstock, isolate: bool) -> None:
    pay = app.job(isolate=isolate)(in_process.take_in_steps)
    taken = await run_until_it_ends(app, pay)
    assert len({uuid for uuid, _ in taken}) == 3
    assert len({at for _, at in taken}) == 3


async def test_a_step_that_is_taken_again_takes_the_same(app: Penstock) -> None:
    steps: list[Any] = []

    @app.job(max_attempts=1)
    async def pay(ctx: Context) -> None:
        async def charge() -> None:
            steps.append((*await take_late(ctx), ctx.uuid()))
            if len(steps) < 3:
                raise ConnectionError

        try:
            await ctx.step("charge", charge)
        except ConnectionError:
            await ctx.step("charge", charge)

    handle = await pay.aenqueue()
    await adrain(app)
    await app.jobs.aretry(handle.id)
    await adrain(app)
    assert (await handle.arefresh()).state is JobState.SUCCEEDED
    assert len(steps) == 3
    assert steps[0] == steps[1] == steps[2]
    assert steps[0][0] != steps[0][-1]


async def test_steps_beside_each_other_take_their_own(app: Penstock) -> None:
    runs: list[dict[str, Any]] = []

    @app.job(max_attempts=1)
    async def pay(ctx: Context) -> None:
        first = len(runs) == 0
        runs.append({})

        async def charge(who: str) -> None:
            await asyncio.sleep(0 if (who == "ada") == first else 0.01)
            runs[-1][who] = await take_late(ctx)
            if first and who == "bob":
                raise ConnectionError

        await asyncio.gather(*(ctx.step(who, charge, who) for who in ("ada", "bob")))

    handle = await pay.aenqueue()
    await adrain(app)
    await app.jobs.aretry(handle.id)
    await adrain(app)
    assert (await handle.arefresh()).state is JobState.SUCCEEDED
    assert runs[0]["bob"] == runs[1]["bob"]
    assert set(runs[0]["ada"]).isdisjoint(runs[0]["bob"])


def test_a_name_that_would_be_too_long_is_told_apart_by_its_end(app: Penstock) -> None:
    @app.job
    def pay(ctx: SyncContext) -> list[str]:
        return [ctx.step("s" * 480 + end, lambda: take(ctx))[2] for end in "ab"]

    run = run_inline(pay)
    assert run.output is not None
    assert len(set(run.output)) == 2
    assert {len(name) for name in run.output} == {500}


async def beside_each_other(ctx: Context) -> None:
    await asyncio.gather(take_late(ctx), take_late(ctx))


async def in_a_task(ctx: Context) -> None:
    await asyncio.create_task(take_late(ctx))


async def by_now(ctx: Context) -> None:
    await asyncio.gather(ctx.now(), ctx.now())


async def in_a_thread(ctx: Context) -> None:
    await asyncio.to_thread(take, ctx)


async def in_tasks_of_a_step(ctx: Context) -> None:
    await ctx.step("both", beside_each_other, ctx)


async def in_threads_of_a_step(ctx: Context) -> None:
    def both() -> None:
        with ThreadPoolExecutor() as threads:
            list(threads.map(take, [ctx, ctx]))

    await ctx.step("both", both)


async def in_a_task_that_its_step_left_behind(ctx: Context) -> None:
    go = asyncio.Event()
    tasks: list[asyncio.Task[Any]] = []

    async def late() -> None:
        await go.wait()
        take(ctx)

    async def begin() -> None:
        tasks.append(asyncio.create_task(late()))

    await ctx.step("begin", begin)
    go.set()
    await tasks[0]


WAYS = [
    beside_each_other, in_a_task, by_now, in_a_thread, in_tasks_of_a_step, in_threads_of_a_step,
    in_a_task_that_its_step_left_behind,
]  # fmt: skip
TOLD = r"^(uuid|random|now|callback_url)\(\) is told apart from others of its kind by its order"


@pytest.mark.parametrize("way", WAYS)
async def test_what_has_no_order_is_refused_with_what_to_do(
    app: Penstock, way: Callable[[Context], Awaitable[None]]
) -> None:
    @app.job(max_attempts=1)
    async def pay(ctx: Context) -> None:
        await way(ctx)

    handle = await pay.aenqueue()
    await adrain(app)
    job = await handle.arefresh()
    assert job.state is JobState.FAILED
    assert re.search(TOLD, job.errors[-1]["error"]), job.errors[-1]["error"]
    with pytest.raises(Exception, match=TOLD):
        await arun_inline(pay)


async def test_what_has_no_order_is_refused_in_threads_of_a_sync_handler(app: Penstock) -> None:
    @app.job(max_attempts=1)
    def pay(ctx: SyncContext) -> None:
        with ThreadPoolExecutor() as threads:
            list(threads.map(take, [ctx, ctx]))

    handle = await pay.aenqueue()
    await adrain(app)
    assert re.search(TOLD, (await handle.arefresh()).errors[-1]["error"])


async def test_a_loop_of_a_sync_handlers_own_and_a_middleware_take_what_they_took(app: Penstock) -> None:
    taken: list[UUID] = []

    @app.middleware
    async def note(ctx: Any, call_next: Callable[[], Awaitable[Any]]) -> Any:
        taken.append(ctx.uuid())
        result = await call_next()
        taken.append(ctx.uuid())
        return result

    @app.job
    def pay(ctx: SyncContext) -> None:
        async def below() -> None:
            taken.append(ctx.uuid())

        assert threading.current_thread() is not threading.main_thread()
        asyncio.run(below())
        taken.append(ctx.uuid())

    await run_until_it_ends(app, pay)
    assert len(set(taken)) == 4

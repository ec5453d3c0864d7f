"""Handlers that sleep, call others and wait for events: nothing is held meanwhile, and nothing is done twice."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from penstock import Context, Flow, Handler, Penstock, SyncContext
from penstock.errors import CallFailed, WaitTimeout
from penstock.job import JobState, PreparedJob
from penstock.testing import FakeClock, adrain
from tests.kit.fixtures import Connect
from tests.kit.until import until
from tests.kit.working import working


async def state_of(app: Penstock, id: UUID) -> JobState:
    job = await app.jobs.aget(id)
    assert job is not None
    return job.state


async def test_a_sleeping_job_holds_no_slot_and_goes_on_after_its_steps(app: Penstock) -> None:
    taken: list[str] = []

    def note(what: str) -> str:
        taken.append(what)
        return what

    @app.job
    async def wake_up(ctx: Context) -> list[str]:
        first = await ctx.step("before", note, "before")
        await ctx.sleep(0.3)
        await ctx.sleep(seconds=0.01)
        return [first, await ctx.step("after", note, "after")]

    async with working(app, {"default": 1}):
        handle = await wake_up.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.SCHEDULED))
        assert await handle.aresult(20) == ["before", "after"]
    assert taken == ["before", "after"]
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert job.attempt == 1


async def test_a_run_that_ends_to_wait_is_no_success(app: Penstock) -> None:
    told: list[str] = []
    app.on_end(lambda run: told.append(run.outcome))

    @app.job
    async def doze(ctx: Context) -> None:
        await ctx.sleep(0.01)
        await ctx.sleep(0.01)

    async with working(app, {"default": 1}):
        await (await doze.aenqueue()).aresult(20)
    assert told == ["suspended", "suspended", "succeeded"]


async def test_statistics_count_one_success_of_a_job_that_slept_twice(app: Penstock) -> None:
    @app.job
    async def doze(ctx: Context) -> None:
        await ctx.sleep(0)
        await ctx.sleep(0)

    await doze.aenqueue()
    results = await app.atick()
    assert [(each.state, each.error) for each in results] == [(JobState.SUCCEEDED, None)] * 3
    [runs] = [each for each in await app.statistics.aseries("default") if each.succeeded]
    assert runs.succeeded == 1


async def _is(app: Penstock, id: UUID, state: JobState) -> bool:
    return await state_of(app, id) is state


async def test_called_jobs_run_once_and_their_results_are_of_their_type(app: Penstock) -> None:
    runs: list[int] = []

    @app.job
    async def double(n: int) -> tuple[int, datetime]:
        runs.append(n)
        return 2 * n, datetime(2026, 1, n, tzinfo=UTC)

    @app.job
    async def total(ctx: Context, most: int) -> int:
        one = await ctx.call(double, 1)
        assert one == (2, datetime(2026, 1, 1, tzinfo=UTC))
        many = await ctx.gather(*(double.prepare(n) for n in range(2, most + 1)))
        return one[0] + sum(each[0] for each in many)

    async with working(app, {"default": 1}):
        handle = await total.using(owner="ada").aenqueue(10)
        assert await handle.aresult(30) == 110
    assert sorted(runs) == list(range(1, 11))
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert job.progress["done"] == job.progress["total"] == 10
    called = (await app.jobs.alist(parent=handle.id)).jobs
    assert len(called) == 10
    assert {each.owner for each in called} == {"ada"}


async def test_the_last_step_of_a_flow_calls_jobs_and_is_told_of_its_flow_s_alone_in_every_run(app: Penstock) -> None:
    seen: list[list[object]] = []

    @app.job
    async def double(n: int) -> int:
        return 2 * n

    @app.job
    async def sum_up(ctx: Context) -> int:
        found = sorted(each.output for each in await ctx.outputs())
        seen.append(found)
        return sum(await ctx.gather(*(double.prepare(each) for each in found)))

    flow = Flow(then=sum_up.prepare())
    flow.add(double.prepare(1))
    flow.add(double.prepare(2))
    async with working(app, {"default": 1}):
        handle = await app.aenqueue(flow)
        assert await handle.aresult(20) == 12
    assert seen == [[2, 4], [2, 4]]
    progress = (await handle.arefresh()).progress
    assert progress["done"] == progress["total"] == 4


async def test_a_call_that_failed_is_told_and_may_be_caught(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def refuse() -> None:
        raise ValueError("no")

    @app.job
    async def ask(ctx: Context) -> str:
        try:
            await ctx.call(refuse)
        except CallFailed as error:
            told = f"{error.type}: {error.error}"
        await ctx.sleep(0.01)
        return f"refused: {told}"

    @app.job(max_attempts=1)
    async def ask_twice(ctx: Context) -> list[str]:
        both = await ctx.gather(refuse.prepare(), refuse.prepare(), return_exceptions=True)
        return [str(each.error) for each in both if isinstance(each, CallFailed)]

    async with working(app, {"default": 2}):
        assert await (await ask.aenqueue()).aresult(20) == "refused: ValueError: no"
        assert await (await ask_twice.aenqueue()).aresult(20) == ["no", "no"]


async def test_another_number_of_called_jobs_than_before_fails_with_both_numbers(app: Penstock) -> None:
    files = [1, 2]

    @app.job
    async def double(n: int) -> int:
        return 2 * n

    @app.job
    async def total(ctx: Context) -> list[int]:
        called = [double.prepare(each) for each in files]
        files.append(3)
        return await ctx.gather(*called)

    async with working(app, {"default": 1}):
        handle = await total.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.FAILED))
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert "step 'call double' is of 3 jobs now and was of 2" in job.errors[-1]["error"]
    assert job.attempt == 1


async def test_a_called_job_is_retried_by_hand_and_its_caller_goes_on(app: Penstock) -> None:
    works = False

    @app.job(max_attempts=1)
    async def flaky() -> str:
        if not works:
            raise ValueError("not yet")
        return "done"

    @app.job(max_attempts=1)
    async def caller(ctx: Context) -> str:
        return await ctx.call(flaky)

    async with working(app, {"default": 2}):
        handle = await caller.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.FAILED))
        works = True
        [child] = (await app.jobs.alist(parent=handle.id)).jobs
        await app.jobs.aretry(child.id)
        assert await handle.aresult(20) == "done"


async def test_events_are_had_before_while_and_after_somebody_waits(app: Penstock) -> None:
    @app.job
    async def wait(ctx: Context, order: int) -> object:
        return await ctx.wait_for("paid", key=order)

    assert await app.aemit("paid", key=7, payload={"by": "card"}) is None
    async with working(app, {"default": 2}):
        assert await (await wait.aenqueue(7)).aresult(20) == {"by": "card"}
        late = await wait.aenqueue(8)
        await until(lambda: _is(app, late.id, JobState.BLOCKED))
        assert await app.aemit("paid", key=9) is None
        assert await app.aemit("paid", key="8", payload=[1]) == late.id
        assert await late.aresult(20) == [1]


async def test_each_event_is_had_by_one(app: Penstock) -> None:
    @app.job
    async def wait(ctx: Context) -> int:
        number: int = await ctx.wait_for("number")
        return number

    async with working(app, {"default": 4}):
        handles = await wait.aenqueue_many({} for _ in range(20))
        await asyncio.gather(*(app.aemit("number", payload=n) for n in range(20)))
        assert sorted([await each.aresult(20) for each in handles]) == list(range(20))


async def test_a_wait_has_a_timeout_that_a_handler_may_catch(app: Penstock) -> None:
    @app.job
    async def wait(ctx: Context) -> str:
        try:
            await ctx.wait_for("never", timeout=0.2)
        except WaitTimeout:
            await ctx.sleep(0.01)
            return "gave up"
        return "came"

    async with working(app, {"default": 1}):
        assert await (await wait.aenqueue()).aresult(20) == "gave up"
    # the wait is over: whoever comes next has it
    assert await app.aemit("never") is None


async def test_a_timeout_that_nobody_catches_fails_the_job_at_once_for_it_is_remembered(app: Penstock) -> None:
    @app.job
    async def wait(ctx: Context) -> object:
        return await ctx.wait_for("never", timeout=0)

    handle = await wait.aenqueue()
    await adrain(app)
    job = await handle.arefresh()
    assert (job.state, job.attempt) == (JobState.FAILED, 1)
    assert job.errors[-1]["error"] == "wait for never: nothing came in time"


async def test_neither_a_restart_nor_a_retry_resets_a_time(app: Penstock, url: str) -> None:
    def handlers_of(app: Penstock) -> list[Handler[[], Any]]:
        @app.job
        async def rest(ctx: Context) -> None:
            await ctx.sleep(hours=2)

        @app.job
        async def wait(ctx: Context) -> object:
            return await ctx.wait_for("paid", timeout=7200)

        return [rest, wait]

    with FakeClock(app) as clock:
        handles = [await each.aenqueue() for each in handlers_of(app)]
        await adrain(app)
        until_when = [(await each.arefresh()).run_at for each in handles]
        clock.move(hours=1)
        for each in handles:
            await app.jobs.acancel(each.id)
            await app.jobs.aretry(each.id)
        async with Penstock(url) as another:
            handlers_of(another)
            await adrain(another)
        jobs = [await each.arefresh() for each in handles]
        assert [(job.state, job.run_at, job.options["waits"]) for job in jobs] == [
            (JobState.SCHEDULED, when, 2) for when in until_when
        ]
        assert await app.aemit("paid", payload="late") == handles[1].id
        clock.move(hours=1, seconds=1)
        await adrain(app)
        assert [await each.aresult(20) for each in handles] == [None, "late"]


async def test_an_event_is_part_of_the_callers_transaction(app: Penstock, connect: Connect) -> None:
    connection = connect()

    @app.job
    async def wait(ctx: Context) -> object:
        return await ctx.wait_for("stored")

    async with working(app, {"default": 1}):
        handle = await wait.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.BLOCKED))
        with connection.transaction(force_rollback=True):
            app.emit("stored", payload="lost", connection=connection)
        with connection.transaction():
            connection.execute("select penstock.emit('stored', p_payload => '\"kept\"')")
        assert await handle.aresult(20) == "kept"


async def test_cancelling_goes_down_to_the_jobs_that_were_called(app: Penstock) -> None:
    begun = asyncio.Event()

    @app.job
    async def long() -> None:
        begun.set()
        await asyncio.Event().wait()

    @app.job
    async def caller(ctx: Context) -> None:
        await ctx.call(long)

    async with working(app, {"default": 2}):
        handle = await caller.aenqueue()
        await asyncio.wait_for(begun.wait(), 20)
        await app.jobs.acancel(handle.id)
        await until(lambda: _is(app, handle.id, JobState.CANCELLED))
        [child] = (await app.jobs.alist(parent=handle.id)).jobs
        assert child.state is JobState.CANCELLED


async def test_another_order_of_steps_fails_with_the_names_of_both(app: Penstock) -> None:
    order = ["charge", "pack"]

    @app.job
    async def sell(ctx: Context) -> None:
        for name in list(order):
            await ctx.step(name, str, name)
        await ctx.sleep(0.2)

    async with working(app, {"default": 1}):
        handle = await sell.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.SCHEDULED))
        order.reverse()
        await until(lambda: _is(app, handle.id, JobState.FAILED))
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert "'pack' now and was 'charge'" in job.errors[-1]["error"]
    assert job.attempt == 1


async def sleep_or_wait(ctx: Context, first: bool) -> None:
    await (ctx.sleep(0, name="pause") if first else ctx.wait_for("go", name="pause", timeout=60))


async def step_or_call(ctx: Context, first: bool) -> None:
    await (ctx.step("pause", str, 1) if first else ctx.gather(PreparedJob(kind="one"), name="pause"))


async def wait_or_ask(ctx: Context, first: bool) -> None:
    await (ctx.wait_for("go", name="pause", timeout=0) if first else ctx.approve("Go?", name="pause"))


async def wait_for_either(ctx: Context, first: bool) -> None:
    await ctx.wait_for("went" if first else "came", key="7", name="pause", timeout=60)


async def call_in_either_order(ctx: Context, first: bool) -> None:
    await ctx.gather(*(PreparedJob(kind=kind) for kind in (("one", "two") if first else ("two", "one"))))


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (sleep_or_wait, "'pause' is a wait for an event now and was a sleep"),
        (step_or_call, "'pause' is a call now and was a step"),
        (wait_or_ask, "'pause' is an approval now and was a wait for an event"),
        (wait_for_either, "'pause' is a wait for came 7 now and was a wait for went 7"),
        (call_in_either_order, "'call one, two' is a call of two now and was a call of one"),
    ],
)
async def test_another_step_of_the_same_name_fails_with_what_both_are(
    app: Penstock, work: Callable[[Context, bool], Awaitable[None]], told: str
) -> None:
    runs: list[bool] = []
    for kind in ("one", "two"):

        @app.job(kind=kind)
        async def called() -> None: ...

    @app.job(max_attempts=1)
    async def change(ctx: Context) -> None:
        runs.append(True)
        with suppress(WaitTimeout):
            await work(ctx, len(runs) == 1)
        await ctx.sleep(0)

    await app.aemit("went", key="7")
    handle = await change.aenqueue()
    await adrain(app)
    job = await handle.arefresh()
    assert job.state is JobState.FAILED
    assert told in job.errors[-1]["error"]


async def test_steps_beside_each_other_end_the_order_only_of_what_comes_after_them(app: Penstock) -> None:
    order = ["charge", "pack"]

    @app.job
    async def sell(ctx: Context) -> None:
        for name in list(order):
            await ctx.step(name, str, name)
        await asyncio.gather(*(ctx.step(name, asyncio.sleep, 0) for name in ("label", "invoice")))
        await ctx.sleep(0)
        order.reverse()
        await ctx.sleep(0)

    async with working(app, {"default": 1}):
        handle = await sell.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.FAILED))
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert "'pack' now and was 'charge'" in job.errors[-1]["error"]


async def test_a_step_that_failed_and_was_taken_again_is_one_step(app: Penstock) -> None:
    tries: list[int] = []

    def charge() -> str:
        tries.append(len(tries))
        if len(tries) == 1:
            raise ValueError("busy")
        return "paid"

    @app.job(max_attempts=1)
    async def sell(ctx: Context) -> str:
        try:
            paid = await ctx.step("charge", charge)
        except ValueError:
            paid = await ctx.step("charge", charge)
        await ctx.sleep(0)
        return paid

    async with working(app, {"default": 1}):
        assert await (await sell.aenqueue()).aresult(20) == "paid"
    assert len(tries) == 2


async def test_a_handler_that_has_grown_at_its_end_goes_on(app: Penstock) -> None:
    @app.job
    async def sell(ctx: Context) -> list[object]:
        done = [await ctx.step("charge", str, "charged"), await ctx.wait_for("packed", timeout=60)]
        if grown:
            await ctx.sleep(0)
            done.append(await ctx.step("ship", str, "shipped"))
        return done

    grown = False
    handle = await sell.aenqueue()
    await adrain(app)
    grown = True
    await app.aemit("packed", payload="box")
    await adrain(app)
    assert await handle.aresult(20) == ["charged", "box", "shipped"]


async def test_a_job_of_another_version_is_left_to_a_worker_that_has_it(app: Penstock, url: str) -> None:
    another = Penstock(url)

    @app.job(kind="grow", version=1)
    async def grow(ctx: Context) -> str:
        await ctx.sleep(0.2)
        return "old"

    @another.job(kind="grow", version=2)
    async def grow_faster(ctx: Context) -> str:
        await ctx.step("new", str, "new")
        return "new"

    async with working(app, {"default": 1}):
        handle = await grow.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.SCHEDULED))
    async with another, working(another, {"default": 1}):
        await until(lambda: _is_parked(app, handle.id))
    async with working(app, {"default": 1}):
        assert await handle.aresult(20) == "old"


async def _is_parked(app: Penstock, id: UUID) -> bool:
    job = await app.jobs.aget(id)
    return job is not None and "version 1" in (job.parked_reason or "")


async def test_time_and_chance_are_the_same_in_every_run(app: Penstock) -> None:
    seen: list[tuple[UUID, UUID, float, datetime]] = []

    @app.job
    async def look(ctx: Context) -> None:
        seen.append((ctx.uuid(), ctx.uuid(), ctx.random(), await ctx.now()))
        await ctx.sleep(0.01)

    async with working(app, {"default": 1}):
        await (await look.aenqueue()).aresult(20)
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[0][1]


async def test_a_sync_handler_waits_as_well(app: Penstock) -> None:
    @app.job
    def double(n: int) -> int:
        return 2 * n

    @app.job
    def work(ctx: SyncContext) -> list[object]:
        ctx.sleep(0.01)
        called = ctx.call(double, 2)
        return [called, ctx.gather(double.prepare(3), double.prepare(4)), ctx.wait_for("go")]

    await app.aemit("go", payload="gone")
    async with working(app, {"default": 2}):
        assert await (await work.aenqueue()).aresult(20) == [4, [6, 8], "gone"]


async def test_nobody_waits_inside_a_transaction(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def write(ctx: Context) -> None:
        async with ctx.transaction():
            await ctx.sleep(1)

    async with working(app, {"default": 1}):
        handle = await write.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.FAILED))
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert "ctx.transaction() is open" in job.errors[-1]["error"]


@pytest.mark.parametrize("wrong", [{"seconds": -1}, {"until": datetime(2026, 1, 1)}, {"days": 1e9}])
async def test_a_senseless_sleep_is_refused(app: Penstock, wrong: dict[str, object]) -> None:
    @app.job(max_attempts=1)
    async def rest(ctx: Context) -> None:
        await ctx.sleep(**wrong)  # type: ignore[arg-type]

    async with working(app, {"default": 1}):
        handle = await rest.aenqueue()
        await until(lambda: _is(app, handle.id, JobState.FAILED))

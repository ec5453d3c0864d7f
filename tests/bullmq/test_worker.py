"""The same handlers on BullMQ: a real worker on a real Valkey."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from penstock import Backoff, Context, Flow, JobCancelled, JobFailed, JobState, NewJob, Penstock, batch
from penstock.engine import commands as c
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.errors import InvalidInput
from penstock.outcome import Snooze
from tests.kit import saying
from tests.kit.redis import fresh_redis
from tests.kit.until import soon, until
from tests.kit.working import working


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    async with Penstock(fresh_redis()) as app:
        yield app


async def test_a_job_is_enqueued_run_and_awaited(app: Penstock) -> None:
    @app.job
    async def greet(ctx: Context, name: str) -> str:
        await ctx.progress(50, "half")
        return f"hello {name}"

    job = await greet.aenqueue("Ada")
    many = await greet.aenqueue_many([{"name": str(n)} for n in range(100)])
    async with working(app, {"default": 20}):
        assert await job.aresult(timeout=20) == "hello Ada"
        assert [await each.aresult(timeout=20) for each in many][-1] == "hello 99"
    seen = await job.arefresh()
    assert (seen.state, seen.attempt, seen.progress["message"]) == (JobState.SUCCEEDED, 1, "half")


async def test_it_is_tried_again_and_given_up(app: Penstock) -> None:
    attempts: list[int] = []

    @app.job(max_attempts=3, backoff=Backoff.constant(0.05))
    async def shaky(ctx: Context) -> None:
        attempts.append(ctx.job.attempt)
        raise RuntimeError(f"no {ctx.job.attempt}")

    job = await shaky.aenqueue()
    async with working(app):
        with pytest.raises(JobFailed, match="after 3 attempts: no 3"):
            await job.aresult(timeout=20)
        assert await job.aretry()
        await until(lambda: len(attempts) == 6)
        with pytest.raises(JobFailed):
            await job.aresult(timeout=20)
    assert attempts == [1, 2, 3, 1, 2, 3]
    assert [each["error"] for each in (await job.arefresh()).errors][:3] == ["no 1", "no 2", "no 3"]


async def test_it_snoozes_at_no_cost_of_an_attempt(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def poll(ctx: Context) -> int | Snooze:
        return ctx.job.attempt if ctx.job.snoozes == 2 else Snooze(0.01)

    job = await poll.aenqueue()
    async with working(app):
        assert await job.aresult(timeout=20) == 1


async def test_what_is_higher_goes_first_and_what_is_delayed_later(app: Penstock) -> None:
    ran: list[str] = []

    @app.job
    async def note(name: str) -> None:
        ran.append(name)

    soon_at = datetime.now(UTC) + timedelta(seconds=0.2)
    await note.using(run_at=soon_at, priority=99).aenqueue("later")
    await note.aenqueue("usual")
    await note.using(priority=-5).aenqueue("low")
    await note.using(priority=5).aenqueue("high")
    await note.aenqueue("usual too")
    async with working(app, {"default": 1}):
        await until(lambda: len(ran) == 5)
    assert [name for name in ran if name != "later"] == ["high", "usual", "usual too", "low"]
    assert datetime.now(UTC) >= soon_at


async def test_a_running_job_is_stopped_and_a_waiting_one_never_starts(app: Penstock) -> None:
    started = asyncio.Event()

    @app.job
    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    running, waiting = await wait.aenqueue(), await wait.using(delay=3600).aenqueue()
    async with working(app, {"default": 1}):
        await soon(started.wait())
        assert await waiting.acancel("not wanted")
        assert await running.acancel()
        with pytest.raises(JobCancelled, match="not wanted"):
            await waiting.aresult(timeout=20)
        with pytest.raises(JobCancelled):
            await running.aresult(timeout=20)
        assert not await waiting.acancel()


async def test_a_unique_key_stands_for_the_job_that_has_it(app: Penstock) -> None:
    @app.job(unique=True)
    async def once(n: int) -> int:
        return n

    first, second, other = await once.aenqueue(1), await once.aenqueue(1), await once.aenqueue(2)
    assert (second.id, second.created, other.created) == (first.id, False, True)
    async with working(app):
        await first.aresult(timeout=20)
        await other.aresult(timeout=20)
    assert (await once.aenqueue(1)).created, "it has ended"


async def test_no_more_run_at_once_than_the_queue_allows(app: Penstock) -> None:
    app.queue("narrow", max_running=2)
    running: set[int] = set()
    most = 0

    @app.job(queue="narrow")
    async def work(n: int) -> None:
        nonlocal most
        running.add(n)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.discard(n)

    jobs = await work.aenqueue_many([{"n": n} for n in range(30)])
    async with working(app, {"narrow": 10}):
        for job in jobs:
            await job.aresult(timeout=20)
    assert most == 2


async def test_a_flow_waits_and_its_last_step_has_the_outputs(app: Penstock) -> None:
    @app.job
    async def text(chapter: int) -> str:
        return f"chapter {chapter}"

    @app.job
    async def pdf(ctx: Context, chapter: int) -> int:
        [text] = await ctx.outputs()
        return len(text.output)

    @app.job
    async def publish(ctx: Context) -> int:
        return sum(each.output for each in await ctx.outputs())

    flow = Flow(then=publish.prepare())
    for chapter in range(3):
        flow.add(pdf.prepare(chapter), after=[flow.add(text.prepare(chapter))])
    book = await app.aenqueue(flow)
    assert (await book.arefresh()).state is JobState.BLOCKED
    together = await app.aenqueue(batch(text.prepare(n) for n in range(3)))
    async with working(app):
        assert await book.aresult(timeout=20) == 27
        assert await together.aresult(timeout=20) is None


async def test_a_flow_fails_with_the_job_that_is_given_up_or_goes_on(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def part(fails: bool) -> str:
        if fails:
            raise RuntimeError("broken")
        return "fine"

    @app.job
    async def last(ctx: Context) -> list[str]:
        return sorted(each.state for each in await ctx.outputs())

    strict, lenient = Flow(then=last.prepare()), Flow(then=last.prepare(), policy="continue")
    for flow in (strict, lenient):
        flow.add(part.prepare(True))
        flow.add(part.prepare(False))
    failing, going_on = await app.aenqueue(strict), await app.aenqueue(lenient)
    cancelled = await app.aenqueue(batch([part.using(delay=3600).prepare(False)]))
    assert await cancelled.acancel()
    async with working(app):
        with pytest.raises(JobFailed, match="failed"):
            await failing.aresult(timeout=20)
        assert await going_on.aresult(timeout=20) == ["failed", "succeeded"]
        with pytest.raises(JobCancelled):
            await cancelled.aresult(timeout=20)


async def test_a_schedule_is_a_job_scheduler_of_bullmq(app: Penstock) -> None:
    ran: list[int] = []

    @app.cron("* * * * * *", args={"n": 7})
    @app.job
    async def tick(n: int) -> None:
        ran.append(n)

    async with working(app):
        await until(lambda: len(ran) >= 2)
        [schedule] = await app.schedules.alist()
    assert (schedule.name, schedule.cron, schedule.kind, schedule.args) == ("tick", "* * * * * *", "tick", {"n": 7})
    assert ran[:2] == [7, 7]
    assert schedule.last_tick is not None
    assert schedule.next_tick is not None
    assert schedule.last_job is not None
    assert schedule.last_tick < schedule.next_tick
    assert (await app.handle(schedule.last_job).arefresh()).kind == "tick"
    assert await app.schedules.aremove("tick")


async def test_a_schedule_is_paused_run_by_hand_and_resumed(app: Penstock) -> None:
    ran: list[int] = []

    @app.job(queue="hourly")
    async def tick(n: int) -> None:
        ran.append(n)

    await app.schedules.aset("hours", "0 12 1 7 *", "tick", {"n": 7}, queue="hourly", tz="Asia/Tokyo")
    [before] = await app.schedules.alist()
    assert before.next_tick == (await app.schedules.anext_runs("hours", 3))[0]
    await app.schedules.apause("hours")
    [paused] = await app.schedules.alist()
    assert (paused.paused, paused.next_tick, paused.tz) == (True, None, "Asia/Tokyo")
    assert await app.schedules.anext_runs("hours") == []
    assert (await app.jobs.alist(queue="hourly")).jobs == [], "the job of the next tick was taken back"
    await app.schedules.aset("hours", "30 12 1 7 *", "tick", {"n": 8}, queue="hourly")
    [changed] = await app.schedules.alist()
    assert (changed.paused, changed.cron, changed.created_at) == (True, "30 12 1 7 *", before.created_at)
    job = await app.schedules.arun_now("hours")
    async with working(app, {"hourly": 1}):
        await job.aresult(timeout=60)
    assert ran == [8]
    await app.schedules.aresume("hours")
    await app.schedules.aresume("hours")
    [resumed] = await app.schedules.alist()
    assert (resumed.paused, resumed.last_job) == (False, job.id)
    assert resumed.next_tick == (await app.schedules.anext_runs("hours", 1))[0]
    [waits] = (await app.jobs.alist(queue="hourly", state="scheduled")).jobs
    assert abs(waits.run_at - resumed.next_tick) < timedelta(seconds=2)
    with pytest.raises(InvalidInput, match="no schedule 'days'"):
        await app.schedules.apause("days")


async def test_a_schedule_goes_on_when_its_next_job_is_cancelled(app: Penstock) -> None:
    @app.job
    async def tick() -> None: ...

    await app.schedules.aset("yearly", "0 12 1 7 *", "tick")
    first, second = await app.schedules.anext_runs("yearly", 2)
    assert (await app.operator("ada").acancel(queue="default")).total == 0, "no job yet to whoever does not name it"
    [waits] = (await app.jobs.alist(queue="default")).jobs
    assert abs(waits.run_at - first) < timedelta(seconds=2)
    assert await app.jobs.acancel(waits.id) == [waits.id]
    [schedule] = await app.schedules.alist()
    assert schedule.next_tick == second
    [waits] = (await app.jobs.alist(queue="default", state="scheduled")).jobs
    assert abs(waits.run_at - second) < timedelta(seconds=2)


async def test_a_job_that_nobody_knows_waits_for_a_worker_that_does(app: Penstock) -> None:
    other = Penstock(app.engine.url)  # type: ignore[attr-defined]

    @other.job
    async def theirs() -> str:
        return "known"

    async with other:
        job = await theirs.aenqueue()
        async with working(app):
            await until(job.arefresh, so=lambda seen: seen.parked_reason)
        async with working(other):
            assert await job.aresult(timeout=20) == "known"


async def test_a_job_that_bullmq_finds_without_a_worker_begins_again_and_says_so(app: Penstock) -> None:
    engine = app.engine
    assert isinstance(engine, BullmqEngine)
    [job] = await engine.aenqueue([NewJob(kind="work", max_attempts=3)])
    for attempt in (1, 2):
        lease = await engine.arun(c.OpenLease("dies"))
        [held] = await engine.arun(c.Claim(lease, "default", 1))
        assert held.attempt == attempt
        await engine.arun(saying.report_progress(lease, [held], [{"percent": 80, "message": "nearly there"}]))
        keys = engine.session().keys("default")
        await engine.session().one(calls.plain("DEL", keys.lock(str(job.id))))
        for _ in range(2):  # marked at one look, taken back at the next
            await engine.session().many([calls.plain("DEL", keys["stalled-check"]), calls.move_stalled(keys, 1)])
    await engine.arun(c.Claim(await engine.arun(c.OpenLease("lives")), "default", 1))
    seen = await app.handle(job.id).arefresh()
    assert (seen.percent, seen.progress["message"]) == (0, "Attempt 3 of 3: its worker was lost")

"""A queue moves from Postgres to BullMQ and back, whatever interrupts it: none is lost, none is doubled."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from bullmq import FlowProducer

from penstock import Context, Flow, JobState, NewJob, Penstock, batch
from penstock.engine import commands as c
from penstock.engine import mover
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import RedisCall
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.enqueue import unique_id
from penstock.engine.bullmq.session import Session
from penstock.engine.mover import Stays
from penstock.testing import adrain
from tests.kit import saying
from tests.kit.redis import fresh_redis
from tests.kit.until import soon, until
from tests.kit.working import working

# dies by SIGKILL right after the n-th step of its kind
_PROGRAM = """
import os, signal, sys
from penstock import Penstock
from penstock.engine import mover
from penstock.engine.bullmq.engine import BullmqEngine
source, target, queue, step = sys.argv[1:]
mover.CHUNK = 7
with Penstock(source) as one, Penstock(target) as other:
    whose = (other if step == "take_in" else one).engine.mover()
    kind = type(whose)
    done = getattr(kind, step)
    def dying(self, *given):
        done(self, *given)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(kind, step, dying)
    mover.move(one.engine, other.engine, queue)
"""


@pytest.fixture
async def both(url: str) -> AsyncIterator[tuple[Penstock, Penstock]]:
    async with Penstock(url) as here, Penstock(fresh_redis()) as there:
        yield here, there


async def _interrupted(source: str, target: str, step: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _PROGRAM, source, target, "default", step)
    assert await process.wait() == -9


async def _moved(source: str, target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await _told(source, target, "--json"))
    return found


async def _told(source: str, target: str, *options: str) -> str:
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).parent / "penstock", "move", "--queue", "default", "--to", target, "-d", source, *options,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    told, _ = await process.communicate()
    assert process.returncode == 0
    return told.decode().strip()


async def test_it_moves_there_and_back_whatever_kills_it(both: tuple[Penstock, Penstock], url: str) -> None:
    postgres, redis = both
    redis_url = redis.engine.url  # type: ignore[attr-defined]
    ran: Counter[int] = Counter()

    async def count(n: int) -> None:
        ran[n] += 1

    for app in both:
        app.job(kind="work")(count)
        app.job(kind="part")(lambda: None)
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    work = postgres.handler("work")
    jobs = list(await work.aenqueue_many([{"n": n} for n in range(20)]))
    later = await work.using(run_at=in_an_hour, priority=7, max_attempts=4, owner="ada", unique="u1").aenqueue(n=100)
    tried = await work.using(max_attempts=4).aenqueue(n=101)
    lease = await postgres.engine.arun(c.OpenLease("one that fails"))
    claimed = await postgres.engine.arun(c.Claim(lease, "default", 50))
    [failing] = [job for job in claimed if job.id == tried.id]
    others = [job.held for job in claimed if job.id != tried.id]
    await postgres.engine.arun(c.Release(lease, others))
    error = c.AttemptError("no", retry_in=3600)
    await postgres.engine.arun(c.Fail(lease, [c.FailedAttempt(failing.id, failing.claims, error)]))
    first = await postgres.handle(tried.id).arefresh()
    flow = await postgres.aenqueue(batch([postgres.handler("part").prepare()]))
    for step in ("hold", "take_in", "let_go"):
        await _interrupted(url, redis_url, step)
    told = await _moved(url, redis_url)
    assert (told["left"], told["stay"]) == (2, {"flow": 2})
    assert (await flow.arefresh()).state is JobState.BLOCKED
    seen = await redis.handle(later.id).arefresh()
    assert (seen.state, seen.priority, seen.max_attempts, seen.owner) == (JobState.SCHEDULED, 7, 4, "ada")
    assert seen.unique_key
    assert abs((seen.run_at - in_an_hour).total_seconds()) < 1
    there = await redis.handle(tried.id).arefresh()
    assert (there.attempt, there.max_attempts, [each["error"] for each in there.errors]) == (1, 4, ["no"])
    for step in ("hold", "take_in", "let_go"):
        await _interrupted(redis_url, url, step)
    assert (await _moved(redis_url, url))["stay"] == {}
    back = await postgres.handle(later.id).arefresh()
    assert (back.state, back.priority, back.owner) == (JobState.SCHEDULED, 7, "ada")
    assert abs((back.run_at - in_an_hour).total_seconds()) < 1
    again = await postgres.handle(tried.id).arefresh()
    assert (again.attempt, again.max_attempts) == (1, 4), "of four it has had one"
    assert again.errors == there.errors == first.errors
    assert abs((again.created_at - first.created_at).total_seconds()) < 0.01
    async with working(postgres):
        for job in jobs:
            await postgres.handle(job.id).aresult(timeout=20)
    async with working(redis):
        pass
    assert ran == Counter(range(20))
    assert (await redis.jobs.alist()).jobs == []


async def test_jobs_that_stay_keep_nobody_back(
    both: tuple[Penstock, Penstock], monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres, redis = both
    monkeypatch.setattr(mover, "CHUNK", 7)
    engine = redis.engine
    assert isinstance(engine, BullmqEngine)
    # those of others wait in another list than ours
    queue = engine.session().queue("default")
    tree = {"name": "sums", "queueName": "default", "children": [{"name": "part", "queueName": "default"}] * 10}
    await FlowProducer(queue.client, queue.opts).add(tree)
    await queue.addBulk([{"name": "work", "data": {}}] * 5)
    for delay in (None, 3600.0):
        flow = batch([NewJob(kind="part", delay=delay) for _ in range(10)])
        await engine.aenqueue([*flow.jobs(), *[NewJob(kind="work", delay=delay) for _ in range(5)]])
    # and the last step of a flow has what the others gave it
    flow = Flow(then=NewJob(kind="last"))
    flow.add(NewJob(kind="first", priority=9))
    await engine.aenqueue(flow.jobs())
    lease = await engine.arun(c.OpenLease("hands"))
    [first] = [job for job in await engine.arun(c.Claim(lease, "default", 99)) if job.kind == "first"]
    await engine.arun(saying.complete(lease, [first]))
    await engine.arun(c.CloseLease(lease))
    moved = await asyncio.to_thread(mover.move, engine, postgres.engine, "default")
    assert moved == mover.Moved(15, {Stays.FLOW: 34})
    assert {job.kind for job in (await postgres.jobs.alist()).jobs} == {"work"}


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
async def test_each_job_runs_once_while_both_sides_have_workers(
    both: tuple[Penstock, Penstock], back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mover, "CHUNK", 7)
    source, target = reversed(both) if back else both
    ran: Counter[int] = Counter()
    at_work, came_over = asyncio.Event(), asyncio.Event()

    async def here(n: int) -> None:
        at_work.set()
        # so that the worker here leaves some to be moved
        await came_over.wait()
        ran[n] += 1

    async def there(n: int) -> None:
        ran[n] += 1

    source.job(kind="work")(here)
    target.job(kind="work")(there)
    await source.handler("work").aenqueue_many([{"n": n} for n in range(100)])
    loop = asyncio.get_running_loop()

    def some_came(_: int) -> None:
        loop.call_soon_threadsafe(came_over.set)

    async with working(source, {"default": 2}), working(target, {"default": 2}):
        await soon(at_work.wait())
        moved = await asyncio.to_thread(mover.move, source.engine, target.engine, "default", some_came)
        await until(lambda: ran.total() >= 100)
    assert 7 <= moved.jobs < 100
    assert ran == Counter(range(100))
    for app in both:
        assert {job.state for job in (await app.jobs.alist(limit=200)).jobs} == {JobState.SUCCEEDED}


def _put_there(source: Penstock, target: Penstock) -> None:
    held = source.engine.mover().hold("default", 100)
    target.engine.mover().take_in("default", held)


@pytest.mark.parametrize("unique", [None, "k"], ids=["", "whose unique key is another's"])
@pytest.mark.parametrize(
    ("back", "kept"), [(False, "all"), (True, "all"), (True, "failed")], ids=["there", "back", "back, failures kept"]
)
async def test_what_has_ended_and_is_forgotten_before_an_interrupted_move_goes_on_does_not_run_twice(
    both: tuple[Penstock, Penstock], back: bool, kept: Literal["all", "failed"], unique: str | None
) -> None:
    source, target = reversed(both) if back else both
    ran: Counter[int] = Counter()

    async def count(n: int) -> None:
        ran[n] += 1

    for app in both:
        app.job(kind="work")(count)
    if back:
        await target.queues.aset("default", keep=kept)
    await source.handler("work").using(owner="ada").aenqueue_many([{"n": n} for n in range(5)])
    if unique:
        await source.handler("work").using(unique=unique).aenqueue(n=5)
        await target.handler("work").using(unique=unique).aenqueue(n=6)
    await asyncio.to_thread(_put_there, source, target)
    await adrain(target)
    await target.jobs.apurge_where(state="succeeded")
    assert (await target.jobs.alist()).jobs == []
    await asyncio.to_thread(mover.move, source.engine, target.engine, "default")
    await adrain(target)
    assert ran == Counter(range(7 if unique else 5))


async def test_what_has_come_and_gone_may_come_again(both: tuple[Penstock, Penstock]) -> None:
    job = NewJob(kind="work")
    await both[0].engine.aenqueue([job])
    for source, target in (both, both[::-1], both, both[::-1]):
        assert await asyncio.to_thread(mover.move, source.engine, target.engine, "default") == mover.Moved(1)
        assert (await target.handle(job.id).arefresh()).state is JobState.READY


async def _snooze(app: Penstock) -> None:
    lease = await app.engine.arun(c.OpenLease("polls"))
    [held] = await app.engine.arun(c.Claim(lease, "default"))
    await app.engine.arun(saying.snooze(lease, [held], [0.0]))
    await app.engine.arun(c.CloseLease(lease))


async def test_snoozes_that_were_spent_are_not_had_again(both: tuple[Penstock, Penstock]) -> None:
    postgres, redis = both
    job = NewJob(kind="poll", max_snoozes=3)
    await postgres.engine.aenqueue([job])
    await _snooze(postgres)
    await asyncio.to_thread(mover.move, postgres.engine, redis.engine, "default")
    there = await redis.handle(job.id).arefresh()
    assert (there.snoozes, there.max_snoozes) == (1, 3)
    await _snooze(redis)
    await asyncio.to_thread(mover.move, redis.engine, postgres.engine, "default")
    back = await postgres.handle(job.id).arefresh()
    assert (back.snoozes, back.max_snoozes) == (2, 3)


async def _fail(app: Penstock) -> None:
    lease = await app.engine.arun(c.OpenLease("fails"))
    [held] = await app.engine.arun(c.Claim(lease, "default"))
    failed = c.FailedAttempt(held.id, held.claims, c.AttemptError("no", retry_in=3600))
    await app.engine.arun(c.Fail(lease, [failed]))
    await app.engine.arun(c.CloseLease(lease))


async def test_one_that_has_had_an_attempt_moves_to_a_redis_that_was_just_started(
    both: tuple[Penstock, Penstock],
) -> None:
    postgres, redis = both
    engine = redis.engine
    assert isinstance(engine, BullmqEngine)
    job = NewJob(kind="work", args=b'{"n":1}')
    await postgres.engine.aenqueue([job])
    await _fail(postgres)
    await engine.session().client.script_flush()  # which knows no script yet
    await asyncio.to_thread(mover.move, postgres.engine, engine, "default")
    moved = await redis.handle(job.id).arefresh()
    assert (moved.state, moved.attempt, moved.args) == (JobState.SCHEDULED, 1, {"n": 1})


async def test_one_whose_unique_key_is_taken_there_comes_without_it(both: tuple[Penstock, Penstock]) -> None:
    for source, target in (both, both[::-1]):
        there, here = (NewJob(kind="work", unique_key="k") for _ in range(2))
        await source.engine.aenqueue([here])
        await _fail(source)
        await target.engine.aenqueue([there])
        assert await asyncio.to_thread(mover.move, source.engine, target.engine, "default") == mover.Moved(1)
        came, was = [await target.handle(job.id).arefresh() for job in (here, there)]
        assert (came.unique_key, was.unique_key) == (None, "k")
        assert (came.attempt, [each["error"] for each in came.errors]) == (1, ["no"])
        await target.jobs.acancel(came.id, was.id)


async def test_of_a_delayed_job_that_is_removed_before_it_is_taken_nothing_is_left(
    both: tuple[Penstock, Penstock], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = both[1].engine
    assert isinstance(engine, BullmqEngine)
    gone, stays = NewJob(kind="work", delay=3600.0), NewJob(kind="work", delay=3600.0)
    await engine.aenqueue([gone, stays])
    key = engine.session().keys("default")[str(gone.id)]
    many = Session.many

    async def when_it_is_gone(self: Session, asked: Sequence[RedisCall], *, together: bool = False) -> list[Any]:
        if any(call.script == "putAside" for call in asked):
            await many(self, [calls.remove(self.keys("default"), str(gone.id))])
        return await many(self, asked, together=together)

    monkeypatch.setattr(Session, "many", when_it_is_gone)
    held = await asyncio.to_thread(engine.mover().hold, "default", 9)
    assert [each.job.id for each in held] == [stays.id]
    assert await engine.session().client.exists(key) == 0


async def test_the_command_says_why_jobs_stay(both: tuple[Penstock, Penstock]) -> None:
    postgres, redis = both

    async def naps(ctx: Context) -> None:
        await ctx.sleep(3600)

    postgres.job(kind="naps")(naps)
    await postgres.handler("naps").aenqueue()
    await adrain(postgres)
    part = NewJob(kind="part")
    await postgres.engine.aenqueue([part, *batch([NewJob(kind="part")]).jobs()])
    lease = await postgres.engine.arun(c.OpenLease("busy"))
    assert await postgres.engine.arun(c.Claim(lease, "default"))
    redis.cron("0 0 1 1 *")(redis.job(kind="yearly")(lambda: None))
    await adrain(redis)
    redis_url, url = redis.engine.url, postgres.url()  # type: ignore[attr-defined]
    said = "; 4 jobs stay: 1 running, 2 of flows, 1 begun and waiting"
    assert await _told(url, redis_url) == f"default: 0 jobs were moved{said}"
    assert await _told(redis_url, url) == "default: 0 jobs were moved; 1 job stays: 1 of schedules"


async def test_what_somebody_else_has_said_of_a_job_comes_as_a_database_takes_it(
    both: tuple[Penstock, Penstock],
) -> None:
    postgres, redis = both
    engine = redis.engine
    assert isinstance(engine, BullmqEngine)
    queue = engine.session().queue("default")
    theirs = await queue.add("work", {}, {"attempts": 9})
    odd = [{"error": "a\0b", "at": {"no": "time"}}, "no object"]
    told = {"failedReason": "x\0y", "atm": "3"}
    [ours, *_] = await engine.aenqueue([NewJob(kind="work"), NewJob(kind="other")])
    keys = engine.session().keys("default")
    await queue.client.hset(keys[theirs.id], mapping=told)
    await queue.client.hset(keys[str(ours.id)], "ps:errors", json.dumps(odd))
    assert await asyncio.to_thread(mover.move, engine, postgres.engine, "default") == mover.Moved(3)
    came = {job.id: job.errors for job in (await postgres.jobs.alist()).jobs}
    assert came.pop(ours.id) == [{"error": "ab"}]
    assert sorted(came.values(), key=len) == [[], [{"error": "xy", "attempt": 3}]]


async def test_two_of_one_unique_key_move_to_a_database_that_allows_one(both: tuple[Penstock, Penstock]) -> None:
    """On BullMQ they can be there: Node retries a job without asking who has its key by now."""
    postgres, redis = both
    engine = redis.engine
    assert isinstance(engine, BullmqEngine)
    first, second = (NewJob(kind="work", unique_key="k") for _ in range(2))
    await engine.aenqueue([first])
    await engine.session().client.delete(f"{engine.session().keys('default').base}de:{unique_id(first)}")
    await engine.aenqueue([second])
    assert await asyncio.to_thread(mover.move, engine, postgres.engine, "default") == mover.Moved(2)
    keys = {job.unique_key for job in (await postgres.jobs.alist()).jobs}
    assert keys == {None, "k"}

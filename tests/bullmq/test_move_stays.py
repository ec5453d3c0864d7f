"""Jobs that a move must leave where they are, and what it must not keep from running."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from penstock import JobState, NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine import mover
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.mover import Stays
from tests.kit import saying
from tests.kit.redis import fresh_redis
from tests.kit.until import soon, until
from tests.kit.working import working


@pytest.fixture
async def both(url: str) -> AsyncIterator[tuple[Penstock, Penstock]]:
    async with Penstock(url) as here, Penstock(fresh_redis()) as there:
        yield here, there


async def test_what_cannot_be_on_the_other_side_stays_where_it_is_and_keeps_nobody_back(
    both: tuple[Penstock, Penstock], caplog: pytest.LogCaptureFixture
) -> None:
    postgres, redis = both
    engine = redis.engine
    assert isinstance(engine, BullmqEngine)
    session = engine.session()
    queue, keys = session.queue("default"), session.keys("default")
    odd: list[str] = []
    for options in ({}, {"delay": 3_600_000}, {"priority": 9}):
        await queue.add("work", {"n": 1}, options)
        odd.append((await queue.add("work", {"text": "a\0b"}, options)).id)
    odd.append((await queue.add("work", {})).id)
    await queue.client.hset(keys[odd[-1]], "priority", "high")
    await queue.add("work", {"n": 1})
    [ours, _] = await engine.aenqueue([NewJob(kind="work"), NewJob(kind="work")])
    opts = json.loads(await queue.client.hget(keys[str(ours.id)], "opts"))
    opts["penstock"]["owner"] = 7
    await queue.client.hset(keys[str(ours.id)], "opts", json.dumps(opts))
    odd.append(str(ours.id))
    before = await queue.client.zscore(keys["delayed"], odd[1])
    moved = await asyncio.to_thread(mover.move, engine, postgres.engine, "default")
    assert moved == mover.Moved(5, {Stays.REFUSED: 5})
    assert {job.args.get("n") for job in (await postgres.jobs.alist()).jobs} == {1, None}
    states = await session.many([calls.state_of(keys, id) for id in odd])
    assert states == ["waiting", "delayed", "prioritized", "waiting", "prioritized"]
    assert await queue.client.zscore(keys["delayed"], odd[1]) == before
    assert "owner: must be text, not 7" in caplog.text
    assert await postgres.engine.aenqueue([NewJob(kind="work", options={"backoff": {"base": "long"}})])
    told = await asyncio.to_thread(mover.move, postgres.engine, engine, "default")
    assert told == mover.Moved(5, {Stays.REFUSED: 1})
    [stays] = (await postgres.jobs.alist()).jobs
    assert (stays.queue, stays.state) == ("default", JobState.READY)


async def test_a_move_that_was_interrupted_takes_no_room_in_a_queue_that_has_a_limit(
    both: tuple[Penstock, Penstock],
) -> None:
    postgres, redis = both
    await redis.queues.aset("default", max_running=1)
    await redis.engine.aenqueue([NewJob(kind="work") for _ in range(3)])
    held = await asyncio.to_thread(redis.engine.mover().hold, "default", 1)
    lease = await redis.engine.arun(c.OpenLease("works on", queues=["default"]))
    [claimed] = await redis.engine.arun(c.Claim(lease, "default", 3))
    assert claimed.id != held[0].job.id
    moved = await asyncio.to_thread(mover.move, redis.engine, postgres.engine, "default")
    assert moved == mover.Moved(2, {Stays.RUNNING: 1})
    assert await redis.engine.arun(saying.complete(lease, [claimed])) == []
    assert {job.id for job in (await postgres.jobs.alist()).jobs} >= {held[0].job.id}


async def test_what_is_cancelled_while_it_is_held_does_not_come_over(both: tuple[Penstock, Penstock]) -> None:
    postgres, redis = both
    jobs = [NewJob(kind="work") for _ in range(2)]
    await redis.engine.aenqueue(jobs)
    await asyncio.to_thread(redis.engine.mover().hold, "default", 2)
    await redis.jobs.acancel(jobs[0].id)
    assert await asyncio.to_thread(mover.move, redis.engine, postgres.engine, "default") == mover.Moved(1)
    assert (await redis.handle(jobs[0].id).arefresh()).state is JobState.CANCELLED
    assert [job.id for job in (await postgres.jobs.alist()).jobs] == [jobs[1].id]


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
async def test_a_queue_that_may_run_one_moves_while_both_sides_work(
    both: tuple[Penstock, Penstock], back: bool
) -> None:
    source, target = reversed(both) if back else both
    ran: Counter[int] = Counter()
    at_once: Counter[str] = Counter()
    begun, moved_over = asyncio.Event(), asyncio.Event()

    def work_on(app: Penstock, side: str) -> None:
        async def work(n: int) -> None:
            at_once[side] += 1
            assert at_once[side] == 1
            begun.set()
            await moved_over.wait()
            at_once[side] -= 1
            ran[n] += 1

        app.job(kind="work", max_attempts=1)(work)

    for app, side in ((source, "source"), (target, "target")):
        work_on(app, side)
        await app.queues.aset("default", max_running=1)
    await source.handler("work").aenqueue_many([{"n": n} for n in range(20)])
    async with working(source, {"default": 5}), working(target, {"default": 5}):
        await soon(begun.wait())
        moved = await asyncio.to_thread(mover.move, source.engine, target.engine, "default")
        moved_over.set()
        await until(lambda: ran.total() == 20)
    assert moved == mover.Moved(19, {Stays.RUNNING: 1})
    assert ran == Counter(range(20))

"""A job and what follows from it: both happen, or neither, whatever comes between."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from redis.asyncio.client import Pipeline

from penstock import JobState, NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine.bullmq.calls import RedisCall
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.session import Session
from penstock.job import ClaimedJob, Lease
from tests.kit.redis import fresh_redis

FURTHER = [NewJob(kind="next", queue=queue) for queue in ("default", "later")]


class _Killed(Exception):
    pass


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    async with Penstock(fresh_redis()) as app:
        yield app


async def claimed(app: Penstock) -> tuple[Lease, ClaimedJob]:
    await app.engine.aenqueue([NewJob(kind="first")])
    lease = await app.engine.arun(c.OpenLease("a worker", queues=["default"]))
    [job] = await app.engine.arun(c.Claim(lease, "default"))
    return lease, job


def completion(lease: Lease, job: ClaimedJob) -> c.CompleteAndEnqueue:
    done = c.Completed(job.id, job.claims)
    return c.CompleteAndEnqueue(lease, done, FURTHER, c.Progress(message="nearly"))


async def test_a_worker_that_is_killed_before_the_end_has_added_nothing(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, job = await claimed(app)
    many = Session.many

    async def killed(self: Session, asked: Sequence[RedisCall], **how: Any) -> list[Any]:
        if any(call.script == "moveToFinished" for call in asked):
            raise _Killed
        return await many(self, asked, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "many", killed)
        with pytest.raises(_Killed):
            await app.engine.arun(completion(lease, job))
    assert (await app.jobs.alist(kind="next")).jobs == []
    assert await app.engine.arun(completion(lease, job)) is True
    assert len((await app.jobs.alist(kind="next")).jobs) == 2


@pytest.mark.parametrize("late", [False, True], ids=["before it looks", "after it has looked"])
async def test_a_job_that_is_lost_meanwhile_has_added_nothing(
    app: Penstock, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    lease, job = await claimed(app)
    assert isinstance(app.engine, BullmqEngine)
    session = app.engine.session()
    lock = session.keys("default").lock(str(job.id))
    execute = Pipeline.execute

    async def lost(self: Pipeline, raise_on_error: bool = True) -> list[Any]:
        await session.client.delete(lock)
        return await execute(self, raise_on_error)

    if late:
        monkeypatch.setattr(Pipeline, "execute", lost)
    else:
        await session.client.delete(lock)
    assert await app.engine.arun(completion(lease, job)) is False
    monkeypatch.undo()
    assert (await app.jobs.alist(kind="next")).jobs == []
    assert (await app.handle(job.id).arefresh()).state is JobState.RUNNING


async def test_it_wakes_whoever_waits_for_room_in_its_queue(app: Penstock) -> None:
    await app.queues.aset("default", max_running=1)
    lease, job = await claimed(app)
    assert isinstance(app.engine, BullmqEngine)
    session = app.engine.session()
    marker = session.keys("default")["marker"]
    await session.client.delete(marker)
    assert await app.engine.arun(completion(lease, job)) is True
    assert await session.client.zcard(marker) == 1

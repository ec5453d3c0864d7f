"""What else happens in Redis while a lease is extended."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from penstock import NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine.bullmq.calls import RedisCall
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.session import Session
from penstock.job import Lease
from tests.kit import saying
from tests.kit.redis import fresh_redis

Before = Callable[[str, Callable[[], Awaitable[Any]]], None]


@pytest.fixture
async def engine() -> AsyncIterator[BullmqEngine]:
    async with Penstock(fresh_redis()) as app:
        assert isinstance(app.engine, BullmqEngine)
        yield app.engine


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Right before the first request that has this script or command in it, something else happens."""
    many = Session.many

    def before(what: str, happens: Callable[[], Awaitable[Any]]) -> None:
        async def delayed(self: Session, asked: Sequence[RedisCall], *, together: bool = False) -> list[Any]:
            if any(what in (call.script, call.words[0]) for call in asked):
                monkeypatch.setattr(Session, "many", many)
                await happens()
            return await many(self, asked, together=together)

        monkeypatch.setattr(Session, "many", delayed)

    return before


async def lease_of(engine: BullmqEngine) -> Lease:
    return await engine.arun(c.OpenLease("a worker", queues=["default", "other"]))


async def test_a_job_that_this_worker_has_claimed_anew_is_kept(engine: BullmqEngine, before: Before) -> None:
    await engine.aenqueue([NewJob(kind="work")])
    lease = await lease_of(engine)
    [job] = await engine.arun(c.Claim(lease, "default"))

    async def claim_anew() -> None:
        await engine.arun(saying.fail(lease, [job], [{"error": "no", "retry_in": 0}]))
        [again] = await engine.arun(c.Claim(lease, "default"))
        assert again.claims == 2

    before("extendLocks", claim_anew)
    assert list((await engine.arun(c.ExtendLease(lease))).cancelling) == []
    assert await engine.arun(c.Holds(lease, job.id, 2))
    other = BullmqEngine(engine.url)
    assert await other.arun(c.Holds(lease, job.id, 2)), "in Redis too"
    await other.aclose()


async def test_a_job_that_was_lost_stops_none_of_the_same_id_in_another_queue(engine: BullmqEngine) -> None:
    lease = await lease_of(engine)
    session = engine.session()
    jobs = {}
    for queue in ("default", "other"):
        added = await session.queue(queue).add("work", {})
        assert added.id == "1"
        [jobs[queue]] = await engine.arun(c.Claim(lease, queue))
    await session.client.delete(session.keys("default").lock("1"))
    assert list((await engine.arun(c.ExtendLease(lease))).cancelling) == [jobs["default"].id]
    assert not await engine.arun(c.Holds(lease, jobs["default"].id, 1))
    assert await engine.arun(c.Holds(lease, jobs["other"].id, 1))


@pytest.mark.parametrize("extends", [True, False])
async def test_a_lease_that_runs_out_meanwhile_leaves_nothing(
    engine: BullmqEngine, before: Before, extends: bool
) -> None:
    lease = await lease_of(engine)
    session = engine.session()
    key = session.names.own("lease", lease)

    async def run_out() -> None:
        await session.client.delete(key)

    before("keepLease", run_out)
    if extends:
        assert not (await engine.arun(c.ExtendLease(lease))).alive
    else:
        await engine.arun(c.ReportStatistics(lease, memory=1))
    assert await session.client.exists(key) == 0
    assert await engine.arun(c.Workers()) == []

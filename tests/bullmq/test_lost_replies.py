"""Redis has done what it was asked for, and its answer is lost: asked again, it does nothing twice."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from redis.exceptions import ConnectionError

from penstock import Flow, JobState, NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine.bullmq.calls import RedisCall
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.record import PARKED_AT
from penstock.engine.bullmq.session import Session
from penstock.errors import DatabaseUnavailable
from penstock.job import ClaimedJob, Lease
from tests.kit import saying
from tests.kit.redis import fresh_redis

Lose = Callable[..., None]


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    async with Penstock(fresh_redis()) as app:
        yield app


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Lose:
    """The answer to the first request that has this script or command in it; before that, what else is to happen."""
    many = Session.many

    def lose(what: str, meanwhile: Callable[[], Any] | None = None) -> None:
        async def losing(self: Session, asked: Sequence[RedisCall], **how: Any) -> list[Any]:
            answers = await many(self, asked, **how)
            if any(what in (call.script, call.words[0]) for call in asked):
                monkeypatch.setattr(Session, "many", many)
                if meanwhile is not None:
                    await meanwhile()
                raise ConnectionError("the answer was lost")
            return answers

        monkeypatch.setattr(Session, "many", losing)

    return lose


async def lease_of(app: Penstock) -> Lease:
    return await app.engine.arun(c.OpenLease("a worker", queues=["default"]))


async def claim(app: Penstock, lease: Lease) -> dict[str, ClaimedJob]:
    return {job.kind: job for job in await app.engine.arun(c.Claim(lease, "default", 9))}


@pytest.mark.parametrize("script", ["addPrioritizedJob", "updateProgress", "moveToFinished"])
async def test_a_job_and_what_follows_from_it_are_there_once(app: Penstock, lose: Lose, script: str) -> None:
    [job] = await app.engine.aenqueue([NewJob(kind="first")])
    lease = await lease_of(app)
    held = (await claim(app, lease))["first"]
    further = [NewJob(kind="next") for _ in range(3)]
    done = c.Completed(held.id, held.claims)
    lose(script)
    assert await app.engine.arun(c.CompleteAndEnqueue(lease, done, further, c.Progress(message="nearly")))
    assert (await app.handle(job.id).arefresh()).state is JobState.SUCCEEDED
    assert await app.engine.arun(c.CloseLease(lease)) == 0, "nobody runs it again"
    assert {each.id for each in (await app.jobs.alist(kind="next")).jobs} == {each.id for each in further}


async def test_a_flow_goes_on_after_a_job_of_it_that_failed_before_it_was_asked_for_again(
    app: Penstock, lose: Lose
) -> None:
    lease = await lease_of(app)

    async def fail() -> None:
        await app.engine.arun(saying.fail(lease, [(await claim(app, lease))["part"]], [{"error": "no", "final": True}]))

    flow = Flow(policy="continue", then=NewJob(kind="last"))
    flow.add(NewJob(kind="part"))
    lose("addParentJob", fail)
    last, _ = await app.engine.aenqueue(flow.jobs())
    assert last.created
    await app.engine.arun(saying.complete(lease, [(await claim(app, lease))["last"]]))
    assert (await app.handle(last.id).arefresh()).state is JobState.SUCCEEDED


@pytest.mark.parametrize("what", ["moveToActive", "HSET"])
@pytest.mark.parametrize("closes", [False, True], ids=["it looks again", "it ends"])
async def test_a_claim_whose_answer_is_lost_costs_no_attempt(
    app: Penstock, lose: Lose, what: str, closes: bool
) -> None:
    first, second = await app.engine.aenqueue([NewJob(kind="first"), NewJob(kind="second")])
    other, lease = await lease_of(app), await lease_of(app)
    [others] = await app.engine.arun(c.Claim(other, "default", 1))
    lose(what)
    with pytest.raises(DatabaseUnavailable):
        await app.engine.arun(c.Claim(lease, "default", 1))
    assert await app.engine.arun(c.ReleaseUnknown(lease, [], 60)) == [], "it may be on its way"
    if closes:
        assert await app.engine.arun(c.CloseLease(lease)) == 1
    else:
        assert await app.engine.arun(c.ReleaseUnknown(lease, [])) == [second.id]
    job = await app.handle(second.id).arefresh()
    assert (job.state, job.attempt) == (JobState.READY, 0)
    assert await app.engine.arun(saying.complete(other, [others])) == []
    assert others.id == first.id


@pytest.mark.parametrize(
    ("about", "report", "script", "state"),
    [
        ({}, saying.fail, "moveToFinished", JobState.FAILED),
        ({"max_attempts": 2}, saying.fail, "moveToDelayed", JobState.SCHEDULED),
        ({"max_snoozes": 0}, saying.snooze, "moveToFinished", JobState.FAILED),
    ],
    ids=["given up", "to be tried again", "snoozed too often"],
)
async def test_a_report_that_is_made_again_tells_what_it_came_to(
    app: Penstock, lose: Lose, about: dict[str, Any], report: Callable[..., Any], script: str, state: JobState
) -> None:
    await app.engine.aenqueue([NewJob(kind="work", **{"max_attempts": 1} | about)])
    lease = await lease_of(app)
    job = (await claim(app, lease))["work"]
    said = report(lease, [job], [60.0] if report is saying.snooze else [{"error": "no", "retry_in": 60}])
    lose(script)
    with pytest.raises(DatabaseUnavailable):
        await app.engine.arun(said)
    [became] = await app.engine.arun(said)
    seen = await app.handle(job.id).arefresh()
    assert (became.id, became.state, seen.state) == (job.id, state, state)
    assert (became.run_at is not None) is (state is JobState.SCHEDULED)
    other = report(lease, [job], [60.0] if report is saying.snooze else [{"error": "another", "retry_in": 60}])
    assert len(await app.engine.arun(other)) == (report is saying.snooze), "that was not said before"


async def test_one_whose_time_to_be_parked_is_over_is_told_too(app: Penstock, lose: Lose) -> None:
    await app.engine.aenqueue([NewJob(kind="work")])
    lease = await lease_of(app)
    job = (await claim(app, lease))["work"]
    assert isinstance(app.engine, BullmqEngine)
    session = app.engine.session()
    await session.client.hset(session.keys("default")[str(job.id)], PARKED_AT, "1")
    lose("moveToFinished")
    with pytest.raises(DatabaseUnavailable):
        await app.engine.arun(saying.park(lease, [job], ["who?"]))
    [became] = await app.engine.arun(saying.park(lease, [job], ["who?"]))
    assert (became.id, became.state) == (job.id, JobState.FAILED)

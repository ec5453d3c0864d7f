"""Jobs that a worker does not know, on BullMQ: parked as in Postgres (tests/engine/test_parking.py)."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from penstock import NewJob, Penstock
from penstock.engine import commands as c
from penstock.job import ClaimedJob, JobState, Lease
from tests.kit import saying
from tests.kit.redis import fresh_redis

WHY = "this worker has no handler of kind 'work'"


class Hand:
    """A worker that knows nothing, at a time of its own."""

    def __init__(self, app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = app
        self.engine = app.engine
        self.now = 1_800_000_000_000
        self.lease: Lease
        for module in ("calls", "parking"):
            monkeypatch.setattr(f"penstock.engine.bullmq.{module}.now_ms", lambda: self.now)

    async def park(self) -> JobState:
        [became] = await self.engine.arun(saying.park(self.lease, [await self.claim()], [WHY]))
        return became.state

    async def claim(self) -> ClaimedJob:
        [job] = await self.engine.arun(c.Claim(self.lease, "default", 1))
        return job

    async def pass_time(self, id: UUID) -> float:
        """Until the job is due again; how many seconds."""
        due = (await self.app.handle(id).arefresh()).run_at.timestamp() * 1000
        passed, self.now = due - self.now, round(due)
        return passed / 1000


@pytest.fixture
async def hand(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hand]:
    async with Penstock(fresh_redis()) as app:
        hand = Hand(app, monkeypatch)
        hand.lease = await app.engine.arun(c.OpenLease("hand", seconds=1000))
        yield hand


async def test_they_come_round_ever_less_often_and_never_cost_an_attempt(hand: Hand) -> None:
    [job] = await hand.engine.aenqueue([NewJob(kind="work", max_attempts=1)])
    pauses = []
    for turn in range(24):
        if turn == 20:
            await hand.engine.arun(c.OpenLease("another", seconds=1000, queues=["other"], kinds=["work"]))
        assert await hand.park() is JobState.SCHEDULED
        pauses.append(await hand.pass_time(job.id))
    assert pauses[:3] == [1, 1, 1]
    assert pauses[:20] == sorted(pauses[:20])
    assert (pauses[19], pauses[-1]) == (300, 30), "while a live worker knows its kind it may meet that"
    seen = await hand.app.handle(job.id).arefresh()
    assert (seen.attempt, seen.errors, seen.parked_reason) == (0, [], WHY)
    [told] = await hand.engine.arun(c.ParkedJobs())
    assert (told.kind, told.jobs, told.reason, told.since) == ("work", 1, WHY, seen.parked_since)
    assert (await hand.claim()).attempt == 1


async def test_it_fails_after_its_queues_timeout_and_a_retry_starts_anew(hand: Hand) -> None:
    await hand.engine.arun(c.SetQueue("default", {"parked_timeout": 10}))
    [job] = await hand.engine.aenqueue([NewJob(kind="work", max_attempts=1)])
    handle = hand.app.handle(job.id)
    while await hand.park() is JobState.SCHEDULED:
        await hand.pass_time(job.id)
    seen = await handle.arefresh()
    assert (seen.state, seen.attempt, seen.parked_reason) == (JobState.FAILED, 0, None)
    assert seen.last_error == f"no worker that knows it came within 0:00:10: {WHY}"
    assert seen.shown_error == "no worker could run it"
    assert await hand.engine.arun(c.ParkedJobs()) == []
    assert await handle.aretry()
    assert await hand.park() is JobState.SCHEDULED


async def test_by_default_it_waits_three_days(hand: Hand) -> None:
    await hand.engine.aenqueue([NewJob(kind="work")])
    await hand.park()
    for hours, state in ((71.9, JobState.SCHEDULED), (0.2, JobState.FAILED)):
        hand.now += round(3_600_000 * hours)
        assert await hand.park() is state


async def test_a_run_of_a_worker_that_knows_it_takes_the_mark_away(hand: Hand) -> None:
    [job] = await hand.engine.aenqueue([NewJob(kind="work")])
    handle = hand.app.handle(job.id)
    for report in (
        lambda job: saying.fail(hand.lease, [job], [{"error": "boom", "retry_in": 0}]),
        lambda job: saying.snooze(hand.lease, [job], [0]),
        lambda job: saying.complete(hand.lease, [job]),
    ):
        await hand.park()
        assert (await handle.arefresh()).parked_reason == WHY
        hand.now += 1000
        claimed = await hand.claim()
        assert (await handle.arefresh()).parked_reason is None, "whoever runs it may know it"
        await hand.engine.arun(report(claimed))
        assert (await handle.arefresh()).parked_since is None
        assert await hand.engine.arun(c.ParkedJobs()) == []
        hand.now += 1000


async def test_one_that_is_to_be_cancelled_is(hand: Hand) -> None:
    [job] = await hand.engine.aenqueue([NewJob(kind="work")])
    claimed = await hand.claim()
    await hand.engine.arun(c.Cancel([job.id]))
    [became] = await hand.engine.arun(saying.park(hand.lease, [claimed], [WHY]))
    seen = await hand.app.handle(job.id).arefresh()
    assert (became.state, seen.state, seen.attempt) == (JobState.CANCELLED, JobState.CANCELLED, 0)

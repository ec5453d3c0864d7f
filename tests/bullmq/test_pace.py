"""How fast jobs go on BullMQ: no more of a queue than its rate, and each attempt as late as its backoff says."""

from collections.abc import AsyncIterator

import pytest

from penstock import Backoff, NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.job import Lease
from tests.kit import saying
from tests.kit.redis import fresh_redis


class Hand:
    def __init__(self, engine: BullmqEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine = engine
        self.now = 1_800_000_000_000
        self.lease: Lease
        monkeypatch.setattr("penstock.engine.bullmq.calls.now_ms", lambda: self.now)

    async def pauses(self, failures: int) -> list[float]:
        """Seconds from each failure of the queue's only job to its next attempt, to which the clock goes."""
        found = []
        for _ in range(failures):
            [job] = await self.engine.arun(c.Claim(self.lease, "default", 1))
            [became] = await self.engine.arun(saying.fail(self.lease, [job], [{"error": "no"}]))
            assert became.run_at is not None
            due = round(became.run_at.timestamp() * 1000)
            found.append((due - self.now) / 1000)
            self.now = due - 1
            assert await self.engine.arun(c.Claim(self.lease, "default", 1)) == []
            self.now = due
        return found


@pytest.fixture
async def hand(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hand]:
    async with Penstock(fresh_redis()) as app:
        assert isinstance(app.engine, BullmqEngine)
        hand = Hand(app.engine, monkeypatch)
        hand.lease = await app.engine.arun(c.OpenLease("hand", seconds=1000))
        yield hand


async def test_no_more_jobs_start_than_the_rate_of_their_queue(hand: Hand) -> None:
    await hand.engine.arun(c.SetQueue("default", {"rate": 3, "rate_period": 60}))
    await hand.engine.aenqueue([NewJob(kind="work") for _ in range(10)])
    assert len(await hand.engine.arun(c.Claim(hand.lease, "default", 10))) == 3
    assert await hand.engine.arun(c.Claim(hand.lease, "default", 10)) == []
    wait = await hand.engine.arun(c.WaitForWork(hand.lease, ["default"]))
    assert wait is not None
    assert 50 < wait <= 60, "whoever comes again sooner finds nothing"
    session = hand.engine.session()
    # the minute is over
    await session.client.delete(session.keys("default")["limiter"])
    assert len(await hand.engine.arun(c.Claim(hand.lease, "default", 10))) == 3
    await hand.engine.arun(c.SetQueue("default", {"rate": None}))
    assert len(await hand.engine.arun(c.Claim(hand.lease, "default", 10))) == 4


async def test_its_own_backoff_grows_up_to_its_cap(hand: Hand) -> None:
    seed = Backoff(30, cap=600, factor=2, jitter=0)
    await hand.engine.arun(c.SetQueue("default", {"backoff": Backoff.constant(7).to_json()}))
    await hand.engine.aenqueue([NewJob(kind="work", max_attempts=9, options={"backoff": seed.to_json()})])
    assert await hand.pauses(7) == [30, 60, 120, 240, 480, 600, 600]


async def test_without_one_it_has_that_of_its_queue(hand: Hand) -> None:
    await hand.engine.arun(c.SetQueue("default", {"backoff": Backoff(2, cap=5, jitter=0).to_json()}))
    await hand.engine.aenqueue([NewJob(kind="work", max_attempts=9)])
    assert await hand.pauses(3) == [2, 4, 5]


@pytest.mark.parametrize(
    ("backoff", "pauses"),
    [
        ({"type": "exponential", "delay": 1000}, [1, 2, 4]),
        ({"type": "fixed", "delay": 250}, [0.25, 0.25, 0.25]),
        (1500, [1.5, 1.5, 1.5]),
    ],
)  # fmt: skip
async def test_a_job_of_node_has_the_backoff_of_its_options(hand: Hand, backoff: object, pauses: list[float]) -> None:
    queue = hand.engine.session().queue("default")
    await queue.add("work", {}, {"attempts": 5, "backoff": backoff, "timestamp": hand.now})
    await hand.engine.arun(c.OpenLease("meets", queues=["default"]))
    assert await hand.pauses(3) == pauses

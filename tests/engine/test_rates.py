"""Rates: no window of the queue's period, wherever it begins, has more starts than allowed."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import monotonic

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import commands
from tests.engine.conftest import Hands
from tests.engine.crowd import all_at_once, wait_until_blocked
from tests.engine.hand import Hand
from tests.engine.test_limits import bulk


def test_a_rate_is_exact_in_every_window(hands: Hands) -> None:
    hand = hands()
    hand.set_queue("default", rate=5, rate_period=10)
    bulk(hand, 2_000)
    hand.set_clock(datetime.now(UTC))
    worker = hand.worker(seconds=1e9)
    starts: list[datetime] = []

    @given(st.lists(st.tuples(st.floats(0.001, 12), st.integers(1, 5)), min_size=1, max_size=20))
    def claim_at(times: list[tuple[float, int]]) -> None:
        for seconds, limit in times:
            hand.move_clock(seconds=seconds)
            assert hand.now is not None
            # what may still count for a hundredth of the period longer
            surely_gone = [at for at in starts if at > hand.now - timedelta(seconds=10.1)]
            claimed = worker.claim(limit)
            starts.extend([hand.now] * len(claimed))
            worker.complete(*claimed)
            assert len(claimed) >= min(limit, 5 - len(surely_gone))
        for earlier, later in zip(starts, starts[5:], strict=False):
            assert later - earlier >= timedelta(seconds=10)
        if len(starts) > 1_900:
            bulk(hand, 1_000)

    claim_at()


def test_a_rate_is_exact_for_many_claimers_in_real_time(hands: Hands) -> None:
    crowd = [hands() for _ in range(6)]
    crowd[0].set_queue("default", rate=20, rate_period=0.5)
    bulk(crowd[0], 500)
    end = monotonic() + 1.6

    def claim(hand: Hand) -> None:
        worker = hand.worker()
        while monotonic() < end:
            worker.complete(*worker.claim(7))

    all_at_once(crowd, claim)
    starts = [at for (at,) in crowd[0].rows("select started_at from penstock.history order by started_at")]
    assert len(starts) >= 60
    assert all(later - earlier >= timedelta(seconds=0.5) for earlier, later in zip(starts, starts[20:], strict=False))


def test_a_claimer_that_waited_for_its_turn_starts_when_it_got_it(hands: Hands) -> None:
    first, second, observer = hands(), hands(), hands()
    first.set_queue("default", rate=1, rate_period=0.2)
    bulk(first, 3)
    waiting = second.worker()
    with ThreadPoolExecutor(1) as thread:
        with first.connection.transaction():
            [job] = first.worker().claim(1)
            claim = thread.submit(waiting.claim, 1)
            wait_until_blocked(observer, 1)
            first.do(
                "select pg_sleep_until(started_at + interval '0.3 seconds') from penstock.jobs where id = %s", job.id
            )
        [later] = claim.result(timeout=30)
    apart = observer.value(
        "select max(started_at) - min(started_at) from penstock.jobs where id = any(%s)", [job.id, later.id]
    )
    assert apart >= timedelta(seconds=0.2)


def test_each_key_has_its_own_rate_within_the_queues(hand: Hand) -> None:
    hand.set_queue("default", rate=4, rate_per_key=2, rate_period=60)
    for key in ("a", "a", "a", "b", "b", "c", None):
        hand.add(limit_key=key)
    worker = hand.worker(seconds=1e6)
    hand.move_clock()
    first = [hand.job(job.id).limit_key for job in worker.claim(10)]
    assert first == ["a", "a", "b", "b"]
    hand.move_clock(seconds=59)
    assert worker.claim(10) == []
    hand.move_clock(seconds=2)
    assert [hand.job(job.id).limit_key for job in worker.claim(10)] == ["a", "c", None]


def test_starts_of_rates_that_are_over_are_swept_away(hand: Hand) -> None:
    hand.set_queue("default", rate=5, rate_period=1)
    hand.add()
    hand.worker().claim()
    assert hand.value("select count(*) from penstock.starts") == 1
    hand.move_clock(seconds=10)
    hand.run(commands.Maintain())
    assert hand.value("select count(*) from penstock.starts") == 0

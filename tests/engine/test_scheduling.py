"""Priorities, times to run at, and the order jobs are claimed in."""

from datetime import UTC, datetime, timedelta

from penstock.engine import Cursor, commands
from penstock.job import JobState
from tests.engine.conftest import Hands
from tests.engine.hand import Hand


def test_a_job_for_later_is_promoted_when_its_time_has_come(hand: Hand) -> None:
    hand.move_clock()
    assert hand.now is not None
    delayed, at_a_time = hand.add(delay=60), hand.add(run_at=hand.now + timedelta(seconds=30))
    past = hand.add(run_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert hand.states(delayed, at_a_time, past) == ["scheduled", "scheduled", "ready"]
    assert hand.run(commands.NextRunAt()) == hand.now + timedelta(seconds=30)
    hand.move_clock(seconds=30)
    assert hand.run(commands.Promote()) == 1
    assert hand.states(delayed, at_a_time) == ["scheduled", "ready"]
    hand.move_clock(seconds=30)
    assert (hand.run(commands.Maintain()) or {})["promoted"] == 1
    assert hand.run(commands.NextRunAt()) is None


def test_promoting_takes_the_longest_due_first_and_no_more_than_asked_for(hand: Hand) -> None:
    late, early = hand.add(delay=50), hand.add(delay=40)
    hand.move_clock(seconds=60)
    assert hand.run(commands.Promote(1)) == 1
    assert hand.states(late, early) == ["scheduled", "ready"]


def test_two_who_promote_at_once_do_not_wait_for_each_other(hands: Hands) -> None:
    one, two = hands(), hands()
    one.add(delay=1)
    two.do("set statement_timeout = '5s'")
    for hand in (one, two):
        hand.move_clock(seconds=2)
    with one.connection.transaction():
        assert one.run(commands.Promote()) == 1
        assert two.run(commands.Promote()) == 0


def test_only_one_maintains_at_a_time(hands: Hands) -> None:
    one, two = hands(), hands()
    with one.connection.transaction():
        assert one.run(commands.Maintain()) is not None
        assert two.run(commands.Maintain()) is None
    assert two.run(commands.Maintain()) is not None


def test_higher_priorities_come_first_then_the_order_of_enqueueing(hand: Hand) -> None:
    ids = {priority: [hand.add(priority=priority) for _ in range(2)] for priority in (5, -5, 0)}
    claimed = [job.id for job in hand.worker().claim(10)]
    assert claimed == ids[5] + ids[0] + ids[-5]


def test_a_claim_takes_kinds_or_an_owners_jobs_only(hand: Hand) -> None:
    mail, export, mine = hand.add("mail"), hand.add("export"), hand.add("export", owner="ada")
    worker = hand.worker()
    assert [job.id for job in worker.claim(10, owner="ada")] == [mine]
    assert [job.id for job in worker.claim(10, kinds=["mail", "sms"])] == [mail]
    assert [job.id for job in worker.claim(10)] == [export]


def test_two_claimers_at_once_get_different_jobs(hands: Hands) -> None:
    one, two = hands(), hands()
    ids = {one.add() for _ in range(4)}
    with one.connection.transaction():
        first = {job.id for job in one.worker().claim(2)}
        two.do("set statement_timeout = '5s'")
        second = {job.id for job in two.worker().claim(4)}
    assert first | second == ids
    assert not first & second


def test_a_cursor_misses_nothing_that_lands_behind_it(hand: Hand) -> None:
    """What comes back with an old id, or commits late, is found by a full look."""
    worker, cursor = hand.worker(), Cursor(clock=lambda: 0.0)
    ids = [hand.add(max_attempts=3) for _ in range(5)]
    first, *rest = worker.claim(5, cursor=cursor)
    worker.fail(first, retry_in=0)
    assert [job.id for job in worker.claim(5, cursor=cursor, full=True)] == [ids[0]]
    worker.complete(*rest)


def test_a_cursor_sees_a_more_urgent_job_at_once(hand: Hand) -> None:
    ticks = iter(range(1000))
    worker, cursor = hand.worker(), Cursor(clock=lambda: float(next(ticks)))
    for _ in range(3):
        hand.add(priority=0)
    worker.claim(1, cursor=cursor)
    worker.claim(1, cursor=cursor)  # it takes two looks to know what one costs
    urgent, lazy = hand.add(priority=7), hand.add(priority=-7)
    claimed = [job.id for job in worker.claim(3, cursor=cursor)]
    assert not cursor.looked_everywhere
    assert (claimed[0], claimed[-1]) == (urgent, lazy)


def test_a_job_is_enqueued_if_and_only_if_the_transaction_commits(hands: Hands) -> None:
    hand, other = hands(), hands()
    with hand.connection.transaction(force_rollback=True):
        gone = hand.add()
    with hand.connection.transaction():
        kept = hand.add()
        assert other.worker().claim() == []
    assert hand.run(commands.GetJob(gone)) is None
    assert other.worker().claim_one().id == kept
    assert hand.state(kept) is JobState.RUNNING

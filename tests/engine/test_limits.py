"""Queue-wide and per-key limits of what runs, whoever claims."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.engine import commands
from penstock.engine.postgres.drivers import Psycopg, run_script
from penstock.engine.postgres.enqueue import enqueue
from penstock.errors import InvalidInput
from penstock.job import Bulk, ClaimedJob, NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import all_at_once, wait_until_blocked
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def bulk(hand: Hand, jobs: int, **about: object) -> None:
    work = Bulk.of(NewJob(kind="work", **about), [b"{}"] * jobs)  # type: ignore[arg-type]
    run_script(Psycopg(hand.connection, "penstock"), enqueue(work), "penstock")


def keys(hand: Hand, jobs: list[ClaimedJob]) -> list[str | None]:
    return [hand.job(job.id).limit_key for job in jobs]


def test_no_more_run_than_the_queue_allows(hand: Hand) -> None:
    hand.set_queue("default", max_running=3)
    bulk(hand, 30)
    one, two = hand.worker(), hand.worker()
    jobs = one.claim(2)
    assert len(two.claim(10)) == 1
    assert one.claim(10) == two.claim(10) == []
    one.complete(jobs[0])
    assert len(two.claim(10)) == 1


def test_many_claimers_at_once_keep_to_the_limit(hands: Hands) -> None:
    crowd = [hands() for _ in range(16)]
    crowd[0].set_queue("default", max_running=5)
    bulk(crowd[0], 400)

    def work(hand: Hand) -> int:
        worker, most = hand.worker(), 0
        for _ in range(12):
            jobs = worker.claim(2)
            running: int = hand.value("select count(*) from penstock.jobs where state = 'running'")
            most = max(most, running)
            worker.complete(*jobs)
        return most

    assert max(all_at_once(crowd, work)) == 5


@pytest.mark.parametrize("end", ["complete", "fail", "give up", "snooze", "release", "stop", "die"])
def test_a_slot_is_free_again_however_its_job_ends(hand: Hand, end: str) -> None:
    hand.set_queue("default", max_running=1, max_running_per_key=1)
    hand.add(limit_key="a", priority=1)
    next_one = hand.add(limit_key="a")
    worker = hand.worker()
    job = worker.claim_one()
    assert worker.claim() == []
    match end:
        case "complete":
            worker.complete(job)
        case "fail":
            worker.fail(job, retry_in=60)
        case "give up":
            worker.fail(job, final=True)
        case "snooze":
            hand.run(saying.snooze(worker.lease, [job], [60]))
        case "release":
            hand.run(saying.release(worker.lease, [job]))
        case "stop":
            hand.run(saying.stop_cancelled(worker.lease, [job]))
        case "die":
            hand.move_clock(seconds=31)
            hand.run(commands.Reclaim())
            worker = hand.worker()
    claimed = worker.claim(10)
    assert len(claimed) == 1
    assert claimed[0].id == (job.id if end in ("release", "die") else next_one)


def test_each_key_has_its_own_limit_and_jobs_without_a_key_have_none(hand: Hand) -> None:
    hand.set_queue("default", max_running_per_key=2)
    for key in ("a", "a", "a", "b", None, None, None):
        hand.add(limit_key=key)
    assert keys(hand, hand.worker().claim(10)) == ["a", "a", "b", None, None, None]


def test_many_claimers_at_once_keep_to_the_limit_of_each_key(hands: Hands) -> None:
    crowd = [hands() for _ in range(12)]
    crowd[0].set_queue("default", max_running_per_key=2)
    for key in "abc":
        bulk(crowd[0], 100, limit_key=key)
    claimed = all_at_once(crowd, lambda hand: len(hand.worker().claim(3)))
    assert sum(claimed) == 6
    per_key = crowd[0].rows("select count(*) from penstock.jobs where state = 'running' group by limit_key")
    assert per_key == [(2,), (2,), (2,)]


def test_a_huge_backlog_of_one_key_hides_no_other(hand: Hand) -> None:
    hand.set_queue("default", max_running_per_key=1)
    bulk(hand, 3_000, limit_key="huge")
    small, none = hand.add(limit_key="small"), hand.add()
    worker = hand.worker()
    claimed = worker.claim(10)
    assert keys(hand, claimed) == ["huge", "small", None]
    assert {small, none} < {job.id for job in claimed}
    urgent = hand.add(limit_key="urgent", priority=1)
    assert worker.claim_one().id == urgent


def test_priorities_hold_within_the_limits(hand: Hand) -> None:
    hand.set_queue("default", max_running_per_key=1)
    bulk(hand, 300, limit_key="a", priority=-5)
    first = hand.add(limit_key="a", priority=-1)
    hand.add(limit_key="b", priority=-9)
    assert hand.worker().claim_one().id == first


def test_what_runs_already_counts_when_a_limit_is_set(hand: Hand) -> None:
    bulk(hand, 30)
    worker = hand.worker()
    running = worker.claim(3)
    hand.set_queue("default", max_running=4)
    assert len(worker.claim(10)) == 1
    hand.set_queue("default", max_running=2)
    worker.complete(*running[:2])
    assert worker.claim(10) == []
    hand.set_queue("default", max_running=None)
    assert len(worker.claim(10)) == 10


def test_a_limit_changed_while_a_claimer_waited_for_its_turn_holds_for_it(hands: Hands) -> None:
    first, second, operator = hands(), hands(), hands()
    operator.set_queue("default", max_running=10)
    bulk(operator, 30)
    waiting: Worker = second.worker()
    with ThreadPoolExecutor(1) as thread:
        with first.connection.transaction():
            assert len(first.worker().claim(1)) == 1
            claim = thread.submit(waiting.claim, 10)
            wait_until_blocked(operator, 1)
            operator.do("set lock_timeout = '5s'")
            operator.set_queue("default", max_running=1)
        assert claim.result(timeout=30) == []


def test_a_paused_queue_gives_nothing_until_it_is_resumed(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    hand.set_queue("default", paused=True)
    assert worker.claim() == []
    hand.set_queue("default", paused=False)
    assert len(worker.claim()) == 1


def test_claims_that_a_limited_queue_cannot_answer_are_refused(hand: Hand) -> None:
    hand.set_queue("default", max_running_per_key=1)
    hand.add(limit_key="a")
    worker = hand.worker()
    with pytest.raises(InvalidInput, match="claim from it without naming kinds"):
        worker.claim(1, kinds=["work"])
    hand.do("set default_transaction_isolation = 'repeatable read'")
    with pytest.raises(InvalidInput, match="read committed"):
        worker.claim(1)
    hand.do("reset default_transaction_isolation")
    assert len(worker.claim(1)) == 1

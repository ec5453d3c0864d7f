"""Where keys and owners have limits, those that are at theirs hold up no floor: see raise_floor(). Whatever was passed
over, a claim takes the best jobs that may run, and everything is counted once."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.job import ClaimedJob, NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.kit import saying

MOST = 2
"""So many jobs of one member may run."""
MEMBERS = 4
_READY = """
select id, coalesce(quota, ''), case when quota is null then limit_key else owner end
  from penstock.jobs
 where queue = %s and state = 'ready'
 order by priority desc, turn, id
"""
_RUNNING = """
select case when quota is null then limit_key else owner end
  from penstock.jobs
 where queue = %s and state = 'running'
"""


@dataclass(frozen=True)
class Sort:
    """A sort of queue, and how a member's job is enqueued there."""

    queue: str
    settings: dict[str, Any]

    def job(self, member: int, priority: int) -> NewJob:
        # one in so many shares no limit with anybody
        name = f"member {member}" if member else None
        if self.queue == "quota":
            return NewJob(
                kind="work", queue=self.queue, priority=priority, owner=name, quota="narrow" if name else False
            )
        return NewJob(kind="work", queue=self.queue, priority=priority, owner=name, limit_key=name)


KEYED = Sort("keyed", {"max_running_per_key": MOST})
FAIR = Sort("fair", {"max_running_per_key": MOST, "fair_by": "owner"})
QUOTA = Sort("quota", {})
each_sort = pytest.mark.parametrize("sort", [KEYED, FAIR, QUOTA], ids=lambda sort: sort.queue)


def set_up(hand: Hand, sort: Sort) -> Worker:
    hand.run(commands.SetQuota("narrow", {"running": MOST}))
    hand.set_queue(sort.queue, **sort.settings)
    return hand.worker(seconds=3600)


def best(hand: Hand, sort: Sort, limit: int) -> set[UUID]:
    """What a claim has to take, by a look at everything."""
    running = Counter(member for (member,) in hand.rows(_RUNNING, sort.queue))
    picked: set[UUID] = set()
    for id, _, member in hand.rows(_READY, sort.queue):
        if len(picked) < limit and (member is None or running[member] < MOST):
            running[member] += 1
            picked.add(id)
    return picked


def check_claim(worker: Worker, sort: Sort, limit: int) -> list[ClaimedJob]:
    expected = best(worker.hand, sort, limit)
    jobs = worker.claim(limit, sort.queue)
    assert {job.id for job in jobs} == expected
    return jobs


def check_counts(hand: Hand, sort: Sort) -> None:
    [backlog] = hand.run(commands.Backlog([sort.queue]))
    assert backlog.ready == len(hand.rows(_READY, sort.queue))
    assert backlog.running == len(hand.rows(_RUNNING, sort.queue))


def lagging(hand: Hand, sort: Sort) -> int:
    line = int(sort is QUOTA)
    return int(hand.value("select coalesce(cardinality((penstock.floor_of(%s, %s)).lagging), 0)", sort.queue, line))


def let_others_pass(worker: Worker, sort: Sort, member: int, times: int) -> None:
    """Jobs of another member come and go."""
    for _ in range(times):
        worker.hand.enqueue_many(sort.job(member, 0), 1)
        worker.hand.let_others_end()
        worker.hand.move_clock(seconds=0.2)
        [job] = worker.claim(10, sort.queue)
        worker.complete(job)


@each_sort
@pytest.mark.parametrize("seed", range(4))
def test_a_claim_takes_the_best_that_may_run_whatever_was_passed_over(hands: Hands, sort: Sort, seed: int) -> None:
    chance = random.Random(seed)
    hand, late = hands(), hands()
    worker = set_up(hand, sort)
    running: list[ClaimedJob] = []
    passed_over = 0
    for _ in range(120):
        match chance.choice(["enqueue", "enqueue", "claim", "claim", "finish", "give back", "late", "commit", "wait"]):
            case "enqueue":
                hand.enqueue_many(sort.job(chance.randrange(MEMBERS), chance.randrange(-1, 2)), chance.randrange(1, 9))
            case "claim":
                running += check_claim(worker, sort, chance.randrange(1, 9))
            case "finish" if running:
                # the last one that started runs on and on
                worker.complete(running.pop(chance.randrange(len(running)) // 2))
            case "give back" if running:
                worker.hand.run(saying.release(worker.lease, [running.pop()]))
            case "late":
                if late.connection.info.transaction_status == 0:
                    late.do("begin")
                late.enqueue(sort.job(chance.randrange(MEMBERS), chance.randrange(-1, 2)))
            case "commit":
                late.connection.rollback() if chance.random() < 0.2 else late.connection.commit()
            case _:
                hand.move_clock(seconds=0.1)
        hand.move_clock(seconds=0.03)
        check_counts(hand, sort)
        passed_over = max(passed_over, lagging(hand, sort))
    late.connection.commit()
    while jobs := check_claim(worker, sort, 5) or running[:1]:
        worker.complete(*jobs, *running)
        running = []
        hand.move_clock(seconds=0.1)
        check_counts(hand, sort)
    assert hand.value("select count(*) from penstock.jobs") == 0
    assert passed_over > 0


@each_sort
@pytest.mark.parametrize("burst", [300, 5_500])
def test_a_burst_of_one_member_is_in_nobody_s_way(hand: Hand, sort: Sort, burst: int) -> None:
    worker = set_up(hand, sort)
    hand.enqueue_many(sort.job(1, 0), burst)
    for member in (2, 3, 0, 2, 2, 3, 0):
        hand.enqueue_many(sort.job(member, 0), 1)
    assert len(check_claim(worker, sort, 5)) == 5
    assert len(check_claim(worker, sort, 100)) == 3
    assert check_claim(worker, sort, 100) == []


@each_sort
def test_a_member_at_its_limit_holds_no_floor_and_is_served_in_order_when_it_may(hand: Hand, sort: Sort) -> None:
    worker = set_up(hand, sort)
    held = [hand.enqueue(sort.job(1, 0))[0].id for _ in range(MOST + 300)]
    busy = worker.claim(10, sort.queue)
    assert [job.id for job in busy] == held[:MOST]
    let_others_pass(worker, sort, 2, times=10)
    line = int(sort is QUOTA)
    # in a fair queue the others come between its jobs
    turn = hand.value("select turn from penstock.jobs where id = %s", held[MOST if sort is FAIR else -1])
    [mark] = hand.value("select (penstock.floor_of(%s, %s)).turns", sort.queue, line)
    assert (lagging(hand, sort), mark > turn) == (1, True)
    check_counts(hand, sort)
    # maintenance finds nothing that nobody would find
    hand.run(commands.Maintain())
    assert lagging(hand, sort) == 1
    for place in range(MOST, MOST + 20):
        worker.complete(busy.pop(0))
        [job] = worker.claim(10, sort.queue)
        assert job.id == held[place]
        busy.append(job)


def test_a_queue_that_loses_its_limits_loses_no_job_that_was_passed_over(hand: Hand) -> None:
    worker = set_up(hand, KEYED)
    for settings in ({"max_running_per_key": None}, {"max_running_per_key": None, "max_running": 100}):
        hand.set_queue("keyed", max_running_per_key=MOST, max_running=None)
        hand.enqueue_many(KEYED.job(1, 0), MOST + 5)
        busy = worker.claim(10, "keyed")
        let_others_pass(worker, KEYED, 2, times=5)
        assert lagging(hand, KEYED) == 1
        hand.set_queue("keyed", **settings)
        rest = worker.claim(10, "keyed")
        assert len(rest) == 5
        worker.complete(*busy, *rest)
        hand.move_clock(seconds=0.1)
        assert worker.claim(10, "keyed") == []
        assert lagging(hand, KEYED) == 0


def test_more_members_than_are_named_hide_nobody(hand: Hand) -> None:
    """Then the floor stays where it is, as before."""
    worker = set_up(hand, KEYED)
    members = range(1, 100)
    for member in members:
        hand.enqueue_many(KEYED.job(member, 0), MOST + 1)
    busy = worker.claim(1000, "keyed")
    assert len(busy) == MOST * len(members)
    let_others_pass(worker, KEYED, 100, times=80)
    assert lagging(hand, KEYED) == 64
    check_counts(hand, KEYED)
    worker.complete(*busy)
    assert len(check_claim(worker, KEYED, 1000)) == len(members)


@pytest.mark.parametrize("sort", [KEYED, QUOTA], ids=lambda sort: sort.queue)
def test_a_long_backlog_that_moves_at_its_limit_is_passed_over(hand: Hand, sort: Sort) -> None:
    """Its first job is another in every round, and there are more of it than a claim looks at. (Not so in a fair queue,
    where the others come between its jobs.)"""
    worker = set_up(hand, sort)
    hand.enqueue_many(sort.job(1, 0), 500)
    hand.enqueue_many(sort.job(3, 0), 500)
    last = hand.value("select max(turn) from penstock.jobs")
    for _ in range(12):
        hand.enqueue_many(sort.job(2, 0), 1)
        hand.let_others_end()
        hand.move_clock(seconds=0.2)
        jobs = check_claim(worker, sort, 10)
        assert len(jobs) == 2 * MOST + 1
        worker.complete(*jobs)
        check_counts(hand, sort)
    [mark] = hand.value("select (penstock.floor_of(%s, %s)).turns", sort.queue, int(sort is QUOTA))
    assert lagging(hand, sort) == 2
    assert mark > last

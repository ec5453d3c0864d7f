"""How many of a user's jobs run at once: decided when jobs are claimed, whoever claims and wherever they wait."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.engine.postgres.enqueue import COPY_FROM
from penstock.flow import batch
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect


def allow(hand: Hand, running: int | None, name: str = "exports") -> None:
    hand.run(commands.SetQuota(name, {"running": running}))


def give(hand: Hand, owner: str, jobs: int, **about: Any) -> list[UUID]:
    about = {"quota": "exports", **about}
    return [each.id for each in hand.enqueue(*(NewJob(kind="work", owner=owner, **about) for _ in range(jobs)))]


def test_a_user_has_no_more_running_than_allowed_and_others_go_ahead(hand: Hand) -> None:
    allow(hand, 2)
    give(hand, "alice", 300)
    give(hand, "bob", 3)
    free = hand.add()
    worker = hand.worker()
    jobs = worker.claim(10)
    assert sorted(job.owner or "" for job in jobs) == ["", "alice", "alice", "bob", "bob"]
    assert free in [job.id for job in jobs]
    assert worker.claim(10) == []
    alices = [job for job in jobs if job.owner == "alice"]
    worker.complete(alices[0])
    assert [job.owner for job in worker.claim(10)] == ["alice"]
    worker.fail(alices[1], retry_in=60)
    assert [job.owner for job in worker.claim(10)] == ["alice"]


def test_a_batch_runs_one_by_one_where_one_is_allowed(hand: Hand) -> None:
    allow(hand, 1)
    flow = batch([NewJob(kind="work", owner="alice", quota="exports") for _ in range(10)])
    hand.start(flow)
    worker = hand.worker()
    for _ in range(10):
        [job] = worker.claim(10)
        worker.complete(job)
    assert worker.claim(10) == []


def test_it_spans_queues_limits_and_priorities(hand: Hand) -> None:
    allow(hand, 2)
    hand.set_queue("narrow", max_running=1)
    hand.set_queue("keyed", max_running_per_key=1)
    give(hand, "alice", 2, queue="narrow")
    give(hand, "alice", 2, queue="keyed", limit_key="k")
    hand.add(queue="keyed", limit_key="k")
    give(hand, "alice", 1, priority=-4)
    [urgent] = give(hand, "alice", 1, priority=5)
    worker = hand.worker()
    assert len(worker.claim(5, "narrow")) == 1
    assert [job.id for job in worker.claim(5)] == [urgent]
    [unlimited] = worker.claim(5, "keyed")
    assert unlimited.owner is None
    assert worker.claim(5, "narrow") == []


@pytest.mark.parametrize("jobs", [3, COPY_FROM])
def test_what_does_not_count_is_not_held_back(hand: Hand, jobs: int) -> None:
    allow(hand, 1)
    hand.run(commands.DeclareKinds([{"kind": "work", "template": {}, "unique": False, "quota": "exports"}], ["work"]))
    give(hand, "alice", jobs, quota=None)
    worker = hand.worker()
    assert len(worker.claim(5)) == 1  # by the quota of its kind
    give(hand, "alice", 3, quota=False)
    hand.add(quota="exports")  # nobody's
    assert len(worker.claim(5)) == 4


@pytest.mark.parametrize("owner", ["alice", None])
def test_so_is_a_single_job_and_it_is_handed_to_nobody(hand: Hand, owner: str | None) -> None:
    allow(hand, 1)
    hand.run(commands.DeclareKinds([{"kind": "work", "template": {}, "unique": False, "quota": "exports"}], ["work"]))
    worker = hand.worker()
    for _ in range(3):
        hand.run(commands.WaitForHand(worker.lease, ["default"], direct=True))
        job = NewJob(kind="work", owner=owner)
        hand.run(commands.EnqueuePlain(job, job.id.hex, b"{}", hand=True))
    found = hand.rows("select state::text, quota from penstock.jobs order by id")
    assert found == [("ready" if owner else "running", "exports" if owner else None)] * 3
    assert len(worker.claim(5)) == (1 if owner else 0)


def test_a_quota_that_changes_counts_from_the_next_claim_on(hand: Hand) -> None:
    allow(hand, 1)
    give(hand, "alice", 5)
    worker = hand.worker()
    assert len(worker.claim(5)) == 1
    allow(hand, 3)
    assert len(worker.claim(5)) == 2
    allow(hand, None)
    assert len(worker.claim(5)) == 2


def test_it_is_remembered_by_a_job_that_is_retried(hand: Hand) -> None:
    allow(hand, 1)
    first, *_ = give(hand, "alice", 2)
    worker = hand.worker()
    worker.fail(worker.claim_one(), final=True)
    hand.run(commands.Retry([first]))
    assert len(worker.claim(5)) == 1


@pytest.mark.parametrize("value", [True, 7, ""])
def test_a_senseless_quota_is_refused(hand: Hand, value: Any) -> None:
    with pytest.raises(Exception, match="quota: must be the name"):
        hand.rows(
            "select * from penstock.enqueue_jobs(jsonb_build_array(jsonb_build_object("
            "'kind', 'k', 'owner', 'a', 'quota', %s::text::jsonb)))",
            '""' if value == "" else str(value).lower(),
        )


def test_many_claimers_of_many_queues_never_exceed_it(hand: Hand, connect: Connect) -> None:
    allow(hand, 2)
    for queue in ("a", "b", "c"):
        for owner in ("alice", "bob"):
            give(hand, owner, 10, queue=queue)
    over: list[Any] = []
    start = threading.Barrier(6)

    def drain(queue: str) -> int:
        own = Hand(connect())
        worker = own.worker()
        start.wait(10)
        done = 0
        while own.value("select count(*) from penstock.jobs where queue = %s", queue):
            for job in worker.claim(3, queue):
                over.extend(own.rows(
                    "select owner, count(*) from penstock.jobs where state = 'running' group by 1 having count(*) > 2"
                ))  # fmt: skip
                worker.complete(job)
                done += 1
        return done

    with ThreadPoolExecutor(6) as threads:
        done = sum(threads.map(drain, ("a", "b", "c") * 2))
    assert (done, over) == (60, [])


def test_a_long_backlog_of_one_user_costs_a_claim_no_more(hand: Hand) -> None:
    allow(hand, 3)
    hand.do(
        "insert into penstock.jobs (id, created_at, run_at, state, kind, owner, quota)"
        " select penstock.uuid7(), now(), now(), 'ready', 'work', 'alice', 'exports' from generate_series(1, 20000)"
    )
    give(hand, "bob", 1)
    hand.add(kind="free")
    hand.do("analyze penstock.jobs")
    worker = hand.worker()
    assert sorted(job.owner or "" for job in worker.claim(10)) == ["", "alice", "alice", "alice", "bob"]
    before = hand.value("select pg_stat_get_xact_tuples_fetched('penstock.jobs'::regclass)")
    hand.connection.execute("begin")
    assert worker.claim(10) == []
    read = hand.value("select pg_stat_get_xact_tuples_fetched('penstock.jobs'::regclass)") - before
    hand.connection.execute("rollback")
    assert read < 1000

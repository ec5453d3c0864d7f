"""How far the floor of a queue may be raised, and what holds it: see raise_floor()."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.engine import commands
from penstock.job import NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def raise_floor(hand: Hand, queue: str = "default") -> Any:
    """After a second, so that it is worth it; the turns up to which it is settled."""
    hand.move_clock(seconds=1)
    hand.do("select penstock.raise_horizon()")
    return hand.value("select (penstock.raise_floor(%s)).settled", queue)


def last_turn(hand: Hand) -> Any:
    [(turn,)] = hand.rows("select last_value from penstock.turn_numbers")
    return turn


@pytest.mark.parametrize(
    "doing",
    [
        ["begin isolation level repeatable read", "select count(*) from penstock.jobs"],
        ["begin", "create temp table elsewhere ()"],
        ["begin", "savepoint s", "select penstock.enqueue('work')", "rollback to s", "create temp table elsewhere ()"],
    ],
    ids=["an old snapshot", "a transaction that wrote elsewhere", "one that took back what it enqueued"],
)
def test_a_floor_is_raised_beside(hands: Hands, doing: list[str]) -> None:
    hand, other = hands(), hands()
    for statement in doing:
        other.do(statement)
    turns = []
    for _ in range(3):
        hand.add()
        turns.append(last_turn(hand))
        settled = raise_floor(hand)
    assert settled == turns[-2]


@pytest.mark.parametrize("copied", [False, True], ids=["one", "many"])
def test_a_floor_waits_for_who_has_a_turn_and_has_not_committed(hands: Hands, copied: bool) -> None:
    hand, late = hands(), hands()
    raise_floor(hand)
    late.do("begin")
    if copied:
        late.enqueue_many(NewJob(kind="work"), 30)
    else:
        late.add()
    turn = last_turn(hand)
    for _ in range(3):
        hand.add()
        assert (raise_floor(hand) or 0) < turn
    late.do("commit")
    for _ in range(2):
        raise_floor(hand)
    assert raise_floor(hand) > turn
    assert len(hand.worker().claim(100)) == (33 if copied else 4)


def test_the_floors_of_all_queues_are_raised_in_one_round(hand: Hand) -> None:
    """Of those that nobody claims from, because their jobs are handed over."""
    worker, queues = hand.worker(seconds=3600), ["a", "b", "c"]
    hand.run(commands.Tend(worker.lease))
    hand.run(commands.WaitForWork(worker.lease, queues))
    turns = []
    for _ in range(3):
        for queue in queues:
            hand.add(queue=queue)
        turns.append(last_turn(hand))
        hand.move_clock(seconds=2)
        hand.run(commands.Tend(worker.lease))
    settled = hand.rows("select (penstock.floor_of(name)).settled from unnest(%s::text[]) as name", queues)
    assert settled == [(turns[-2],)] * 3


_STRICT_CLOCK = """
create or replace function penstock.clock() returns timestamptz language plpgsql as $$
begin
  if pg_current_xact_id_if_assigned() is null then
    raise exception 'the time is read before the transaction has its number';
  elsif not exists (select from pg_locks where pid = pg_backend_pid() and relation = 'penstock.jobs'::regclass) then
    raise exception 'the time is read before jobs is locked';
  end if;
  return clock_timestamp();
end
$$"""


def test_whoever_schedules_a_job_has_its_number_and_its_lock_before_it_reads_the_time(hand: Hand) -> None:
    """One that stood still in between would schedule below the floor, where promote() does not look."""
    worker = hand.worker(seconds=3600)
    for _ in range(4):
        hand.add()
    failed, snoozed, parked, slept = worker.claim(4)
    hand.do(_STRICT_CLOCK)
    hand.add(delay=60)
    hand.add(delay=60, unique_key="one")
    hand.enqueue_many(NewJob(kind="work", delay=60), 30)
    hand.run(saying.fail(worker.lease, [failed], [{"error": "again", "retry_in": 60}]))
    hand.run(saying.snooze(worker.lease, [snoozed], [60]))
    hand.run(saying.park(worker.lease, [parked], ["unknown"]))
    nap = commands.WaitingStep("nap", "sleep", 1, seconds=60)
    hand.run(commands.Suspend(worker.lease, slept.id, slept.claims, nap))
    assert hand.rows("select state::text, count(*)::int from penstock.jobs group by state") == [("scheduled", 36)]


def test_a_horizon_of_another_server_holds_nothing_up(hand: Hand) -> None:
    """As in a database that was copied: its transactions have numbers that are still to come here."""
    raise_floor(hand)
    hand.do("update penstock.horizons set horizon = '1000000000000'")
    hand.add()
    raise_floor(hand)
    assert raise_floor(hand) == last_turn(hand)


def test_what_somebody_made_ready_by_hand_below_the_floor_is_found_by_maintenance(hand: Hand) -> None:
    worker = hand.worker(seconds=3600)
    lost = hand.add(delay=3600)
    for _ in range(3):
        hand.add()
        raise_floor(hand)
        worker.finish_all()
    hand.do("update penstock.jobs set state = 'ready', turn = 1 where id = %s", lost)
    assert worker.claim(10) == []
    hand.run(commands.Maintain())
    assert [job.id for job in worker.claim(10)] == [lost]


def test_a_job_that_its_worker_gave_back_comes_first_and_those_that_failed_come_last(hand: Hand) -> None:
    worker = hand.worker()
    ids = [hand.add() for _ in range(4)]
    first, second = worker.claim(2)
    hand.run(saying.fail(worker.lease, [second], [{"error": "again", "retry_in": 0}]))
    hand.run(saying.release(worker.lease, [first]))
    assert [worker.claim_one().id for _ in range(4)] == [ids[0], ids[2], ids[3], ids[1]]


def come_and_go(hand: Hand, worker: Worker, times: int = 250) -> None:
    """Another worker waits and stops waiting, so often within a second."""
    other = hand.worker("restless", seconds=3600)
    for _ in range(times):
        hand.run(commands.WaitForWork(other.lease, ["default"]))
        hand.run(commands.StopWaiting(other.lease))
    for _ in range(4):
        hand.let_others_end()
        hand.move_clock(seconds=1)
        hand.run(commands.Tend(worker.lease))


def waiting(hand: Hand) -> list[Any]:
    """Who would be woken."""
    return [lease for (lease,) in hand.rows("select lease from penstock.waiting_now where queue = 'default'")]


def waiting_since(hand: Hand) -> int:
    return int(hand.value("select (penstock.time_floor()).waiting_since"))


def test_who_waits_long_is_woken_however_many_others_come_and_go(hand: Hand) -> None:
    leader, patient = hand.worker(seconds=3600), hand.worker("patient", seconds=3600)
    hand.run(commands.WaitForWork(patient.lease, ["default"]))
    hand.run(commands.Tend(leader.lease))
    for _ in range(2):
        before = waiting_since(hand)
        come_and_go(hand, leader)
        assert waiting(hand) == [patient.lease]
        assert waiting_since(hand) > before + 200
    hand.run(commands.StopWaiting(patient.lease, ["default"]))
    assert hand.value("select count(*) from penstock.waiting") == 0


def test_who_begins_to_wait_in_a_transaction_that_commits_late_is_woken(hands: Hands) -> None:
    hand, late = hands(), hands()
    leader, patient = hand.worker(seconds=3600), hand.worker("patient", seconds=3600)
    hand.run(commands.Tend(leader.lease))
    late.do("begin")
    late.run(commands.WaitForWork(patient.lease, ["default"]))
    number = hand.value("select last_value from penstock.waiting_numbers")
    other = hand.worker("restless", seconds=3600)
    for _ in range(4):
        hand.run(commands.WaitForWork(other.lease, ["default"]))
        hand.move_clock(seconds=1)
        hand.run(commands.Tend(leader.lease))
        assert waiting_since(hand) <= number
    late.do("commit")
    assert sorted(waiting(hand)) == sorted([patient.lease, other.lease])


@pytest.mark.needs_session("finds its session by its process")
def test_who_stops_waiting_while_its_number_is_renewed_waits_no_more(hands: Hands) -> None:
    hand, leading = hands(), hands()
    leader, patient = hand.worker(seconds=3600), hand.worker("patient", seconds=3600)
    hand.run(commands.WaitForWork(patient.lease, ["default"]))
    hand.do("select nextval('penstock.waiting_numbers') from generate_series(1, 300)")
    hand.run(commands.Tend(leader.lease))
    leading.do("begin")
    leading.run(commands.Tend(leader.lease))
    assert leading.value("select min(number) from penstock.waiting") > 300
    with ThreadPoolExecutor(1) as threads:
        stopping = threads.submit(hand.run, commands.StopWaiting(patient.lease))
        blocked = "select exists (select from pg_stat_activity where pid = %s and wait_event_type = 'Lock')"
        while not leading.value(blocked, hand.connection.info.backend_pid):
            assert not stopping.done()
        leading.do("commit")
        stopping.result(10)
    assert hand.value("select count(*) from penstock.waiting") == 0


def test_a_job_is_found_that_comes_from_another_queue_or_priority(hand: Hand) -> None:
    """Its old turn is below the floor, where nobody looks."""
    old, low = hand.add(queue="other"), hand.add(priority=-1)
    worker = hand.worker(seconds=3600)
    for _ in range(4):
        hand.add()
        worker.complete(worker.claim_one())
        raise_floor(hand)
    assert hand.run(commands.MoveJobs([old], "default")) == [old]
    assert hand.run(commands.SetPriority([low], 0)) == [low]
    assert [job.id for job in worker.claim(5)] == [old, low]

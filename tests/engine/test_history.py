"""History: partitions made ahead, one of them touched by a look-up, dropped whole when they are old."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.engine.postgres.migrate import migrate_on
from penstock.job import ClaimedJob, JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import wait_until_blocked
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def call(worker: Worker, caller: ClaimedJob) -> UUID:
    """The job that a run of this one calls, which leaves its worker with that; its id."""
    called = NewJob(kind="called")
    step = commands.WaitingStep("call called", "call", number=1, ids=[called.id])
    assert worker.hand.run(commands.Suspend(worker.lease, caller.id, caller.claims, step, [called.to_json()]))
    return called.id


def sleep(worker: Worker, job: ClaimedJob, days: int) -> None:
    step = commands.WaitingStep("sleep", "sleep", number=2, seconds=days * 86_400)
    assert worker.hand.run(commands.Suspend(worker.lease, job.id, job.claims, step))


def recalled(worker: Worker, job: ClaimedJob) -> commands.Step:
    """What the call before the sleep remembers."""
    return worker.hand.run(saying.recall_steps(worker.lease, job))[0]


def partitions(hand: Hand, schema: str = "penstock") -> list[str]:
    return [
        name
        for (name,) in hand.rows(
            "select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid "
            "where i.inhparent = (%s || '.history')::regclass order by 1",
            schema,
        )
    ]


def named(hand: Hand, days: int) -> str:
    """The partition of so many days from the connection's clock."""
    return str(
        hand.value(
            "select 'history_' || to_char(penstock.clock() at time zone 'utc' + %s, 'YYYYMMDD')", timedelta(days)
        )
    )


def home(hand: Hand, id: UUID) -> str:
    return str(
        hand.value(
            "select c.relname from penstock.history as h join pg_class as c on c.oid = h.tableoid where id = %s", id
        )
    )


def finished(hand: Hand) -> UUID:
    """A job whose id is of the connection's time, finished now."""
    id = UUID(str(hand.value("select penstock.uuid7(penstock.clock())")))
    hand.add(id=id)
    worker = hand.worker()
    worker.complete(worker.claim_one())
    return id


def test_partitions_are_made_ahead_and_only_once(hand: Hand) -> None:
    today = [named(hand, days) for days in range(4)]
    assert [*today, "history_strays"] == partitions(hand)
    assert hand.value("select penstock.add_partitions()") == 0
    hand.move_clock(days=2)
    assert (hand.run(commands.Maintain()) or {})["partitions_added"] == 2
    assert partitions(hand) == sorted({*today, *(named(hand, days) for days in range(4)), "history_strays"})


def test_a_second_schema_gets_partitions_of_its_own(hand: Hand) -> None:
    migrate_on(hand.connection, "second")
    assert partitions(hand, "second") == partitions(hand)


def test_a_finished_job_lies_in_the_partition_of_its_id(hand: Hand) -> None:
    assert home(hand, finished(hand)) == named(hand, 0)
    hand.move_clock(days=1)
    assert home(hand, finished(hand)) == named(hand, 0)


def test_a_look_up_by_id_touches_one_partition(hand: Hand) -> None:
    id = finished(hand)
    plan = hand.value("explain (format json) select * from penstock.all_jobs where id = %s", id)
    assert str(plan).count("'Relation Name': 'history_") == 1


def test_a_partition_is_dropped_when_all_of_it_is_old(hand: Hand) -> None:
    id = finished(hand)
    first = named(hand, 0)
    hand.move_clock(days=30)
    assert (hand.run(commands.Maintain()) or {})["partitions_dropped"] == 0
    assert hand.state(id) is JobState.SUCCEEDED
    hand.move_clock(days=1, seconds=1)
    dropped = (hand.run(commands.Maintain()) or {})["partitions_dropped"]
    assert dropped == 1
    assert first not in partitions(hand)
    assert hand.run(commands.GetJob(id)) is None


def test_history_is_kept_as_long_as_the_settings_say(hand: Hand) -> None:
    hand.do("update penstock.settings set history_kept = '2 days'")
    id = finished(hand)
    hand.move_clock(days=2)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(id)) is not None
    hand.move_clock(days=1, seconds=1)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(id)) is None


def test_a_late_finisher_keeps_its_partition_until_it_is_old_too(hand: Hand) -> None:
    early = finished(hand)
    late = hand.add()
    first = named(hand, 0)
    hand.move_clock(days=20)
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert home(hand, late) == first
    hand.move_clock(days=12)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(early)) is not None
    hand.move_clock(days=19)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(late)) is None


def test_strays_go_to_a_partition_of_their_own_and_are_deleted_by_age(hand: Hand) -> None:
    """A job that waited longer than history is kept has no partition any more."""
    id = hand.add(delay=100 * 86400)
    for days in (50, 51):
        hand.move_clock(days=days)
        hand.run(commands.Maintain())
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert home(hand, id) == "history_strays"
    hand.move_clock(days=29)
    hand.run(commands.Maintain())
    assert hand.state(id) is JobState.SUCCEEDED
    hand.move_clock(days=2)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(id)) is None


def test_a_range_whose_rows_went_astray_stays_with_them(hand: Hand) -> None:
    """A clock ran ahead: no partition can be attached where the strays have rows, and maintenance goes on."""
    hand.move_clock(days=10)
    id = finished(hand)
    assert home(hand, id) == "history_strays"
    assert (hand.run(commands.Maintain()) or {})["partitions_added"] == 3
    assert named(hand, 0) not in partitions(hand)
    assert hand.state(id) is JobState.SUCCEEDED


def test_a_change_of_the_partitions_length_breaks_nothing(hand: Hand) -> None:
    hand.do("update penstock.settings set partition_length = '7 days'")
    hand.run(commands.Maintain())
    finished(hand)
    hand.do("update penstock.settings set partition_length = '1 day'")
    hand.move_clock(days=5)
    hand.run(commands.Maintain())
    finished(hand)
    assert hand.value("select count(*) from penstock.history") == 2


def test_what_belonged_to_dropped_history_is_cleared(hand: Hand) -> None:
    first = hand.add()
    hand.add(after=(first,))
    worker = hand.worker(seconds=1e9)
    for _ in range(2):
        job = worker.claim_one()
        hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
        worker.complete(job)
    counts = "select (select count(*) from penstock.edges), (select count(*) from penstock.steps)"
    assert hand.rows(counts) == [(1, 2)]
    hand.move_clock(days=32)
    hand.run(commands.Maintain())
    hand.run(commands.Maintain())
    assert hand.rows(counts) == [(0, 0)]


def test_it_is_cleared_in_portions(hand: Hand) -> None:
    hand.do(
        "insert into penstock.edges select penstock.uuid7(now() - interval '9 days'), penstock.uuid7()"
        "  from generate_series(1, 20001);"
        "insert into penstock.steps (job, name, done_at) select job, 'load', now() from penstock.edges;"
        "insert into penstock.waits select job, 'load', 'paid', '', now() from penstock.edges"
    )
    hand.move_clock(days=32)
    for left in (1, 0):
        hand.run(commands.Maintain())
        for table in ("edges", "steps", "waits"):
            assert hand.value(f"select count(*) from penstock.{table}") == left, table


def test_what_an_unfinished_job_came_after_is_kept_for_it(hand: Hand) -> None:
    """It reads what came of them when it runs at last."""
    first, plain = hand.add(), hand.add()
    last = hand.add(after=(first,), delay=100 * 86_400)
    worker = hand.worker(seconds=1e9)
    for job in worker.claim(2):
        worker.complete(job, outputs=[b'"done"'])
    for days in (32, 40):  # with its partition, and among the strays
        hand.move_clock(days=days)
        hand.run(commands.Maintain())
        assert home(hand, first) == "history_strays"
    assert hand.run(commands.GetJob(plain)) is None
    hand.move_clock(days=40)
    hand.run(commands.Promote())
    job = worker.claim_one()
    assert job.id == last
    assert [(each.id, each.output) for each in hand.run(saying.outputs(worker.lease, job))] == [(first, "done")]
    worker.complete(job)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(first)) is None


@pytest.mark.parametrize("children", [10_000, 10_001])
def test_a_partition_with_more_than_is_moved_in_a_moment_stays(hand: Hand, children: int) -> None:
    flow, first = hand.add(delay=100 * 86_400), named(hand, 0)
    finished(hand)
    hand.do(
        "insert into penstock.history (id, created_at, run_at, finished_at, turn, state, queue, kind, parent, priority,"
        " attempt, max_attempts, claims, snoozes, awaited)"
        " select penstock.uuid7(now()), now(), now(), now(), 0, 'succeeded', 'default', 'work', %s, 0,"
        "        1, 5, 1, 0, false"
        "   from generate_series(1, %s)",
        flow,
        children,
    )
    hand.move_clock(days=32)
    hand.run(commands.Maintain())
    assert (first in partitions(hand)) is (children > 10_000)
    assert hand.value("select count(*) from penstock.history where parent = %s", flow) == children


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("edges", "(job, waits_for) values (penstock.uuid7(now() - interval '9 days'), penstock.uuid7())"),
        ("audit", "(at, who, action) values (now() - interval '2 years', 'ada', 'x')"),
    ],
)
def test_history_is_read_while_the_maintenance_that_drops_of_it_waits(hands: Hands, table: str, row: str) -> None:
    """For the rows that somebody holds here, which stand for any number that are to be deleted."""
    hand, holder, observer = hands(), hands(), hands()
    id = finished(hand)
    hand.do(f"insert into penstock.{table} {row}")
    hand.move_clock(days=32)
    with ThreadPoolExecutor(1) as thread:
        with holder.connection.transaction():
            holder.rows(f"select from penstock.{table} for update")
            maintenance = thread.submit(hand.run, commands.Maintain())
            wait_until_blocked(observer, 1)
            with observer.connection.transaction():
                observer.do("set local statement_timeout = '20s'")
                assert observer.state(id) is JobState.SUCCEEDED
                assert observer.value("select count(*) from penstock.history") == 1
        assert (maintenance.result(timeout=30) or {})["partitions_dropped"] == 1


def test_a_job_that_was_called_is_kept_as_long_as_its_caller_lives(hand: Hand) -> None:
    caller = hand.add("caller")
    worker = hand.worker(seconds=1e9)
    called = call(worker, worker.claim_one())
    worker.fail(worker.claim_one(), "not yet", retry_in=0)
    worker.complete(worker.claim_one(), outputs=[b'"done"'])
    sleep(worker, worker.claim_one(), days=100)
    for days in (32, 40):  # with its partition, and among the strays
        hand.move_clock(days=days)
        hand.run(commands.Maintain())
        assert home(hand, called) == "history_strays"
    hand.move_clock(days=40)
    hand.run(commands.Promote())
    job = worker.claim_one()
    step = recalled(worker, job)
    assert (step.waits, step.output["jobs"][0]["output"]) == (False, "done")
    assert [each["error"] for each in hand.job(called).errors] == ["not yet"]
    worker.complete(job)
    hand.run(commands.Maintain())
    assert hand.run(commands.GetJob(called)) is None
    assert hand.state(caller) is JobState.SUCCEEDED


def test_a_caller_of_a_job_that_was_purged_is_told_that_it_is_gone(hand: Hand) -> None:
    """And does not come back again and again to see whether it has ended."""
    hand.add("caller")
    worker = hand.worker(seconds=1e9)
    called = call(worker, worker.claim_one())
    worker.complete(worker.claim_one())
    hand.do("delete from penstock.history where id = %s", called)
    step = recalled(worker, worker.claim_one())
    assert not step.waits
    gone = {"id": str(called)} | dict.fromkeys(("kind", "state", "output", "error", "type"))
    assert step.output["jobs"] == [gone]


def test_somebody_who_reads_an_old_partition_at_length_does_not_stop_maintenance(hands: Hands) -> None:
    hand, reader = hands(), hands()
    finished(hand)
    hand.move_clock(days=32)
    waiting = hand.add(delay=0)
    with reader.connection.transaction():
        reader.rows("select count(*) from penstock.history")
        assert (hand.run(commands.Maintain()) or {})["partitions_dropped"] == 0
    assert (hand.run(commands.Maintain()) or {})["partitions_dropped"] >= 1
    assert hand.state(waiting) is JobState.READY


def test_a_job_that_finishes_while_its_old_partition_is_being_dropped_is_kept(hands: Hands) -> None:
    hand, late, observer = hands(), hands(), hands()
    finished(hand)
    id = hand.add()
    for each in (hand, late):
        each.move_clock(days=32)
    worker = late.worker()
    with ThreadPoolExecutor(1) as thread:
        with late.connection.transaction():
            assert worker.complete(worker.claim_one()) == []
            maintenance = thread.submit(hand.run, commands.Maintain())
            wait_until_blocked(observer, 1)
        assert maintenance.result(timeout=30) is not None
    assert hand.state(id) is JobState.SUCCEEDED


@pytest.mark.parametrize(("keep", "succeeded_is_kept"), [("all", True), ("failed", False)])
def test_a_queue_may_forget_its_successes(hand: Hand, keep: str, succeeded_is_kept: bool) -> None:
    hand.set_queue("default", keep=keep)
    good, bad = hand.add(), hand.add(max_attempts=1)
    worker = hand.worker()
    first, second = worker.claim(2)
    for job in (first, second):
        hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    assert worker.complete(first) == []
    worker.fail(second)
    assert (hand.run(commands.GetJob(good)) is not None) is succeeded_is_kept
    assert hand.state(bad) is JobState.FAILED
    assert (hand.value("select count(*) from penstock.steps where job = %s", good) == 1) is succeeded_is_kept
    assert hand.value("select count(*) from penstock.steps where job = %s", bad) == 1
    awaited = NewJob(kind="awaited")
    hand.enqueue(awaited, NewJob(kind="waits", after=(awaited.id,)))
    worker.finish_all()
    assert hand.state(awaited.id) is JobState.SUCCEEDED

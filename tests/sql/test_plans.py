"""Every statement of a worker's life goes by the index it names: with no other jobs, a thousand, or many (see
crowds.py), and with or without statistics about them."""

from penstock.engine import commands
from tests.kit import saying
from tests.sql.explain import Explained
from tests.sql.plan_rules import TIMES, check
from tests.sql.work import claim_new, claim_past, cursor_that_looks_back_once, enqueue, in_threes, open_lease

PICKS = "order by priority desc, turn, id limit p_limit - cardinality(v_picked) for update skip locked"
TAKES = "update penstock.jobs as j set state = 'running'"
RUNS = "and r.lease = l.id and r.started_at >= v_floor.started_since"
LOCKS = "for update of j"
FILES = "with done as ( delete from penstock.jobs where id = any("


def test_a_claim_picks_by_jobs_ready_and_takes_by_the_primary_key(explained: Explained) -> None:
    enqueue(explained, 4 * TIMES, "busy")
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert len(explained.run(commands.Claim(lease, "busy", 4))) == 4
    check(plans, {PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}})


def test_a_claim_past_a_cursor_begins_at_its_marks(explained: Explained) -> None:
    for priority in (1, 0, -1):
        enqueue(explained, 4, "busy", priority=priority)
    enqueue(explained, 4 * TIMES, "busy", priority=-1)
    lease, cursor = open_lease(explained), cursor_that_looks_back_once()
    for _ in range(2):
        claim_past(explained, cursor, lease, "busy", 5)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert len(claim_past(explained, cursor, lease, "busy", 4)) == 4
    check(plans, {PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}})
    past_marks = [plan for plan in plans if "(turn, id) >= (p_turns[i], p_ids[i])" in plan.text]
    assert past_marks
    for plan in past_marks:
        assert all("ROW(turn, id) >= " in scan.condition for scan in plan.scans), str(plan)


def test_a_claim_of_some_kinds_still_goes_by_jobs_ready(explained: Explained) -> None:
    enqueue(explained, 4 * TIMES, "busy", owner="ada")
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert explained.run(commands.Claim(lease, "busy", 4, kinds=["work", "crowd"]))
    check(plans, {PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}})


def test_a_limited_claim_counts_what_each_worker_runs(explained: Explained) -> None:
    explained.run(commands.SetQueue("mine", {"max_running": 100, "rate": 100_000}))
    enqueue(explained, 4 * TIMES)
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert len(explained.run(commands.Claim(lease, "mine", 4))) == 4
    check(plans, {RUNS: {"jobs_running", "jobs_pkey"}, PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}})


def test_a_claim_under_limits_per_key_goes_by_windows_and_never_by_whole_indexes(explained: Explained) -> None:
    explained.run(commands.SetQueue("keyed", {"max_running_per_key": 10, "rate_per_key": 100_000}))
    # one tenant fills the window at the head and the next one, so that a last look visits each key
    explained.connection.execute(
        """insert into penstock.jobs (id, created_at, run_at, state, queue, kind, limit_key)
           select penstock.uuid7(), penstock.clock(), penstock.clock(), 'ready', 'keyed', 'work', 'whale'
             from generate_series(1, 5250)"""
    )
    enqueue(explained, 4 * TIMES, "keyed", limit_key="minnow")
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            explained.run(commands.Claim(lease, "keyed", 4))
    expected = {
        "limit v_window": {"jobs_ready", "jobs_pkey"},
        RUNS: {"jobs_running", "jobs_pkey"},
        "as further": {"jobs_ready"},
        "with recursive members as": {"jobs_ready_by_member", "jobs_ready"},
        "where id = any(v_picked) and state::text = 'ready'": {"jobs_pkey"},
        TAKES: {"jobs_pkey"},
    }
    # fifty tenants, each visited and counted
    check(plans, expected, most_blocks=4_000)


def test_a_fair_claim_reads_its_turns_by_the_primary_key(explained: Explained) -> None:
    explained.run(commands.SetQueue("mine", {"fair_by": "owner"}))
    enqueue(explained, 4 * TIMES, owner="ada")
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert len(explained.run(commands.Claim(lease, "mine", 4))) == 4
    check(plans, {"select max(j.turn) from penstock.jobs": {"jobs_pkey"}, PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}})


def test_completing_deletes_by_the_primary_key_alone(explained: Explained) -> None:
    """By jobs_running it would walk the dead entries that an old snapshot keeps."""
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert explained.run(saying.complete(lease, jobs, [b"1", None, b"3"])) == []
    check(plans, {FILES: {"jobs_pkey"}})


def test_failing_goes_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    errors: list[dict[str, object]] = [
        {"error": "again"},
        {"error": "at once", "retry_in": 0},
        {"error": "enough", "final": True},
    ]
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert len(explained.run(saying.fail(lease, jobs, errors))) == 3
    check(plans, {LOCKS: {"jobs_pkey"}, "set state = fail.state": {"jobs_pkey"}, FILES: {"jobs_pkey"}})


def test_snoozing_goes_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert len(explained.run(saying.snooze(lease, jobs, [0, 1, 2]))) == 3
    check(plans, {LOCKS: {"jobs_pkey"}, "set state = snooze.state": {"jobs_pkey"}})


def test_releasing_goes_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert len(explained.run(saying.release(lease, jobs))) == 3
    check(plans, {LOCKS: {"jobs_pkey"}, "with given as": {"jobs_pkey"}})


def test_stopping_cancelled_jobs_goes_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert len(explained.run(saying.stop_cancelled(lease, jobs))) == 3
    check(plans, {LOCKS: {"jobs_pkey"}, FILES: {"jobs_pkey"}})


def test_progress_is_written_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert len(explained.run(saying.report_progress(lease, jobs, [{"percent": 5}] * 3))) == 3
    check(plans, {LOCKS: {"jobs_pkey"}, "set progress = ": {"jobs_pkey"}})


def test_a_step_is_remembered_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, TIMES)
    with explained.recording() as plans:
        for job in claimed:
            assert explained.run(saying.remember_step(lease, job, "load", b"1"))
    check(plans, {"where id = p_id and claims = p_claims": {"jobs_pkey"}})


def test_steps_are_recalled_by_the_primary_key(explained: Explained) -> None:
    lease, claimed = claim_new(explained, TIMES)
    for job in claimed:
        explained.run(saying.remember_step(lease, job, "load", b"1"))
    with explained.recording() as plans:
        for job in claimed:
            assert [step.output for step in explained.run(saying.recall_steps(lease, job))] == [1]
    check(plans, {"where id = p_id and lease = p_lease and claims = p_claims": {"jobs_pkey"}})


def test_extending_a_lease_finds_those_to_stop_by_jobs_to_stop(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3)
    explained.run(commands.Cancel([claimed[0].id]))
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert explained.run(commands.ExtendLease(lease)).cancelling == [claimed[0].id]
    check(plans, {"and j.cancel_requested": {"jobs_to_stop"}})


def test_releasing_unknown_jobs_finds_them_by_jobs_running(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES)
    with explained.recording() as plans:
        for end in range(3, 3 * TIMES + 1, 3):
            assert len(explained.run(commands.ReleaseUnknown(lease, [job.id for job in claimed[end:]]))) == 3
    check(plans, {RUNS: {"jobs_running", "jobs_pkey"}, "with given as": {"jobs_pkey"}})


def test_reclaiming_finds_the_jobs_of_lost_workers_by_jobs_running(explained: Explained) -> None:
    with explained.recording() as plans:
        for _ in range(TIMES):
            expired, _ = claim_new(explained, 3)
            gone, _ = claim_new(explained, 3)
            explained.connection.execute(
                "update penstock.heartbeats set expires_at = '2000-01-01' where lease = %s", [expired]
            )
            explained.connection.execute("delete from penstock.leases where id = %s", [gone])
            assert explained.run(commands.Reclaim(everywhere=True)) == 6
    expected = {
        "with recursive held": {"jobs_running"},
        RUNS: {"jobs_running", "jobs_pkey"},
        "where state = 'running' and lease = any(v_gone)": {"jobs_running"},
        "where id = any(v_held) and lease = any(v_leases || v_gone)": {"jobs_pkey"},
        "with given as": {"jobs_pkey"},
    }
    check(plans, expected)


def test_due_jobs_are_found_by_jobs_scheduled(explained: Explained) -> None:
    later = "select set_config('penstock_clock.now', (penstock.clock() + interval '1 second')::text, true)"
    with explained.recording() as plans:
        for _ in range(TIMES):
            enqueue(explained, 3, delay=0.5)
            assert explained.run(commands.NextRunAt()) is not None
            explained.connection.execute(later)
            assert explained.run(commands.Promote()) == 3
    check(plans, {"with due as": {"jobs_scheduled", "jobs_pkey"}, "order by run_at limit 1": {"jobs_scheduled"}})
    for plan in plans:
        if "with due as" in plan.text:
            [due] = [scan for scan in plan.scans if scan.index == "jobs_scheduled"]
            assert "run_at <= " in due.condition, f"reads what is not due yet in\n{plan}"

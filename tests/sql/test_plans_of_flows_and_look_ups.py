"""The same for enqueueing, flows, and whoever looks at jobs."""

from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.job import NewJob
from tests.kit import saying
from tests.sql.crowd_rows import id_of_finished
from tests.sql.crowds import Crowd
from tests.sql.explain import Explained
from tests.sql.plan_rules import TIMES, check
from tests.sql.work import claim_new, enqueue, enqueue_flow, open_lease

A_PAGEFUL = 20


def test_the_holder_of_a_unique_key_is_found_by_jobs_unique(explained: Explained) -> None:
    [holder] = enqueue(explained, 1, unique_key="one")
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert enqueue(explained, 1, unique_key="one") == [holder]
    check(plans, {"unique_key = p_row.unique_key": {"jobs_unique"}})


def test_what_a_job_waits_for_is_found_by_primary_keys(explained: Explained) -> None:
    lease, [done] = claim_new(explained, 1)
    explained.run(saying.complete(lease, [done]))
    [live] = enqueue(explained, 1)
    with explained.recording() as plans:
        for _ in range(TIMES):
            explained.run(commands.EnqueueJobs([NewJob(kind="next", after=(live, done.id))]))
            enqueue_flow(explained)
    expected = {
        "where id = any(v_after) order by id for no key update": {"jobs_pkey"},
        "left join penstock.history": {"history_pkey"},
        "where p.id = v_row.parent": {"jobs_pkey"},
    }
    check(plans, expected)


def test_a_flow_goes_on_without_reading_what_is_not_its_own(explained: Explained) -> None:
    for _ in range(TIMES):
        enqueue_flow(explained)
    lease = open_lease(explained)
    with explained.recording() as plans:
        while claimed := explained.run(commands.Claim(lease, "mine", 3)):
            explained.run(saying.report_progress(lease, claimed, [{"percent": 50, "message": "half"}] * len(claimed)))
            explained.run(saying.complete(lease, claimed))
    expected = {
        "select e.job, count(*)::int as freed": {"history_pkey"},
        "where j.state = 'blocked' and j.id = any(": {"history_pkey", "jobs_pkey"},
        "as reached where h.id = any(v_round)": {"history_pkey"},
        "j.state::text in ('running', 'blocked')": {"jobs_pkey"},
        "set waiting_on = waiting_on - ": {"jobs_pkey"},
        "set rollup = ": {"jobs_pkey"},
    }
    check(plans, expected)


def test_what_came_of_earlier_jobs_is_read_by_primary_keys_and_parents(explained: Explained) -> None:
    for _ in range(TIMES):
        enqueue_flow(explained)
    lease = open_lease(explained)
    earlier: dict[str, list[set[str]]] = {"first": [], "second": [], "beside": [], "end": []}
    with explained.recording() as plans:
        while claimed := explained.run(commands.Claim(lease, "mine", 3)):
            for job in claimed:
                outputs = explained.run(saying.outputs(lease, job))
                earlier[job.kind].append({each.kind for each in outputs})
            explained.run(saying.complete(lease, claimed))
    assert earlier == {
        "first": [set()] * TIMES,
        "second": [{"first"}] * TIMES,
        "beside": [set()] * TIMES,
        "end": [{"first", "second", "beside"}] * TIMES,
    }
    expected = {
        "where id = p_id and lease = p_lease and claims = p_claims": {"jobs_pkey"},
        "child.parent = p_id": {"history_pkey", "history_parent"},
    }
    check(plans, expected)


def test_a_flow_that_fails_cancels_without_reading_what_is_not_its_own(explained: Explained) -> None:
    for _ in range(TIMES):
        enqueue_flow(explained)
    lease = open_lease(explained)
    with explained.recording() as plans:
        while claimed := explained.run(commands.Claim(lease, "mine", 1)):
            explained.run(saying.fail(lease, claimed, [{"error": "no", "final": True}]))
    finds_the_rest = "cancel_tree( array(select id from penstock.jobs where parent = v_flow.id)"
    check(plans, {finds_the_rest: {"jobs_parent"}, "with recursive tree as": {"jobs_pkey", "jobs_parent"}})


def test_a_flow_that_went_on_and_failed_counts_its_own_jobs(explained: Explained) -> None:
    for _ in range(TIMES):
        enqueue_flow(explained, policy="continue")
    lease = open_lease(explained)
    with explained.recording() as plans:
        while claimed := explained.run(commands.Claim(lease, "mine", 1)):
            explained.run(saying.fail(lease, claimed, [{"error": "no", "final": True}]))
    expected = {
        "where flow.id = any(p_ids) and flow.rollup is not null": {"jobs_pkey"},
        "where parent = p_flow.id group by 1": {"jobs_parent", "history_parent"},
    }
    check(plans, expected)


def test_cancelling_finds_a_flow_s_jobs_by_jobs_parent(explained: Explained) -> None:
    flows = [enqueue_flow(explained)[0] for _ in range(TIMES)]
    with explained.recording() as plans:
        for flow in flows:
            assert explained.run(commands.Cancel([flow])) == [flow]
    expected = {
        "with recursive tree as": {"jobs_pkey", "jobs_parent"},
        "where id = any(v_branches) order by id for update": {"jobs_pkey"},
        "where j.id = any(v_branches) and j.rollup is not null": {"jobs_pkey", "jobs_parent"},
        "set cancel_requested = true where id = any(v_tree)": {"jobs_pkey"},
        "pg_notify((select cancel from penstock.channels": {"jobs_pkey"},
        "j.state in ('blocked', 'scheduled', 'ready')": {"jobs_pkey", "jobs_parent", "history_parent"},
    }
    check(plans, expected)


def test_watchers_are_told_by_primary_keys(explained: Explained) -> None:
    lease, claimed = claim_new(explained, TIMES)
    with explained.recording() as plans:
        for job in claimed:
            assert explained.run(commands.Watch(job.id))
            explained.run(saying.complete(lease, [job]))
    told = "pg_notify((select job from penstock.channels"
    check(plans, {"set watched = true": {"jobs_pkey"}, told: {"jobs_pkey", "history_pkey"}})


def test_a_job_is_looked_up_in_one_partition_of_history(explained: Explained, crowd: Crowd) -> None:
    ids: list[UUID] = []
    for number in range(1, TIMES + 1):
        found = explained.connection.execute(f"select {id_of_finished(number, crowd.finished)}".encode()).fetchone()
        assert found is not None
        ids.append(found[0])
    with explained.recording() as plans:
        for id in ids:
            assert bool(explained.run(commands.GetJob(id))) == bool(crowd.finished)
    check(plans, {"from penstock.all_jobs": {"jobs_pkey", "history_pkey"}}, most_blocks=20)
    for plan in plans:
        if "from penstock.all_jobs" not in plan.text:
            continue  # the call of get_job() itself
        partitions = {scan.partition for scan in plan.scans if scan.executed and scan.table == "history"}
        assert len(partitions) == 1, f"reads {partitions} in\n{plan}"


@pytest.mark.parametrize(
    ("filter", "indexes"),
    [
        pytest.param({}, {"jobs_pkey", "history_pkey"}, id="newest first"),
        pytest.param({"owner": "owner 10"}, {"jobs_owner", "history_owner"}, id="of an owner"),
        pytest.param({"owner": "nobody"}, {"jobs_owner", "history_owner"}, id="of an owner who has none"),
        pytest.param({"queue": "busy", "state": "failed"}, {"history_given_up"}, id="given up in a queue"),
        pytest.param({"queue": "idle", "state": "failed"}, {"history_given_up"}, id="given up in a queue without any"),
    ],
)
def test_a_page_of_jobs_is_read_in_order_by_its_index(
    explained: Explained, filter: dict[str, str], indexes: set[str]
) -> None:
    with explained.recording() as plans:
        before = None
        for _ in range(TIMES):
            page = explained.run(commands.ListJobs(filter, before, A_PAGEFUL))
            before = page[-1].id if page else before
    check(plans, {"order by id desc limit": indexes}, planned_anew=True)
    for plan in plans:
        assert plan.sorted_rows <= A_PAGEFUL, f"sorts {plan.sorted_rows} rows for a page of {A_PAGEFUL} in\n{plan}"


def test_parked_jobs_are_found_by_an_index_of_their_own(explained: Explained) -> None:
    lease, claimed = claim_new(explained, 3)
    explained.run(saying.park(lease, claimed, ["why"] * 3))
    with explained.recording() as plans:
        for _ in range(TIMES):
            explained.run(commands.OpenLease("worker", kinds=[claimed[0].kind]))
    check(plans, {"set state = 'ready', run_at = v_now": {"jobs_parked", "jobs_pkey"}})

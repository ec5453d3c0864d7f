"""The same for what users see, under their role: the policies must not keep the indexes from being used."""

import json
from typing import Any
from uuid import UUID

import pytest
from msgspec import Raw

from penstock.engine import commands
from tests.sql.crowd_rows import id_of_finished
from tests.sql.crowds import Crowd
from tests.sql.explain import Explained
from tests.sql.plan_rules import TIMES, check

A_PAGEFUL = 20
OWNER, ORG = "owner 10", "org 10"


@pytest.fixture
def explained(explained: Explained) -> Explained:
    """Acting as a user from here on; auto_explain was loaded before."""
    claims = json.dumps({"sub": OWNER, "app_metadata": {"org_id": ORG}})
    explained.connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])
    explained.connection.execute("select set_config('role', 'authenticated', true)")
    # a session's first look into the catalogue is no cost of the plan
    explained.connection.execute("select penstock.caller(), penstock.caller_orgs()")
    return explained


def test_a_job_is_looked_up_by_its_id_in_one_partition(explained: Explained, crowd: Crowd) -> None:
    ids: list[UUID] = []
    for number in range(10, 10 * TIMES + 1, 10):
        found = explained.connection.execute(f"select {id_of_finished(number, crowd.finished)}".encode()).fetchone()
        assert found is not None
        ids.append(found[0])
    with explained.recording() as plans:
        seen = [explained.run(commands.SeeMyJob(id)) for id in ids]
    assert [job.owner for job in seen if job] == ([OWNER] if crowd.finished else [])
    check(plans, {"from penstock.my_jobs": {"jobs_pkey", "history_pkey"}}, most_blocks=20)


@pytest.mark.parametrize(
    ("filter", "indexes", "blocks"),
    [
        pytest.param({"owner": OWNER}, {"jobs_owner", "history_owner"}, 150, id="their own"),
        pytest.param({"org": ORG}, {"jobs_org", "history_org"}, 150, id="of their organisation"),
        pytest.param({"org": "org 20"}, {"jobs_org", "history_org"}, 150, id="of another organisation"),
        pytest.param({"owner": OWNER, "state": "failed"}, {"history_owner"}, 1_000, id="their own that failed"),
    ],
)
def test_a_page_is_read_in_order_by_its_index(
    explained: Explained, filter: dict[str, Any], indexes: set[str], blocks: int
) -> None:
    with explained.recording() as plans:
        before = None
        for _ in range(TIMES):
            page = explained.run(commands.SeeMyJobs(filter, before, A_PAGEFUL))
            assert {job.owner for job in page} <= {OWNER}
            before = page[-1].id if page else before
    check(plans, {"order by id desc limit": indexes}, most_blocks=blocks, planned_anew=True)
    for plan in plans:
        assert plan.sorted_rows <= A_PAGEFUL, f"sorts {plan.sorted_rows} rows for a page of {A_PAGEFUL} in\n{plan}"


def test_a_start_counts_what_is_unfinished_by_its_owner(explained: Explained) -> None:
    """With the rights of whoever owns the tables, as inside `start`."""
    explained.connection.execute("reset role")
    explained.run(commands.DeclareKinds([{"kind": "export", "template": {"queue": "mine"}, "quota": "q"}], ["export"]))
    explained.run(commands.SetQuota("q", {"unfinished": 100_000, "running": 100_000, "per_day": 100_000, "storage": 1}))
    explained.connection.execute("select set_config('role', 'authenticated', true)")
    with explained.recording() as plans:
        for number in range(TIMES):
            explained.run(commands.Start("export", Raw(json.dumps({"n": number}).encode())))
    expected = {
        "where j.owner = p_owner and (j.options": {"jobs_owner"},
        "where state = 'running' and quota = p_quota": {"jobs_running_quota"},
    }
    check(plans, expected, most_blocks=2_000)

"""The same for handlers that wait: among many who wait too, beside many events and the steps of others."""

from uuid import UUID, uuid4

import msgspec
import pytest

from penstock.engine import commands
from penstock.job import ClaimedJob, JobState, Lease, NewJob
from tests.kit import saying
from tests.sql.crowds import Crowd
from tests.sql.explain import Explained, Plan
from tests.sql.plan_rules import TIMES, check
from tests.sql.work import claim_new

OTHERS = 1_000
RUN = uuid4().hex
"""What earlier runs left dead in a database that is kept is of other events."""
PAID, CAME = f"paid {RUN}", f"came {RUN}"
TABLES = ("waits", "events", "steps", "mailboxes")
_FILL = f"""
insert into penstock.waits (job, step, event, key, since)
select penstock.uuid7(), 'wait', '{PAID}', case when i % 2 = 0 then i::text else '' end, now() + i * interval '1 ms'
  from generate_series(1, {OTHERS}) as i;
insert into penstock.events (id, event, key, payload, emitted_at, expires_at)
select penstock.uuid7(), '{CAME}', case when i % 2 = 0 then i::text else '' end, '1', now(), now() + interval '1 day'
  from generate_series(1, {OTHERS}) as i;
insert into penstock.steps (job, name, kind, number, done_at, output)
select penstock.uuid7(), 'wait', 'event', 1, now(), '{{}}' from generate_series(1, {OTHERS});
insert into penstock.mailboxes (event, key, used_at)
select '{PAID}', i::text, now() from generate_series(1, {OTHERS}) as i
"""


@pytest.fixture
def beside(explained: Explained, crowd: Crowd) -> Explained:
    for statement in _FILL.split(";"):
        explained.connection.execute(statement.encode())
    if crowd.analyzed:
        for table in TABLES:
            explained.connection.execute(f"analyze penstock.{table}".encode())
    return explained


def waits(explained: Explained, lease: Lease, job: ClaimedJob, event: str, key: str) -> JobState:
    step = commands.WaitingStep("wait", "event", number=1, event=event, key=key, timeout=60)
    became = explained.run(commands.Suspend(lease, job.id, job.claims, step))
    assert became is not None
    return became.state


def emit(explained: Explained, event: str, key: str) -> UUID | None:
    return explained.run(commands.Emit(event, key, msgspec.Raw(b"1")))


def test_waits_and_events_find_each_other_by_their_indexes(beside: Explained) -> None:
    lease, claimed = claim_new(beside, TIMES)
    with beside.recording() as plans:
        for job in claimed:
            key = "" if job is claimed[-1] else f"of {job.id}"
            assert waits(beside, lease, job, PAID, key) is JobState.SCHEDULED
            if not key:  # of all who wait for it, it has waited longest
                beside.connection.execute("update penstock.waits set since = '2020-01-01' where job = %s", [job.id])
            assert emit(beside, PAID, key) == job.id
        assert emit(beside, CAME, "") is None
        lease, claimed = claim_new(beside, TIMES)
        for job in claimed:
            assert waits(beside, lease, job, CAME, "") is JobState.RUNNING
            [step] = beside.run(saying.recall_steps(lease, job))
            assert not step.waits
    check(plans, {"set run_at = v_now, waiting_on = 0": {"jobs_pkey"}})
    check_beside(plans)


def test_called_jobs_are_looked_up_by_primary_keys(beside: Explained) -> None:
    lease, claimed = claim_new(beside, TIMES)
    with beside.recording() as plans:
        for job in claimed:
            called = NewJob(kind="called", queue="called")
            step = commands.WaitingStep("call", "call", number=1, ids=[called.id])
            assert beside.run(commands.Suspend(lease, job.id, job.claims, step, [called.to_json()]))
            [child] = beside.run(commands.Claim(lease, "called", 1))
            beside.run(saying.complete(lease, [child]))
            [again] = beside.run(commands.Claim(lease, "mine", 1))
            assert [step.waits for step in beside.run(saying.recall_steps(lease, again))] == [False]
            beside.run(saying.complete(lease, [again]))
    expected = {
        "from penstock.all_jobs as a": {"jobs_pkey", "history_pkey"},
        "select count(*) from penstock.jobs where parent = p_id": {"jobs_parent"},
    }
    check(plans, expected)
    check_beside(plans)


def check_beside(plans: list[Plan]) -> None:
    for plan in plans:
        for scan in plan.scans_of(*TABLES):
            assert "Seq" not in scan.how, f"reads all of {scan.table} in\n{plan}"
            assert scan.condition or not scan.executed, f"reads all of {scan.table} in\n{plan}"
            assert scan.blocks <= 50, f"reads {scan.blocks} blocks of {scan.table} in\n{plan}"

"""Large arguments and errors are read by their primary keys, each from one partition of thirty. Where arguments are
small nothing of it is read."""

from uuid import UUID

import pytest

from penstock.engine import commands
from tests.kit import saying
from tests.sql.crowd_rows import DAYS, id_of_finished
from tests.sql.crowds import Crowd
from tests.sql.explain import Explained, Plan
from tests.sql.plan_rules import TIMES, check
from tests.sql.test_plans import FILES, PICKS, TAKES
from tests.sql.work import claim_new, enqueue, in_threes, open_lease

LARGE = b'{"text": "%s"}' % (b"x" * 2000)
LOOKS = "(select p.args::text from penstock.payloads as p where p.id = p_id)"
LISTS = "(select jsonb_agg(e.error order by e.number) from penstock.errors as e where e.id = p_id)"
BESIDE = ("payloads", "errors")
MOST_DAYS = 10
"""Over so many days a dozen of the oldest jobs of a crowd lie, where it is the thinnest."""


def partitions(plan: Plan, table: str, *, executed: bool = True) -> set[str]:
    return {scan.partition for scan in plan.scans if scan.table == table and (scan.executed or not executed)}


@pytest.fixture(autouse=True)
def there_are_thirty_partitions(explained: Explained) -> None:
    for table in BESIDE:
        counted = explained.connection.execute(
            f"select count(*) from penstock.partitions_of('penstock.{table}')".encode()
        )
        assert (counted.fetchone() or [0])[0] >= DAYS


def test_a_claim_of_many_reads_payloads_by_the_primary_key_in_their_partitions(explained: Explained) -> None:
    enqueue(explained, 12 * TIMES, "large", args=LARGE)
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            jobs = explained.run(commands.Claim(lease, "large", 12))
            assert len([job for job in jobs if job.args is not None]) == 12
    check(plans, {PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey", "payloads_pkey"}})
    for plan in plans:
        if TAKES in plan.text:
            # those of other days are not even opened
            read, opened = partitions(plan, "payloads"), partitions(plan, "payloads", executed=False)
            assert 1 <= len(read) <= len(opened) <= MOST_DAYS, f"reads {read} of {opened} in\n{plan}"


@pytest.mark.parametrize("queue", ["large", "mine"])
def test_a_claim_of_few_looks_each_payload_up_in_one_partition(explained: Explained, queue: str) -> None:
    enqueue(explained, 3 * TIMES, queue, args=LARGE)
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            jobs = explained.run(commands.Claim(lease, queue, 3))
            assert len([job for job in jobs if job.args is not None]) == 3
    check(plans, {PICKS: {"jobs_ready"}, TAKES: {"jobs_pkey"}, LOOKS: {"payloads_pkey"}}, most_blocks=1_000)
    for plan in plans:
        if LOOKS in plan.text:
            assert len(partitions(plan, "payloads", executed=False)) == 1, str(plan)


@pytest.mark.parametrize("batch", [1, 3, 12])
def test_a_claim_of_small_arguments_opens_no_payload(explained: Explained, batch: int) -> None:
    enqueue(explained, batch * TIMES)
    lease = open_lease(explained)
    with explained.recording() as plans:
        for _ in range(TIMES):
            assert len(explained.run(commands.Claim(lease, "mine", batch))) == batch
    assert plans
    for plan in plans:
        assert not [scan for scan in plan.scans if scan.table in BESIDE], str(plan)


@pytest.mark.parametrize("args", [b"{}", LARGE], ids=["small", "large"])
def test_completing_touches_nothing_that_is_beside_jobs(explained: Explained, args: bytes) -> None:
    lease, claimed = claim_new(explained, 3 * TIMES, args=args)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert explained.run(saying.complete(lease, jobs)) == []
    check(plans, {FILES: {"jobs_pkey"}})
    for plan in plans:
        assert not [scan for scan in plan.scans if scan.table in BESIDE], str(plan)
        assert "penstock.payloads" not in plan.text, str(plan)


def test_what_a_forgetful_queue_forgets_is_found_by_primary_keys(explained: Explained) -> None:
    explained.run(commands.SetQueue("mine", {"keep": "failed"}))
    lease, claimed = claim_new(explained, 3 * TIMES, args=LARGE)
    with explained.recording() as plans:
        for jobs in in_threes(claimed):
            assert explained.run(saying.complete(lease, jobs)) == []
    forgets = {f"delete from penstock.{table} where id = any(p_ids)": {f"{table}_pkey"} for table in BESIDE}
    check(plans, {FILES: {"jobs_pkey"}} | forgets)
    for plan in plans:
        for table in BESIDE:
            assert len(partitions(plan, table)) <= 1, str(plan)


def test_a_job_with_large_arguments_and_errors_is_looked_up_in_one_partition_of_each(
    explained: Explained, crowd: Crowd
) -> None:
    # every tenth has large arguments, every fiftieth has failed: none has both
    for number, looked_up in ((5, LOOKS), (50, LISTS)):
        ids: list[UUID] = []
        for each in range(TIMES):
            text = f"select {id_of_finished(number + 50 * each, crowd.finished)}"
            ids += (explained.connection.execute(text.encode()).fetchone() or [])[:1]
        with explained.recording() as plans:
            for id in ids:
                job = explained.run(commands.GetJob(id))
                assert (job is not None) == bool(crowd.finished)
                assert job is None or bool(job.args) == (looked_up == LOOKS) != bool(job.errors)
        if not crowd.finished:
            continue
        table = "payloads" if looked_up == LOOKS else "errors"
        expected = {"from penstock.all_jobs": {"jobs_pkey", "history_pkey"}, looked_up: {f"{table}_pkey"}}
        check(plans, expected, most_blocks=20)
        found = [plan for plan in plans if looked_up in plan.text]
        assert len(found) == TIMES
        for plan in found:
            assert len(partitions(plan, table, executed=False)) == 1, str(plan)

"""What tests of plans and costs do with jobs, in words."""

from collections.abc import Sequence
from itertools import chain, count
from typing import Any
from uuid import UUID

from penstock.engine import Cursor, commands
from penstock.flow import Flow, Policy
from penstock.job import ClaimedJob, Lease, NewJob
from tests.sql.explain import Explained


def enqueue(explained: Explained, jobs: int, queue: str = "mine", **fields: Any) -> list[UUID]:
    enqueued = explained.run(commands.EnqueueJobs([NewJob(kind="work", queue=queue, **fields) for _ in range(jobs)]))
    return [job.id for job in enqueued]


def enqueue_flow(explained: Explained, policy: Policy = "cancel") -> list[UUID]:
    """A flow of three jobs, one of which waits for another; the flow's own id comes first."""
    flow = Flow(then=NewJob(kind="end", queue="mine"), policy=policy)
    first = flow.add(NewJob(kind="first", queue="mine"))
    flow.add(NewJob(kind="second", queue="mine"), after=[first])
    flow.add(NewJob(kind="beside", queue="mine"))
    return [job.id for job in explained.run(commands.EnqueueJobs(flow.jobs()))]


def open_lease(explained: Explained) -> Lease:
    return explained.run(commands.OpenLease("worker"))


def claim_new(explained: Explained, jobs: int, **fields: Any) -> tuple[Lease, list[ClaimedJob]]:
    enqueue(explained, jobs, **fields)
    lease = open_lease(explained)
    claimed = explained.run(commands.Claim(lease, "mine", jobs))
    assert len(claimed) == jobs
    return lease, claimed


def claim_past(explained: Explained, cursor: Cursor, lease: Lease, queue: str, limit: int) -> list[ClaimedJob]:
    """From where the cursor stands, which goes on."""
    jobs = explained.run(cursor.claim(lease, queue, limit))
    cursor.advance(jobs, limit)
    return jobs


def cursor_that_looks_back_once() -> Cursor:
    """Its first look seems to take so long that the next full one is far away."""
    return Cursor(chain([0.0], count(1000.0)).__next__)


def in_threes(jobs: Sequence[ClaimedJob]) -> list[Sequence[ClaimedJob]]:
    return [jobs[start : start + 3] for start in range(0, len(jobs), 3)]

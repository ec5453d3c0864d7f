"""A flow of many jobs beside small ones: to create it, to complete it, to look at it, to cancel it. For each job."""

import time
from uuid import UUID

from bench.goals import Goal
from bench.sides import Side, Sides
from penstock import Flow
from penstock.job import NewJob

AT_ONCE = 100
GOALS = (
    Goal("flow_create_ratio", "creating it, for each job", at_most=2.0),
    Goal("flow_chain_ratio", "the same, each waiting for the one before", at_most=2.0),
    Goal("flow_complete_ratio", "completing its jobs, for each", at_most=2.0),
    Goal("flow_report_ratio", "a report of progress, rolled up", at_most=1.5),
    Goal("flow_cancel_ratio", "cancelling it, for each job", at_most=2.0),
    Goal("flow_page_ms", "the page of the flow, its thousand jobs, in ms", at_most=100.0, form=".1f"),
)


def flow(jobs: int, *, chained: bool = False) -> Flow:
    made = Flow()
    last = None
    for _ in range(jobs):
        last = made.add(NewJob(kind="noop", queue="flow"), after=[last] if chained and last else ())
    return made


def create(side: Side, *, chained: bool = False) -> tuple[UUID, float]:
    """Of the server alone: our own part is a pass over the jobs."""
    jobs = flow(side.size, chained=chained).jobs()
    took: list[float] = []
    with side.timed(took), side.connection.transaction():
        side.app.engine.enqueue(jobs, side.connection)
    return jobs[0].id, took[0] / side.size


def clear(side: Side) -> None:
    side.connection.execute("truncate penstock.jobs, penstock.edges, penstock.history")


def creation(side: Side, *, chained: bool = False) -> float:
    clear(side)
    return create(side, chained=chained)[1]


def completion(side: Side) -> float:
    clear(side)
    create(side)
    side.connection.execute("analyze penstock.jobs")
    took = 0.0
    while claimed := side.run("select id, claims from penstock.claim(%s, 'flow', %s)", side.lease, AT_ONCE):
        ids, claims = [row[0] for row in claimed], [row[1] for row in claimed]
        took += side.cost("select penstock.complete(%s, %s, %s)", side.lease, ids, claims)
    assert side.run("select count(*) from penstock.history where state = 'succeeded'") == [(side.size + 1,)]
    return took / side.size


def cancellation(side: Side) -> float:
    clear(side)
    root, _ = create(side)
    took = side.cost("select penstock.cancel(array[%s])", root)
    assert side.run("select count(*) from penstock.history where state = 'cancelled'") == [(side.size + 1,)]
    return took / side.size


def report(side: Side) -> float:
    clear(side)
    create(side)
    [(id, claims)] = side.run("select id, claims from penstock.claim(%s, 'flow', 1)", side.lease)
    report = f'{{"percent": 50, "message": "half of it, {time.monotonic()}"}}'
    return side.cost(
        "select penstock.report_progress(%s, array[%s], array[%s], jsonb_build_array(%s::jsonb))",
        side.lease, id, claims, report,
    )  # fmt: skip


def page(side: Side) -> float:
    clear(side)
    root, _ = create(side)
    side.connection.execute("analyze penstock.jobs")
    return side.cost("select * from penstock.flow_jobs(%s)", root)


def tree(side: Side) -> float:
    clear(side)
    root, _ = create(side)
    return side.cost("select * from penstock.job_tree(%s)", root)


async def measure(both: Sides) -> dict[str, dict[str, float]]:
    rounds = 3
    return {
        "create": both.compare(creation, rounds),
        "chain": both.compare(lambda side: creation(side, chained=True), rounds),
        "complete": both.compare(completion, rounds), "report": both.compare(report, rounds),
        "cancel": both.compare(cancellation, rounds), "page": both.compare(page, rounds),
        "tree": both.compare(tree, rounds),
    }  # fmt: skip

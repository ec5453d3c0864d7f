"""Many owners in one fair queue beside a few: enqueues, claims, and what happens by itself."""

import time
from itertools import count

from bench.goals import Goal
from bench.sides import Side, Sides
from penstock.job import NewJob

JOBS = 100_000
"""Of all owners together."""
AT_ONCE = 100
MANY = 1000
"""Jobs of one call, each of another owner where there are so many."""
GOALS = (
    Goal("owners_enqueue_ratio", "a single enqueue", at_most=1.5),
    Goal("owners_enqueue_many_ratio", f"{MANY:,} jobs of as many owners in one call", at_most=15.0),
    Goal("owners_claim_ratio", f"a fair claim of {AT_ONCE}", at_most=1.5),
    Goal("owners_tend_ratio", "what the leader does every second", at_most=2.0),
    Goal("owners_maintain_ms", "what it does every ten seconds, in ms", at_most=100.0, form=".1f"),
)
numbers = count()


def owner(side: Side) -> str:
    return f"owner {next(numbers) % side.size}"


def fill(side: Side, jobs: int) -> None:
    side.app.queues.set("default", fair_by="owner")
    side.run(
        "select count(*) from (select penstock.enqueue_plain(penstock.uuid7(), 'noop', p_owner => 'owner ' || n %% %s)"
        " from generate_series(1, %s) as n) as enqueued",
        side.size, jobs,
    )  # fmt: skip
    side.connection.execute("vacuum analyze")


def enqueue(side: Side) -> float:
    return side.cost("select penstock.enqueue_plain(penstock.uuid7(), 'noop', p_owner => %s)", owner(side))


def enqueue_many(side: Side) -> float:
    """Ours and the server's."""
    took: list[float] = []
    began = time.process_time()
    with side.timed(took), side.connection.transaction():
        jobs = [NewJob(kind="noop", owner=owner(side)) for _ in range(MANY)]
        side.app.engine.enqueue(jobs, side.connection)
    return took[0] + (time.process_time() - began) * 1000


def claim(side: Side) -> float:
    took = side.cost("select id from penstock.claim(%s, 'default', %s)", side.lease, AT_ONCE)
    side.run("with done as (delete from penstock.jobs where lease = %s returning id) select from done", side.lease)
    return took


def tend(side: Side) -> float:
    return side.cost("select * from penstock.tend(%s)", side.lease)


def maintain(side: Side) -> float:
    return side.cost("select penstock.maintain()")


async def measure(both: Sides) -> dict[str, dict[str, float]]:
    for side in (both.small, both.large):
        fill(side, JOBS)
    return {
        "enqueue": both.compare(enqueue, 20), "claim": both.compare(claim, 20),
        "enqueue_many": both.compare(enqueue_many), "tend": both.compare(tend), "maintain": both.compare(maintain),
    }  # fmt: skip

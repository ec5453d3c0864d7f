"""How many there are, or were: of jobs that were given up, and of runs by kind."""

from collections import Counter
from collections.abc import Sequence

from penstock.engine import commands as c
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.queues import known_queues
from penstock.engine.bullmq.record import CANCEL
from penstock.engine.bullmq.session import Session


async def add(session: Session, runs: Sequence[c.EndedRuns]) -> None:
    """What a worker of ours says every ten seconds or so; those of Node count for themselves."""
    sums: Counter[str] = Counter()
    for each in runs:
        sums[f"runs {each.kind}"] += each.succeeded + each.failed + each.retried + each.cancelled
        sums[f"failures {each.kind}"] += each.failed + each.retried
        sums[f"ms {each.kind}"] += round(each.ran_seconds * 1000)
    key = session.names.own("totals")
    await session.many([plain("HINCRBY", key, field, many) for field, many in sums.items()])


async def totals(session: Session) -> list[c.Total]:
    found: dict[str, str] = await session.one(plain("HGETALL", session.names.own("totals")))
    kinds = sorted(field.partition(" ")[2] for field in found if field.startswith("runs "))
    return [
        c.Total(
            kind, int(found[f"runs {kind}"]), int(found[f"ms {kind}"]) / 1000, int(found[f"failures {kind}"]), bytes=0
        )
        for kind in kinds
    ]


async def dead_jobs(session: Session, most: int) -> list[c.DeadCount]:
    """A cancelled job is among those that failed, and is none of them."""
    dead = []
    for queue in await known_queues(session):
        keys = session.keys(queue)
        ids = await session.one(plain("ZRANGE", keys["failed"], 0, most))
        cancelled = await session.many([plain("HEXISTS", keys[id], CANCEL) for id in ids])
        if failed := len(ids) - sum(map(int, cancelled)):
            dead.append(c.DeadCount(queue, failed, len(ids) <= most))
    return dead

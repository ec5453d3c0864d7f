"""Jobs taken from their worker, as when it is known to be dead."""

from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.statement import Statement, first
from penstock.job import Lease


def take_back(engine: PostgresEngine, lease: Lease) -> None:
    """Until it has none: whoever begins to watch a job has its row locked, and the next round finds it."""
    while engine.run(_holds_a_job(lease)):
        engine.run(commands.ExpireLease(lease))


async def atake_back(engine: PostgresEngine, lease: Lease) -> None:
    while await engine.arun(_holds_a_job(lease)):
        await engine.arun(commands.ExpireLease(lease))


def _holds_a_job(lease: Lease) -> Statement[bool]:
    return Statement("select exists (select from penstock.jobs where lease = %s)", [lease], first)

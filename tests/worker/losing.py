"""Jobs taken from their worker, as when it is known to be dead."""

from penstock.engine import calls
from penstock.engine.call import Call, first
from penstock.engine.http import Engine
from penstock.job import Lease


def take_back(engine: Engine, lease: Lease) -> None:
    """Until it has none: whoever begins to watch a job has its row locked, and the next round finds it."""
    while engine.run(_holds_a_job(lease)):
        engine.run(calls.expire_lease(lease))


async def atake_back(engine: Engine, lease: Lease) -> None:
    while await engine.arun(_holds_a_job(lease)):
        await engine.arun(calls.expire_lease(lease))


def _holds_a_job(lease: Lease) -> Call[bool]:
    return Call("select exists (select from penstock.jobs where lease = %s)", [lease], first)

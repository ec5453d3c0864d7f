"""Jobs taken from their worker, as when it is known to be dead."""

from penstock.engine import calls
from penstock.job import Lease
from penstock.remote import Engine


def take_back(engine: Engine, lease: Lease) -> None:
    """Again, where somebody had the row locked, who began to watch the job: then the next round finds it."""
    while not engine.run(calls.expire_lease(lease)):
        pass


async def atake_back(engine: Engine, lease: Lease) -> None:
    while not await engine.arun(calls.expire_lease(lease)):
        pass

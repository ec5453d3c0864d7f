"""Who works, where, and on what: for whoever looks for a job that does not end."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import LiveWorker
from penstock.engine.protocol import Engine


@dataclass(frozen=True, slots=True)
class Holder:
    """Which worker runs a job, and since when."""

    worker: str
    host: str | None
    pid: int | None
    since: datetime
    seconds: float
    heard_at: datetime


class Workers:
    """`app.workers`: those that hold a lease.

    ```python
    for worker in app.workers.list():
        print(worker.worker, worker.host, worker.pid, [job.kind for job in worker.running])
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self) -> Sequence[LiveWorker]:
        """Every worker with what it runs, and for how long."""
        return self._engine.run(commands.Workers())

    async def alist(self) -> Sequence[LiveWorker]:
        return await self._engine.arun(commands.Workers())

    def holder_of(self, job: UUID) -> Holder | None:
        """Which worker runs a job; None when none does."""
        return _holder(self._engine.run(commands.Workers(job)), job)

    async def aholder_of(self, job: UUID) -> Holder | None:
        return _holder(await self._engine.arun(commands.Workers(job)), job)


def _holder(found: Sequence[LiveWorker], job: UUID) -> Holder | None:
    for worker in found:
        for each in worker.running:
            if each.id == job:
                return Holder(worker.worker, worker.host, worker.pid, each.since, each.seconds, worker.heard_at)
    return None

"""Removes artifacts whose time is over, and what interrupted writes left: done by the leading worker, now and then."""

import asyncio
import logging

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.errors import DatabaseUnavailable, PenstockError
from penstock.storage import Storage
from penstock.storage.sweep import GRACE, asweep
from penstock.worker.leases import Leases

log = logging.getLogger("penstock.worker")

FIRST = 10.0
EVERY = 300.0


class Sweeper(Loop):
    """Apart from the maintenance, which has a second for its round: a store may take its time."""

    name = "sweep"

    def __init__(self, engine: Engine, leases: Leases, storage: Storage) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._leases = leases
        self._storage = storage

    async def run(self) -> None:
        pause = FIRST
        while True:
            await asyncio.sleep(pause)
            await self._leases.leading.wait()
            # the store is not even made while there is nothing to do
            if await self._engine.arun(commands.ArtifactsDue(GRACE)):
                await self._sweep()
            pause = EVERY

    async def _sweep(self) -> None:
        try:
            swept = await asweep(self._engine, self._storage.store)
        except DatabaseUnavailable:
            raise
        except PenstockError as error:
            log.warning("artifacts are not swept: %s", error)
        else:
            log.info("%d artifacts were swept", swept.artifacts)

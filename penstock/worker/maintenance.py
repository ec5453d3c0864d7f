"""What happens now and then, done by one worker for all: due jobs become ready, lost ones go back, history is kept in
order."""

import asyncio
import time

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.worker.failures import Failures
from penstock.worker.leases import Leases

EVERY = 1.0
UPKEEP_EVERY = 30.0


class _Upkeep(Loop):
    """Beside the tending, which nothing may hold up: a round of it may wait for somebody's lock, or have much to do."""

    name = "upkeep"

    def __init__(self, engine: Engine, leases: Leases) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._leases = leases

    async def run(self) -> None:
        while True:
            await self._leases.leading.wait()
            await self._engine.arun(commands.Maintain())
            await asyncio.sleep(UPKEEP_EVERY)


class Maintenance(Loop):
    name = "maintenance"

    def __init__(self, engine: Engine, leases: Leases, failures: Failures | None = None) -> None:
        """Without `failures` lost jobs are left to whoever has an application to tell."""
        super().__init__(engine.faults)
        self._engine = engine
        self._leases = leases
        self._failures = failures
        self._sooner = asyncio.Event()
        self._upkeep = _Upkeep(engine, leases)

    def start(self) -> None:
        super().start()
        self._upkeep.start()

    async def stop(self) -> None:
        await self._upkeep.stop()
        await super().stop()

    def look_now(self) -> None:
        """A job may be due before the next round."""
        self._sooner.set()

    async def run(self) -> None:
        while True:
            await self._leases.leading.wait()
            self._sooner.clear()
            tended = await self._engine.arun(commands.Tend(self._leases.lease))
            if not tended.leads:
                self._leases.leading.clear()
                continue
            if tended.lost and self._failures is not None:
                await self._failures.tell_lost(self._engine)
            if tended.operating:
                await self._operate()
                continue
            await self._pause(EVERY if tended.due_in is None else min(EVERY, max(0.0, tended.due_in) + 0.001))

    async def _operate(self) -> None:
        """Goes on with actions over many jobs, chunk by chunk, until it is time to tend again."""
        until = time.monotonic() + EVERY / 2
        while await self._engine.arun(commands.ContinueOperation()) and time.monotonic() < until:
            pass

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._sooner.wait()
        except TimeoutError:
            pass

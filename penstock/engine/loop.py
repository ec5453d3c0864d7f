"""The life of a loop: started once, runs for ever, is stopped once. A fault of the database only makes it pause."""

import asyncio
import logging

from penstock.engine.faults import Faults
from penstock.errors import PenstockError

log = logging.getLogger("penstock.worker")

_FIRST_PAUSE = 0.1
_LAST_PAUSE = 5.0
_LAST_WHILE_AWAY = 1.0
"""While the engine is away, as often as a pool tries to connect: with five seconds, streams stood still for 5.2 after
the promotion of a leader that served everybody else."""
_WELL_AGAIN = 10.0
_CANCEL_AGAIN = 1.0


class Loop:
    """`run` is what it does, for ever. After a fault of its engine it is called again, with a pause that doubles."""

    name = "loop"

    def __init__(self, faults: Faults | None = None) -> None:
        self._faults = faults or Faults()
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        self._task = asyncio.create_task(self._run_for_ever(), name=f"penstock {self.name}")

    async def stop(self) -> None:
        task, self._task = self._task, None
        while task is not None and not task.done():
            # again and again: before Python 3.12 asyncio.wait_for, which psycopg waits with, may swallow a cancellation
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_AGAIN)

    async def _run_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        while True:
            began = loop.time()
            longest = _LAST_PAUSE
            try:
                await self.run()
                return
            except self._faults.passing as error:
                away = self._faults.is_lost(error)
                longest = _LAST_WHILE_AWAY if away else _LAST_PAUSE
                pause = min(pause, longest)
                # that the database, or the API, is away is said once for all loops, where it is noticed
                level = logging.DEBUG if away else logging.WARNING
                log.log(level, "%s: %s; trying again in %.1f s", self.name, " ".join(str(error).split()), pause)
            except PenstockError as error:
                # it says what to do
                log.error("%s: %s; trying again in %.1f s", self.name, error, pause)
            except Exception:
                # a fault of our own must not end a worker that others rely on
                log.exception("%s: unexpected; trying again in %.1f s", self.name, pause)
            if loop.time() - began > _WELL_AGAIN:
                pause = _FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

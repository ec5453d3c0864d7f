"""How many programs run beside each other."""

import asyncio
import os
from weakref import WeakKeyDictionary


class Slots:
    """So many at a time, in each event loop: as many as there are cores, unless told. More would take their memory and
    be no sooner.

        slots = Slots()
        async with slots:
            await call(program, "unpack", limits, data=data)
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or os.cpu_count() or 1
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        await self._turns.setdefault(loop, asyncio.Semaphore(self.count)).acquire()

    async def __aexit__(self, *_: object) -> None:
        self._turns[asyncio.get_running_loop()].release()

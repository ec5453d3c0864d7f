"""Room for programs: how many run beside each other, and a folder for work of which nothing is left in the end."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakKeyDictionary


def usable_cores() -> int:
    """Those that this process may run on: a container, or taskset, may leave it fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Slots:
    """Lets so many run at a time, in each event loop: by default as many as this process has cores. More would take
    their memory and be no sooner.

    ```python
    from penstock.sandbox import Slots

    slots = Slots(4)
    async with slots:
        ...  # answer = await call(program, "unpack", limits, data=data)
    ```
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or usable_cores()
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        await self._turns.setdefault(loop, asyncio.Semaphore(self.count)).acquire()

    async def __aexit__(self, *_: object) -> None:
        self._turns[asyncio.get_running_loop()].release()


@contextmanager
def work_folder(name: str, *, abandoned: float = 3600) -> Iterator[Path]:
    """A folder that is gone when the block ends, however that comes about.

    A process that is killed leaves its own: whoever makes one of the same `name` on this machine removes those that
    nothing was added to for `abandoned` seconds, which is longer than any work takes.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{name}-*"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - abandoned:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)

"""Puts 64 MB into the store at an address and reads them back; prints by how much memory grew meanwhile, each way."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from penstock.storage import store_at

MEGABYTES = 64


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Peak:
    """The most memory that was in use, looked at all the while."""

    def __enter__(self) -> "Peak":
        self.before = self.most = resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.005):
            self.most = max(self.most, resident())

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def growth(self) -> int:
        return self.most - self.before


async def main(address: str) -> None:
    store = store_at(address)
    await store.aput("small", b"x", content_type="text/plain", filename="small")

    async def source() -> AsyncIterator[bytes]:
        for number in range(MEGABYTES * 4):
            yield bytes([number % 256]) * (256 * 1024)

    with Peak() as writing:
        await store.aput("large", source(), content_type="text/plain", filename="large")
    size = 0
    with Peak() as reading:
        async for chunk in (await store.aopen("large")).chunks:
            size += len(chunk)
    assert size == MEGABYTES * 1024 * 1024
    print(writing.growth, reading.growth)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

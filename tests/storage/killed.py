"""A program that dies by SIGKILL at a given point of storing or removing a file.

python -m tests.storage.killed DATABASE_URL ADDRESS POINT
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

from penstock import Context, Penstock
from penstock.storage import Found, Opened, Store, Written, store_at

POINTS_OF_WRITING = ["before the file", "in the midst of the file", "after the file", "after the row"]
POINTS_OF_REMOVING = ["before the deletion", "after the deletion"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A store that takes the process with it."""

    def __init__(self, inner: Store, point: str) -> None:
        self._inner = inner
        self._point = point

    async def put(self, path: str, data: bytes | AsyncIterator[bytes], **options: Any) -> Written:
        if self._point == "before the file":
            die()
        if self._point == "in the midst of the file":
            data = self._half()
        written = await self._inner.put(path, data, **options)
        if self._point == "after the file":
            die()
        return written

    async def _half(self) -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"h" * 1024 * 1024
        die()

    async def open(self, path: str, start: int = 0, end: int | None = None) -> Opened:
        return await self._inner.open(path, start, end)

    async def delete(self, path: str) -> None:
        if self._point == "before the deletion":
            die()
        await self._inner.delete(path)
        if self._point == "after the deletion":
            die()

    def list(self, prefix: str = "") -> AsyncIterator[Found]:
        return self._inner.list(prefix)

    async def sign(self, path: str, seconds: int) -> str | None:
        return await self._inner.sign(path, seconds)

    async def tidy(self, grace: float) -> int:
        return await self._inner.tidy(grace)

    def blocking(self) -> Store:
        return Deadly(self._inner.blocking(), self._point)


async def main(url: str, address: str, point: str) -> None:
    app = Penstock(url, artifacts=Deadly(store_at(address), point))

    @app.job
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("a.txt", b"of a doomed process")
        if point == "after the row":
            die()

    if point in POINTS_OF_REMOVING:
        [artifact] = await app.artifacts.alist()
        await app.artifacts.adelete(artifact.id)
    else:
        await app.atick()
    sys.exit("it was to die")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

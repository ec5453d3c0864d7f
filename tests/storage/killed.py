"""A program that dies by SIGKILL at a given point of storing or removing a file.

python -m tests.storage.killed DATABASE_URL ADDRESS POINT
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any, cast

from penstock import Context, Penstock
from penstock.storage import Store, Written, store_at

POINTS_OF_WRITING = ["before the file", "in the midst of the file", "after the file", "after the row"]
POINTS_OF_REMOVING = ["before the deletion", "after the deletion"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A store that takes the process with it."""

    def __init__(self, inner: Store, point: str) -> None:
        self._inner = inner
        self._point = point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def aput(self, path: str, data: bytes | AsyncIterator[bytes], **options: Any) -> Written:
        if self._point == "before the file":
            die()
        if self._point == "in the midst of the file":
            data = self._half()
        written = await self._inner.aput(path, data, **options)
        if self._point == "after the file":
            die()
        return written

    async def _half(self) -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"h" * 1024 * 1024
        die()

    async def adelete(self, path: str) -> None:
        if self._point == "before the deletion":
            die()
        await self._inner.adelete(path)
        if self._point == "after the deletion":
            die()


async def main(url: str, address: str, point: str) -> None:
    app = Penstock(url, artifacts=cast(Store, Deadly(store_at(address), point)))

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

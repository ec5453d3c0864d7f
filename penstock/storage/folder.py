"""A folder of files. obstore reads, lists and deletes; writing is done here, for its modes and its leftovers.

A file is written under `.writing` and then moved into place, so it appears whole; a killed writer leaves a file there
that `tidy` finds. obstore would leave it beside the real one, under a name that it hides from listings.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar
from uuid import uuid4

from penstock.errors import ArtifactExists
from penstock.extras import needs
from penstock.storage.protocol import Found, Written
from penstock.storage.s3 import Digest, Objects

with needs("storage", "a store of artifacts"):
    from obstore.store import LocalStore

P = ParamSpec("P")
R = TypeVar("R")

WRITING = ".writing"
"""No owner's folder begins with a dot."""


class Folder(Objects):
    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        _make(self._folder / WRITING)
        super().__init__(LocalStore(self._folder, automatic_cleanup=True))

    def __repr__(self) -> str:
        return f"Folder({str(self._folder)!r})"

    def put(
        self, path: str, data: bytes | Iterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written:
        del content_type, filename  # the database has them, and the server that serves the file
        digest = Digest()
        target = self._folder / path
        unfinished = self._folder / WRITING / uuid4().hex
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                if isinstance(data, bytes):
                    _here(_write, file, data, digest)
                else:
                    for chunk in data:
                        _here(_write, file, chunk, digest)
                _here(os.fsync, file)
            finally:
                os.close(file)
            _here(_move, unfinished, target, create)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        return digest.written()

    async def aput(
        self, path: str, data: bytes | AsyncIterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written:
        del content_type, filename  # the database has them, and the server that serves the file
        digest = Digest()
        target = self._folder / path
        unfinished = self._folder / WRITING / uuid4().hex
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                if isinstance(data, bytes):
                    await _aside(_write, file, data, digest)
                else:
                    async for chunk in data:
                        await _aside(_write, file, chunk, digest)
                await _aside(os.fsync, file)
            finally:
                os.close(file)
            await _aside(_move, unfinished, target, create)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        return digest.written()

    def list(self, prefix: str = "") -> Iterator[Found]:
        for found in super().list(prefix):
            if not found.path.startswith(f"{WRITING}/"):
                yield found

    async def alist(self, prefix: str = "") -> AsyncIterator[Found]:
        async for found in super().alist(prefix):
            if not found.path.startswith(f"{WRITING}/"):
                yield found

    def sign(self, path: str, seconds: int) -> str | None:
        del path, seconds
        return None

    async def asign(self, path: str, seconds: int) -> str | None:
        del path, seconds
        return None

    def tidy(self, grace: float) -> int:
        return _here(_remove_older, self._folder / WRITING, time.time() - grace)

    async def atidy(self, grace: float) -> int:
        return await _aside(_remove_older, self._folder / WRITING, time.time() - grace)


async def _aside(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """In a thread. Cancelled, it waits for the thread all the same: the file must not be closed under it, because its
    number is soon that of another file."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        work.exception()
        raise cancelled
    return work.result()


# by hand: whoever calls is in a thread already
def _here(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


def _make(folder: Path) -> None:
    """For its owner only, as are those above it that are not there."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make(folder.parent)
    # there by now, or gone again: whoever uses it finds out. `exist_ok` takes a folder that went in between for a file
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def _write(file: int, data: bytes, digest: Digest) -> None:
    digest.add(data)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _move(unfinished: Path, target: Path, create: bool) -> None:
    for chance in reversed(range(50)):
        try:
            _make(target.parent)
            if create:
                os.link(unfinished, target)
                unfinished.unlink()
            else:
                unfinished.replace(target)
            break
        except (FileExistsError, NotADirectoryError):
            raise ArtifactExists(f"there is a file {target.name} already") from None
        except FileNotFoundError:
            # whoever deleted the last file of the folder has removed the folder meanwhile
            if not chance or not unfinished.exists():
                raise
    try:
        folder = os.open(target.parent, os.O_RDONLY)
    except FileNotFoundError:
        # and so was the file that it was for
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove_older(folder: Path, moment: float) -> int:
    removed = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < moment:
                file.unlink()
                removed += 1
    return removed

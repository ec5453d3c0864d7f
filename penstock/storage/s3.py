"""Any store that obstore knows, with its async calls or, for code without an event loop, its blocking ones."""

import atexit
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from penstock.errors import ArtifactExists, StoreFault
from penstock.extras import needs
from penstock.now import run_now
from penstock.storage.protocol import Found, Opened, Store, Written

with needs("storage", "a store of artifacts"):
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError
    from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Inner

PART = 8 * 1024 * 1024
"""Bytes of a part of an upload; S3 takes 5 MB at least, and 10,000 parts. A smaller file is sent as one."""
PARTS_AT_ONCE = 3
CHUNK = 512 * 1024
LONGEST_LINK = 7 * 24 * 3600
"""What S3 allows."""


_THREADS = Path("/proc/self/task")


def _let_threads_come_to_rest() -> None:
    """When the program ends. obstore's threads hand over a result a moment before they let go of its Python objects,
    and one that asks for the interpreter's lock when there is no interpreter any more aborts the process: 21 of 60
    short programs on a busy machine ended so."""
    quiet, deadline = 0, time.monotonic() + 1
    while quiet < 3 and time.monotonic() < deadline:
        time.sleep(0.002)  # without the lock
        quiet = quiet + 1 if _threads_that_run() <= 1 else 0


def _threads_that_run() -> int:
    """This one among them; where that cannot be seen, none."""
    running = 0
    for thread in _THREADS.glob("*/stat"):
        try:
            running += thread.read_text().rpartition(")")[2].split()[0] == "R"
        except OSError:  # it has ended
            continue
    return running


atexit.register(_let_threads_come_to_rest)


def objects_in(bucket: str, **options: Any) -> "Objects":
    """A bucket of S3, or of what speaks like it."""
    return Objects(S3Store(bucket, **options))


class Objects:
    """S3 and the like."""

    def __init__(self, inner: "Inner", *, blocks: bool = False) -> None:
        self._inner = inner
        self._blocks = blocks

    def __repr__(self) -> str:
        # obstore's has no credentials in it
        return f"{type(self).__name__}({self._inner!r})"

    def blocking(self) -> Store:
        return type(self)(self._inner, blocks=True)

    async def put(
        self, path: str, data: bytes | AsyncIterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written:
        digest = Digest()
        attributes = {
            "Content-Type": content_type,
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename.rpartition('/')[2], safe='')}",
        }
        if isinstance(data, bytes):
            head, rest = data, None
        else:
            head, rest = await _read_part(data)
        if rest is None:
            digest.add(head)
            mode = "create" if create else "overwrite"
            await self._call("put", path, head, attributes=attributes, mode=mode, use_multipart=False)
        else:
            if create and await self._exists(path):
                # no store makes a condition of an upload in parts; the row that was written first is the guard
                raise ArtifactExists(f"there is a file {path} already")
            stream = _parts(head, rest, digest)
            await self._call(
                "put", path, run_through(stream) if self._blocks else stream,
                attributes=attributes, use_multipart=True, chunk_size=PART, max_concurrency=PARTS_AT_ONCE,
            )  # fmt: skip
        return digest.written()

    async def _exists(self, path: str) -> bool:
        try:
            await self._call("head", path)
        except FileNotFoundError:
            return False
        return True

    async def open(self, path: str, start: int = 0, end: int | None = None) -> Opened:
        wanted: Any = {"range": {"offset": start}} if end is None else {"range": (start, end)}
        if start == 0 and end is None:
            wanted = None
        result = await self._call("get", path, options=wanted)
        return Opened(result.meta["size"], self._chunks(result))

    async def _chunks(self, result: Any) -> AsyncIterator[bytes]:
        stream = result.stream(min_chunk_size=CHUNK)
        if self._blocks:
            for chunk in stream:
                yield bytes(chunk)
        else:
            async for chunk in stream:
                yield bytes(chunk)

    async def delete(self, path: str) -> None:
        try:
            await self._call("delete", path)
        except FileNotFoundError:
            return

    async def list(self, prefix: str = "") -> AsyncIterator[Found]:
        pages = obstore.list(self._inner, prefix or None, chunk_size=500)
        if self._blocks:
            for page in pages:
                for meta in page:
                    yield _found(meta)
        else:
            async for page in pages:
                for meta in page:
                    yield _found(meta)

    async def sign(self, path: str, seconds: int) -> str | None:
        url: str = await self._call("sign", "GET", path, timedelta(seconds=min(max(1, seconds), LONGEST_LINK)))
        return url

    async def tidy(self, grace: float) -> int:
        del grace  # the parts of interrupted uploads are hidden from us: a lifecycle rule of the bucket removes them
        return 0

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        try:
            if self._blocks:
                return getattr(obstore, name)(self._inner, *args, **options)
            return await getattr(obstore, f"{name}_async")(self._inner, *args, **options)
        except AlreadyExistsError:
            raise ArtifactExists(f"there is a file {args[0]} already") from None
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {args[0]} in the store") from None
        except BaseError as error:
            # obstore's texts go on for pages; the first line says it
            raise StoreFault(f"the store failed to {name} a file: {str(error).splitlines()[0][:300]}") from None


class Digest:
    """Counts and hashes bytes as they pass."""

    def __init__(self) -> None:
        self._size = 0
        self._hash = hashlib.sha256()

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._hash.update(chunk)

    def written(self) -> Written:
        return Written(self._size, self._hash.hexdigest())


async def _read_part(chunks: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes] | None]:
    """The first part, and the chunks after it if there are any."""
    head: list[bytes] = []
    size = 0
    async for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > PART:
            return b"".join(head), chunks
    return b"".join(head), None


async def _parts(head: bytes, rest: AsyncIterator[bytes], digest: Digest) -> AsyncIterator[bytes]:
    digest.add(head)
    yield head
    async for chunk in rest:
        digest.add(chunk)
        yield chunk


def run_through(chunks: AsyncIterator[bytes]) -> Iterator[bytes]:
    """The chunks of an iterator that never waits, for code without an event loop."""
    while True:
        try:
            yield run_now(anext(chunks))
        except StopAsyncIteration:
            return


def _found(meta: Any) -> Found:
    return Found(meta["path"], meta["size"], meta["last_modified"])

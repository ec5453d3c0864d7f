"""Any store that obstore knows."""

import atexit
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from penstock.errors import ArtifactExists, StoreFault
from penstock.extras import needs
from penstock.storage.protocol import Found, Opened, Written

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

    def __init__(self, inner: "Inner") -> None:
        self._inner = inner

    def __repr__(self) -> str:
        # obstore's has no credentials in it
        return f"{type(self).__name__}({self._inner!r})"

    def put(
        self, path: str, data: bytes | Iterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written:
        digest = Digest()
        attributes = {
            "Content-Type": content_type,
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename.rpartition('/')[2], safe='')}",
        }
        if isinstance(data, bytes):
            head, rest = data, None
        else:
            head, rest = _read_part(data)
        if rest is None:
            digest.add(head)
            mode = "create" if create else "overwrite"
            self._call("put", path, head, attributes=attributes, mode=mode, use_multipart=False)
        else:
            if create and self._exists(path):
                # no store makes a condition of an upload in parts; the row that was written first is the guard
                raise ArtifactExists(f"there is a file {path} already")
            self._call(
                "put", path, _parts(head, rest, digest),
                attributes=attributes, use_multipart=True, chunk_size=PART, max_concurrency=PARTS_AT_ONCE,
            )  # fmt: skip
        return digest.written()

    async def aput(
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
            head, rest = await _aread_part(data)
        if rest is None:
            digest.add(head)
            mode = "create" if create else "overwrite"
            await self._acall("put", path, head, attributes=attributes, mode=mode, use_multipart=False)
        else:
            if create and await self._aexists(path):
                # no store makes a condition of an upload in parts; the row that was written first is the guard
                raise ArtifactExists(f"there is a file {path} already")
            await self._acall(
                "put", path, _aparts(head, rest, digest),
                attributes=attributes, use_multipart=True, chunk_size=PART, max_concurrency=PARTS_AT_ONCE,
            )  # fmt: skip
        return digest.written()

    def _exists(self, path: str) -> bool:
        try:
            self._call("head", path)
        except FileNotFoundError:
            return False
        return True

    async def _aexists(self, path: str) -> bool:
        try:
            await self._acall("head", path)
        except FileNotFoundError:
            return False
        return True

    def open(self, path: str, start: int = 0, end: int | None = None) -> Opened[Iterator[bytes]]:
        wanted: Any = {"range": {"offset": start}} if end is None else {"range": (start, end)}
        if start == 0 and end is None:
            wanted = None
        result = self._call("get", path, options=wanted)
        return Opened(result.meta["size"], _chunks(result, path))

    async def aopen(self, path: str, start: int = 0, end: int | None = None) -> Opened[AsyncIterator[bytes]]:
        wanted: Any = {"range": {"offset": start}} if end is None else {"range": (start, end)}
        if start == 0 and end is None:
            wanted = None
        result = await self._acall("get", path, options=wanted)
        return Opened(result.meta["size"], _achunks(result, path))

    def delete(self, path: str) -> None:
        try:
            self._call("delete", path)
        except FileNotFoundError:
            return

    async def adelete(self, path: str) -> None:
        try:
            await self._acall("delete", path)
        except FileNotFoundError:
            return

    def list(self, prefix: str = "") -> Iterator[Found]:
        for page in obstore.list(self._inner, prefix or None, chunk_size=500):
            for meta in page:
                yield Found(meta["path"], meta["size"], meta["last_modified"])

    async def alist(self, prefix: str = "") -> AsyncIterator[Found]:
        async for page in obstore.list(self._inner, prefix or None, chunk_size=500):
            for meta in page:
                yield Found(meta["path"], meta["size"], meta["last_modified"])

    def sign(self, path: str, seconds: int) -> str | None:
        url: str = self._call("sign", "GET", path, timedelta(seconds=min(max(1, seconds), LONGEST_LINK)))
        return url

    async def asign(self, path: str, seconds: int) -> str | None:
        url: str = await self._acall("sign", "GET", path, timedelta(seconds=min(max(1, seconds), LONGEST_LINK)))
        return url

    def tidy(self, grace: float) -> int:
        del grace  # the parts of interrupted uploads are hidden from us: a lifecycle rule of the bucket removes them
        return 0

    async def atidy(self, grace: float) -> int:
        del grace  # the parts of interrupted uploads are hidden from us: a lifecycle rule of the bucket removes them
        return 0

    def _call(self, name: str, *args: Any, **options: Any) -> Any:
        with _as_ours(name, args[0]):
            return getattr(obstore, f"{name}")(self._inner, *args, **options)

    async def _acall(self, name: str, *args: Any, **options: Any) -> Any:
        with _as_ours(name, args[0]):
            return await getattr(obstore, f"{name}_async")(self._inner, *args, **options)


@contextmanager
def _as_ours(name: str, path: str) -> Iterator[None]:
    """obstore's errors as those of a store."""
    try:
        yield
    except AlreadyExistsError:
        raise ArtifactExists(f"there is a file {path} already") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path} in the store") from None
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


def _chunks(result: Any, path: str) -> Iterator[bytes]:
    with _as_ours("read", path):
        for chunk in result.stream(min_chunk_size=CHUNK):
            yield bytes(chunk)


async def _achunks(result: Any, path: str) -> AsyncIterator[bytes]:
    with _as_ours("read", path):
        async for chunk in result.stream(min_chunk_size=CHUNK):
            yield bytes(chunk)


def _read_part(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes] | None]:
    """The first part, and the chunks after it if there are any."""
    head: list[bytes] = []
    size = 0
    for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > PART:
            return b"".join(head), chunks
    return b"".join(head), None


async def _aread_part(chunks: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes] | None]:
    head: list[bytes] = []
    size = 0
    async for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > PART:
            return b"".join(head), chunks
    return b"".join(head), None


def _parts(head: bytes, rest: Iterator[bytes], digest: Digest) -> Iterator[bytes]:
    digest.add(head)
    yield head
    for chunk in rest:
        digest.add(chunk)
        yield chunk


async def _aparts(head: bytes, rest: AsyncIterator[bytes], digest: Digest) -> AsyncIterator[bytes]:
    digest.add(head)
    yield head
    async for chunk in rest:
        digest.add(chunk)
        yield chunk

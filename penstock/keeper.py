"""What may be given as a file's contents, as the chunks that a store takes, and who takes the files of running jobs."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypedDict, TypeGuard, Unpack

from penstock.artifact import Artifact
from penstock.errors import InvalidInput
from penstock.job import ClaimedJob, Lease

Source = bytes | bytearray | memoryview | Path | BinaryIO | Iterable[bytes] | AsyncIterable[bytes]

CHUNK = 1024 * 1024


# by hand: what blocks is read in threads for event loops
def chunks_of(data: Source) -> bytes | Iterator[bytes]:
    """Bytes as they are, anything else a chunk at a time."""
    match data:
        case bytes():
            return data
        case bytearray() | memoryview():
            return bytes(data)
        case str():
            raise InvalidInput("data", "is text; encode it, or give a Path to name a file")
        case Path():
            return _of_path(data)
    if _reads_async(data) or _is_async(data):
        raise InvalidInput("data", "is an async iterator, which only an async handler can give")
    if hasattr(data, "read"):
        return _of_file(data)
    if isinstance(data, Iterable):
        return _of_iterator(iter(data))
    raise InvalidInput(
        "data", f"must be bytes, a Path, a binary file or an iterator of bytes, not {type(data).__name__}"
    )


def achunks_of(data: Source) -> bytes | AsyncIterator[bytes]:
    if isinstance(data, Path):
        return _opened(data)
    if _reads_async(data):
        return _of_async_file(data)
    if _is_async(data):
        return _checked(data)
    chunks = chunks_of(data)
    return chunks if isinstance(chunks, bytes) else _in_threads(chunks)


def _reads_async(data: object) -> bool:
    return inspect.iscoroutinefunction(getattr(data, "read", None))


def _is_async(data: object) -> TypeGuard[AsyncIterable[bytes]]:
    return isinstance(data, AsyncIterable) and not hasattr(data, "read")


def _of_path(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _of_file(file)


def _of_file(file: Any) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield _bytes(chunk)


def _of_iterator(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if data := _bytes(chunk):
            yield data


async def _opened(path: Path) -> AsyncIterator[bytes]:
    # not opened in a thread: cancelled meanwhile, nobody would have it to close
    with path.open("rb") as file:
        async for chunk in _in_threads(_of_file(file)):
            yield chunk


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


async def _of_async_file(file: Any) -> AsyncIterator[bytes]:
    while chunk := await file.read(CHUNK):
        yield _bytes(chunk)


async def _checked(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if data := _bytes(chunk):
            yield data


def _bytes(chunk: object) -> bytes:
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, bytearray | memoryview):
        return bytes(chunk)
    raise InvalidInput("data", f"must give bytes, not {type(chunk).__name__}; open a file in binary mode")


class PutChoices(TypedDict, total=False):
    """What may be said about a file."""

    type: str | None
    content_type: str | None
    duration: float | None
    metadata: Mapping[str, Any] | None
    expires_in: float | None
    overwrite: bool
    path: str | None


class Keeper(Protocol):
    """Takes the files of running jobs: into a store, or to a server that has one."""

    def put(self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]) -> Artifact:
        """Stores a file of a job that runs under this lease."""
        ...

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact: ...

"""What may be given as the contents of a file, as the chunks that a store takes."""

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from penstock.errors import InvalidInput

Source = bytes | bytearray | memoryview | Path | BinaryIO | Iterable[bytes] | AsyncIterable[bytes]

CHUNK = 1024 * 1024


def chunks_of(data: Source, *, blocks: bool) -> bytes | AsyncIterator[bytes]:
    """Bytes as they are, anything else a chunk at a time. What blocks is read in a thread, unless `blocks`."""
    match data:
        case bytes():
            return data
        case bytearray() | memoryview():
            return bytes(data)
        case str():
            raise InvalidInput("data", "is text; encode it, or give a Path to name a file")
        case Path():
            return _of_path(data, blocks)
    if hasattr(data, "read"):
        return _of_file(data, blocks)
    if isinstance(data, AsyncIterable):
        if blocks:
            raise InvalidInput("data", "is an async iterator, which only an async handler can give")
        return _checked(data)
    if isinstance(data, Iterable):
        return _of_iterator(iter(data), blocks)
    raise InvalidInput(
        "data", f"must be bytes, a Path, a binary file or an iterator of bytes, not {type(data).__name__}"
    )


async def _of_path(path: Path, blocks: bool) -> AsyncIterator[bytes]:
    # not opened in a thread: cancelled meanwhile, nobody would have it to close
    with path.open("rb") as file:
        async for chunk in _of_file(file, blocks):
            yield chunk


async def _of_file(file: Any, blocks: bool) -> AsyncIterator[bytes]:
    reads_async = inspect.iscoroutinefunction(file.read)
    while True:
        if reads_async:
            chunk = await file.read(CHUNK)
        else:
            chunk = file.read(CHUNK) if blocks else await asyncio.to_thread(file.read, CHUNK)
        if not chunk:
            return
        yield _bytes(chunk)


async def _of_iterator(chunks: Iterator[bytes], blocks: bool) -> AsyncIterator[bytes]:
    while True:
        chunk = next(chunks, None) if blocks else await asyncio.to_thread(next, chunks, None)
        if chunk is None:
            return
        if data := _bytes(chunk):
            yield data


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

"""What may be given as the contents of a file, with and without an event loop."""

import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.keeper import achunks_of, chunks_of


class File(io.BytesIO):
    """One that could be iterated on an event loop as well."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"of the iterator"


class AsyncFile:
    def __init__(self) -> None:
        self._file = io.BytesIO(b"twice")

    async def read(self, size: int) -> bytes:
        return self._file.read(size)


async def several() -> AsyncIterator[bytes]:
    yield b"twi"
    yield b""
    yield b"ce"


def pieces() -> Iterator[Any]:
    yield b"twi"
    yield b""
    yield bytearray(b"ce")


@pytest.mark.parametrize(
    "given", [lambda: b"twice", lambda: bytearray(b"twice"), lambda: File(b"twice"), pieces, lambda: [b"tw", b"ice"]]
)
async def test_both_read_the_same(given: Callable[[], Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"twice")
    for make in (given, lambda: tmp_path / "file"):
        here, there = chunks_of(make()), achunks_of(make())
        assert (here if isinstance(here, bytes) else b"".join(here)) == b"twice"
        assert (there if isinstance(there, bytes) else b"".join([chunk async for chunk in there])) == b"twice"


@pytest.mark.parametrize("given", [several, AsyncFile])
async def test_what_only_an_event_loop_can_read_is_refused_without_one(given: Callable[[], Any]) -> None:
    chunks = achunks_of(given())
    assert not isinstance(chunks, bytes)
    read = [chunk async for chunk in chunks]
    assert b"".join(read) == b"twice"
    assert b"" not in read
    with pytest.raises(InvalidInput, match="only an async handler can give"):
        chunks_of(given())


@pytest.mark.parametrize(
    ("given", "complaint"),
    [("text", "is text; encode it"), (7, "must be bytes, a Path"), (["a"], "must give bytes, not str")],
)
async def test_what_is_no_contents_is_refused_by_both(given: Any, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        list(chunks_of(given))
    with pytest.raises(InvalidInput, match=complaint):
        await read(given)


async def read(given: Any) -> None:
    chunks = achunks_of(given)
    assert not isinstance(chunks, bytes)
    async for _ in chunks:
        pass

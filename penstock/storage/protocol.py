"""What Penstock asks of a store of files. Paths are relative, separated by /, and made by penstock.artifact.path_of."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

Chunks = TypeVar("Chunks", Iterator[bytes], AsyncIterator[bytes])


@dataclass(frozen=True, slots=True)
class Written:
    """What a store has written."""

    size: int
    digest: str
    """SHA-256 in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Opened(Generic[Chunks]):
    """A file being read: its whole size, and the part that was asked for."""

    size: int
    chunks: Chunks


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is in a store."""

    path: str
    size: int
    modified: datetime


class Store(Protocol):
    """Where files are kept: `Penstock(artifacts=…)` takes one of your own. Every method has an async twin whose
    name begins with a.

    ```python
    store = app.artifacts.store
    store.put("notes/1.txt", b"hello", content_type="text/plain", filename="1.txt")
    assert b"".join(store.open("notes/1.txt", start=1).chunks) == b"ello"
    ```
    """

    def put(
        self, path: str, data: bytes | Iterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written:
        """Writes a file, which appears at once and whole, or not at all. With `create`, raises ArtifactExists if there
        is one. `filename` is what a browser is told to call it, where the store serves files itself."""
        ...

    async def aput(
        self, path: str, data: bytes | AsyncIterator[bytes], *, create: bool = False, content_type: str, filename: str
    ) -> Written: ...

    def open(self, path: str, start: int = 0, end: int | None = None) -> Opened[Iterator[bytes]]:
        """Opens a file to be read from byte `start` up to `end`, which is not included. Raises FileNotFoundError, and
        StoreFault when the store cannot be reached, or is lost on the way."""
        ...

    async def aopen(self, path: str, start: int = 0, end: int | None = None) -> Opened[AsyncIterator[bytes]]: ...

    def delete(self, path: str) -> None:
        """Removes a file; nothing happens when there is none."""
        ...

    async def adelete(self, path: str) -> None: ...

    def list(self, prefix: str = "") -> Iterator[Found]:
        """Every file whose path begins with `prefix`."""
        ...

    def alist(self, prefix: str = "") -> AsyncIterator[Found]: ...

    def sign(self, path: str, seconds: int) -> str | None:
        """An address where anybody can read the file, for so many seconds; None where the store has no such thing."""
        ...

    async def asign(self, path: str, seconds: int) -> str | None: ...

    def tidy(self, grace: float) -> int:
        """Removes what interrupted writes left behind more than `grace` seconds ago. Returns how many."""
        ...

    async def atidy(self, grace: float) -> int: ...

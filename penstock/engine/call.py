"""A call of the engine as a value, and scripts of such calls: written once, run by sync and async connections alike."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One statement: text with %s for each parameter, and how to read its rows.

    `repeatable` when running it twice is as good as once, so that it may be sent again after a lost connection.
    `binary` asks for rows in binary: a third less work in Python, for calls that only our own connections run.
    `name` and `given` say the same without SQL, for workers that reach the engine through the API.
    """

    text: str
    params: Sequence[object]
    read: Callable[[Sequence[Row]], T_co]
    repeatable: bool = False
    binary: bool = False
    name: str = ""
    given: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY … FROM STDIN with these chunks of data."""

    text: str
    chunks: Iterable[bytes]


Script = Generator[Call[Any] | Copy, Any, T]
"""Several statements in one transaction: yields each, is sent what it read, returns the result."""


def first(rows: Sequence[Row]) -> Any:
    return rows[0][0]


def all_rows(rows: Sequence[Row]) -> Sequence[Row]:
    return rows


def nothing(rows: Sequence[Row]) -> None:
    del rows

"""A statement as a value, and scripts of such: written once, run by sync and async connections alike."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from penstock.engine.commands.command import Command

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Row = tuple[Any, ...]


class Statement(msgspec.Struct, Generic[T_co], frozen=True, gc=False):
    """Text with %s for each parameter, and how to read its rows. `binary` asks for rows in binary: a third less work in
    Python, for statements that only our own connections run."""

    text: str
    params: Sequence[object]
    read: Callable[[Sequence[Row]], T_co]
    repeatable: bool = False
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY … FROM STDIN with these chunks of data."""

    text: str
    chunks: Iterable[bytes]


Script = Generator[Command[Any] | Statement[Any] | Copy, Any, T]
"""Several statements in one transaction: yields each, is sent what it read, returns the result."""


def first(rows: Sequence[Row]) -> Any:
    return rows[0][0]


def all_rows(rows: Sequence[Row]) -> Sequence[Row]:
    return rows


def nothing(rows: Sequence[Row]) -> None:
    del rows

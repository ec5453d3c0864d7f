"""A statement as a value, its parameters, how its rows are read, and scripts of such: written once, run on sync and
async connections."""

import struct
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin
from uuid import UUID

import msgspec
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from penstock.engine.commands.command import Command, result_of
from penstock.json import loads_anyway

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


_encode = msgspec.json.Encoder().encode


def to_json(value: object) -> str:
    return _encode(value).decode()


def as_parameter(value: Any) -> Any:
    """An array is a list: psycopg makes a row of a tuple."""
    return list(value) if isinstance(value, tuple) else value


def selecting(source: str, result: Any, columns: str = "*") -> tuple[str, Callable[[Sequence[Row]], Any]]:
    """The statement that gives such a result, and how it is read."""
    if result is None or result is type(None):
        return f"select {source}", nothing
    origin, inner = get_origin(result), [part for part in get_args(result) if part is not type(None)]
    if origin is list and _is_row(inner[0]):
        return _as_json(source, columns), _reader(inner[0])
    if origin is list:
        return f"select {source}", scalars
    row = inner[0] if type(None) in get_args(result) and len(inner) == 1 else result
    if _is_row(row):
        read = _reader(row)
        return _as_json(source, columns), lambda rows: read(rows[:1])[0] if rows else None
    if get_origin(row) is dict:
        return f"select {source}::text", lambda rows: None if rows[0][0] is None else loads_anyway(rows[0][0])
    return f"select {source}", lambda rows: rows[0][0] if rows else None


def _is_row(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))


def _as_json(source: str, columns: str) -> str:
    return f"select pg_catalog.row_to_json(found)::text from (select {columns} from {source}) as found"  # noqa: S608 - of our own words


def scalars(rows: Sequence[Row]) -> list[Any]:
    """Of a function that returns a set of them, or one array."""
    if len(rows) == 1 and isinstance(rows[0][0], list):
        return rows[0][0]
    return [row[0] for row in rows]


@cache
def _reader(kind: type) -> Callable[[Sequence[Row]], list[Any]]:
    decode: Callable[[str], Any] = msgspec.json.Decoder(kind).decode
    return lambda rows: [loads_anyway(row[0], decode) for row in rows]


@cache
def selecting_of(source: str, kind: type[Command[Any]]) -> tuple[str, Callable[[Sequence[Row]], Any]]:
    return selecting(source, result_of(kind))


# Arrays of jobs' ids and claims go in the binary form that Postgres reads: half a microsecond a job less than text.

_UUID, _UUID_ARRAY = 2950, 2951
_INT, _INT_ARRAY = 23, 1007

# one dimension, no nulls, the elements' type, how many, counted from 1
_header = struct.Struct("!iiIii").pack
_SIXTEEN = struct.pack("!i", 16)


class InHand(Protocol):
    """What fences a report about a job, besides the lease."""

    @property
    def id(self) -> UUID: ...
    @property
    def claims(self) -> int: ...


@dataclass(frozen=True, slots=True)
class IdArray:
    bytes: bytes


@dataclass(frozen=True, slots=True)
class IntArray:
    bytes: bytes


def array_of_ids(jobs: Sequence[InHand]) -> IdArray:
    return IdArray(_header(1, 0, _UUID, len(jobs), 1) + b"".join([_SIXTEEN + job.id.bytes for job in jobs]))


def array_of_claims(jobs: Sequence[InHand]) -> IntArray:
    numbers = [number for job in jobs for number in (4, job.claims)]
    return IntArray(_header(1, 0, _INT, len(jobs), 1) + struct.pack(f"!{len(numbers)}i", *numbers))


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, array: IdArray | IntArray) -> bytes:
        return array.bytes


class _IdArrayDumper(_ArrayDumper):
    oid = _UUID_ARRAY


class _IntArrayDumper(_ArrayDumper):
    oid = _INT_ARRAY


psycopg.adapters.register_dumper(IdArray, _IdArrayDumper)
psycopg.adapters.register_dumper(IntArray, _IntArrayDumper)

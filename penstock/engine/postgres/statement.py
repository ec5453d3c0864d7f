"""A statement as a value, its parameters, and scripts of such: written once, run on sync and async connections."""

import struct
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

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

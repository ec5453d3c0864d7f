"""The engine's SQL, read from the files beside this one and rendered for a schema.

The files name the schema `penstock`, so each can be read and run as it stands; `render` puts another name in its place.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from penstock.errors import InvalidInput
from penstock.sql.contract import COMMENT

_SCHEMA = re.compile(r"\bpenstock\.(?=[a-z%])")
_LONGEST = 63
"""Bytes of a name, of which Postgres would cut off the rest."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}"


@cache
def migrations() -> tuple[Migration, ...]:
    """The numbered migrations, in order."""
    return read_migrations(files(__name__) / "migrations")


def at_migration(schema: str, number: int) -> str:
    """Where a database is, in the words of all who say it. Numbers have gaps: how many there are is another number."""
    return f"schema {schema} at migration {number}"


def read_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """The files of a folder named like 0001_tables.sql, in order."""
    found: dict[int, Migration] = {}
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            if not number.isdigit() or int(number) in found:
                raise InvalidInput(
                    "migrations", f"{file.name}: must begin with a number of its own, as 0001_tables.sql"
                )
            found[int(number)] = Migration(int(number), name, file.read_text("utf-8"))
    return tuple(found[number] for number in sorted(found))


@cache
def functions() -> str:
    """Every function of the engine, then the views for applications, one file each, as one script."""
    rooms = sorted((files(__name__) / "functions").iterdir(), key=lambda room: room.name)
    return "\n".join(
        file.read_text("utf-8")
        for room in (*rooms, files(__name__) / "views")
        for file in sorted(room.iterdir(), key=lambda file: file.name)
    )


@cache
def grants() -> str:
    """Who may do what; `{schema}` stands for the schema's name where it stands alone."""
    return (files(__name__) / "grants.sql").read_text("utf-8")


@cache
def functions_digest() -> str:
    return hashlib.sha256((functions() + grants() + COMMENT).encode()).hexdigest()[:16]


@cache
def quote_schema(schema: str) -> str:
    """The schema's name as SQL text; refuses what no SQL script can carry safely."""
    too_long = not 1 <= len(schema.encode()) <= _LONGEST
    if too_long or schema.startswith("pg_") or re.search(r"[\x00-\x1f'\"\\$%{}]", schema):
        raise InvalidInput(
            "schema",
            f"{schema!r} cannot be used: 1 to {_LONGEST} bytes, no quotes, backslashes, $, % or braces, not pg_…",
        )
    # quoted unless it is ours: it may be a reserved word
    return schema if schema == "penstock" else f'"{schema}"'


@cache
def render(text: str, schema: str) -> str:
    """The text with `penstock.` naming the given schema instead."""
    name = quote_schema(schema) + "."
    return _SCHEMA.sub(lambda _: name, text)

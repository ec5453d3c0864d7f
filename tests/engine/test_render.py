"""Commands and the SQL functions of their names: the same words, seen by Postgres before anything is run."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints
from uuid import uuid4

import msgspec
import psycopg
import pytest

from penstock.engine.commands import Command, CompleteAndEnqueue, EnqueuePlain, Repeatable
from penstock.engine.commands.command import result_of
from penstock.engine.postgres.render import render
from penstock.job import NewJob

_AS_JSON = re.compile(r"select pg_catalog\.row_to_json\(found\)::text from \((.*)\) as found", re.DOTALL)
_SCRIPTS = {CompleteAndEnqueue}
"""Several statements, by complete_and_enqueue()."""


def commands_below(kind: type[Command[Any]]) -> Iterator[type[Command[Any]]]:
    for each in kind.__subclasses__():
        if each is not Repeatable and each.__module__.startswith("penstock.engine.commands") and each not in _SCRIPTS:
            yield each
        yield from commands_below(each)


COMMANDS = sorted(commands_below(Command), key=lambda kind: kind.__name__)


def any_of(kind: type[Command[Any]]) -> Command[Any]:
    """One whose fields have some value or none: its text is that of all the others."""
    if kind is EnqueuePlain:
        return EnqueuePlain(NewJob(kind="work"), uuid4().hex, b"{}", hand=True)
    hints = get_type_hints(kind)
    return kind(*[_any_value(hints[name]) for name in kind.__struct_fields__])


def _any_value(hint: Any) -> object:
    kinds = {get_origin(part) or part for part in (hint, *get_args(hint))}
    if Sequence in kinds:
        return []
    return msgspec.Raw(b"null") if msgspec.Raw in kinds else None


def columns_of(connection: psycopg.Connection[Any], text: str) -> set[str]:
    """Of what the statement would give; raises when Postgres cannot tell what it means."""
    numbers = iter(range(1, 100))
    numbered = re.sub("%s", lambda _: f"${next(numbers)}", text).encode()
    prepared = connection.pgconn.prepare(b"", numbered)
    assert prepared.status == psycopg.pq.ExecStatus.COMMAND_OK, prepared.get_error_message()
    described = connection.pgconn.describe_prepared(b"")
    return {(described.fname(column) or b"").decode() for column in range(described.nfields)}


def required_of(kind: Any) -> set[str]:
    """The fields without which it cannot be made."""
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        fields = dataclasses.fields(kind)
        return {each.name for each in fields if each.default is missing and each.default_factory is missing}
    return {each.name for each in msgspec.structs.fields(kind) if each.required}


def test_every_command_is_something_that_postgres_can_be_told_and_gives_what_it_says(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for kind in COMMANDS:
            text = render(any_of(kind)).text
            columns = columns_of(connection, text)
            if found := _AS_JSON.fullmatch(text):
                [row] = [part for part in get_args(result_of(kind)) or [result_of(kind)] if part is not type(None)]
                missing = required_of(row) - columns_of(connection, found[1])
                assert not missing, f"{kind.__name__} is given no {missing}"
            else:
                assert columns, kind


_READ_PLAINLY = {
    "all_jobs", "artifacts", "audit", "channels", "jobs", "kinds", "leases_now", "operations", "queues", "schedules",
    "usage_log", "usage_so_far", "usage_sums",
}  # fmt: skip
"""What docs/decisions/031 promises to programs of the version before, beside functions/api."""


def test_programs_read_no_other_tables_than_those_they_are_promised() -> None:
    texts = "\n".join(render(any_of(kind)).text for kind in COMMANDS)
    assert set(re.findall(r"\b(?:from|join)\s+penstock\.(\w+)\b(?!\s*\()", texts)) == _READ_PLAINLY
    page = (Path(__file__).parents[2] / "docs/decisions/031-a-contract-between-versions.md").read_text("utf-8")
    assert {name for name in _READ_PLAINLY if f"`{name}`" not in page} == set()


@pytest.mark.parametrize(
    "kind", [kind for kind in COMMANDS if kind is not EnqueuePlain], ids=lambda kind: kind.__name__
)
def test_an_array_may_be_given_as_a_tuple(kind: type[Command[Any]]) -> None:
    """Which psycopg would make a row."""
    given = any_of(kind)
    command = kind(*[tuple(value) if isinstance(value, list) else value for value in msgspec.structs.astuple(given)])
    assert not any(isinstance(value, tuple) for value in render(command).params)

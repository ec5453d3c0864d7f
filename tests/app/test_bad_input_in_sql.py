"""Plain SQL is held to the same: an error that names the field, and nothing written."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import msgspec
import psycopg
import pytest


@pytest.fixture(scope="module")
def connection(url_of_module: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url_of_module, autocommit=True) as connection:
        yield connection


@pytest.fixture(autouse=True)
def nothing_is_written(connection: psycopg.Connection) -> Iterator[None]:
    yield
    assert connection.execute("select count(*) from penstock.all_jobs").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": ""}, "kind: must not be empty"),
        ({"kind": None}, "kind: must not be empty"),
        ({"queue": ""}, "queue: must not be empty"),
        ({"args": [1]}, "args: must be a JSON object"),
        ({"args": {"text": "Dear Ada, " * 110_000}}, "args: over 1 MiB"),
        ({"args": {"file": "QUJD" * 5_000}}, "args: has what looks like an encoded file of 20000 characters"),
        ({"args": {"a": ["data:;base64," + "x" * 20_000]}}, "args: has what looks like an encoded file"),
        ({"max_attempts": 0}, "max_attempts: must be at least 1, not 0"),
        ({"max_snoozes": -1}, "max_snoozes: must not be negative"),
        ({"delay": -1}, "delay: must not be negative"),
        ({"delay": 1, "run_at": "2030-01-01T00:00:00Z"}, "delay: give either delay or run_at, not both"),
        ({"unique_key": ""}, "unique_key: must not be empty"),
        ({"limit_key": ""}, "limit_key: must not be empty"),
        ({"weight": 0}, "weight: must be positive"),
        ({"id": str(uuid4())}, "id: .* is not a UUIDv7"),
        ({"after": [str(uuid4())]}, "after: job .* does not exist"),
        ({"parent": str(uuid4())}, "parent: .* is no flow of this call"),
        ({"priorty": 1}, "priorty: no such field of a job"),
    ],
)
def test_a_bad_field_is_refused_by_name(connection: psycopg.Connection, fields: dict[str, Any], message: str) -> None:
    jobs = msgspec.json.encode([{"kind": "fine"}, {"kind": "work"} | fields]).decode()
    with pytest.raises(psycopg.DatabaseError, match=f"^{message}"):
        connection.execute("select penstock.enqueue_jobs(%s::jsonb)", [jobs])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("''", "kind: must not be empty"),
        ("null", "kind: must not be empty"),
        ("'work', args => '[]'", "args: must be a JSON object"),
        ("'work', queue => ''", "queue: must not be empty"),
        ("'work', max_attempts => 0", "max_attempts: must be at least 1"),
        ("""'work', '{"x": [1e309]}'""", "args: has a number beyond 1.8e308; pass it as text"),
        ("""'work', '{"x": {"y": -1e5000}}'""", "args: has a number beyond 1.8e308; pass it as text"),
        ("""'work', ('{"x": ' || repeat('[', 600) || repeat(']', 600) || '}')::jsonb""", "args: is nested"),
        ("'work', unique_key => ''", "unique_key: must not be empty"),
        ("'work', after => array[uuid_nil()]", "after: job .* does not exist"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(connection: psycopg.Connection, call: str, message: str) -> None:
    call = call.replace("uuid_nil()", "'00000000-0000-0000-0000-000000000000'::uuid")
    with pytest.raises(psycopg.DatabaseError, match=f"^{message}"):
        connection.execute(f"select penstock.enqueue({call})".encode())


@pytest.mark.parametrize(
    ("jobs", "message"),
    [("{}", "jobs: must be a JSON array"), ("[1]", "a job must be a JSON object"), ("null", "jobs: must be")],
)
def test_what_is_no_list_of_jobs_is_refused(connection: psycopg.Connection, jobs: str, message: str) -> None:
    with pytest.raises(psycopg.DatabaseError, match=f"^{message}"):
        connection.execute("select penstock.enqueue_jobs(%s::jsonb)", [jobs])


@pytest.mark.parametrize(
    "fields",
    [{"args": {"a": "\0"}}, {"priority": "high"}, {"run_at": "soon"}, {"id": "x"}, {"priority": 2**40}],
)
def test_what_postgres_cannot_even_read_writes_nothing_either(
    connection: psycopg.Connection, fields: dict[str, Any]
) -> None:
    jobs = msgspec.json.encode([{"kind": "fine"}, {"kind": "work"} | fields]).decode()
    with pytest.raises(psycopg.DatabaseError):
        connection.execute("select penstock.enqueue_jobs(%s::jsonb)", [jobs])

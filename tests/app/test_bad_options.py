"""Bad options, keys, flows and connections get a named error and nothing is written."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import psycopg
import pytest

from penstock import (
    DuplicateKey,
    Flow,
    Handler,
    InvalidFlow,
    InvalidInput,
    Penstock,
    UnknownJob,
    UnsupportedConnection,
)
from tests.app.addresses import as_uri

Send = Handler[..., None]


@pytest.fixture(scope="module")
def watching(url_of_module: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url_of_module, autocommit=True) as connection:
        yield connection


@pytest.fixture(autouse=True)
def nothing_is_written(watching: psycopg.Connection) -> Iterator[None]:
    yield
    assert watching.execute("select count(*) from penstock.all_jobs").fetchall() == [(0,)]


@pytest.fixture(scope="module")
def send(url_of_module: str) -> Iterator[Send]:
    with Penstock(url_of_module) as app:

        @app.job
        def send(to: str) -> None: ...

        yield send


TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"delay": -1}, "delay: must be between 0 and 1e10 seconds, not -1"),
        ({"delay": timedelta(seconds=-1)}, "delay: must be between"),
        ({"delay": 5, "run_at": TOMORROW}, "delay: give either delay or run_at, not both"),
        ({"run_at": datetime(2030, 1, 1)}, "run_at: needs a time zone"),
        ({"max_attempts": 0}, "max_attempts: must be a whole number from 1"),
        ({"max_snoozes": -1}, "max_snoozes: must be a whole number from 0"),
        ({"priority": 2**31}, "priority: must be a whole number"),
        ({"timeout": 0}, "timeout: must be a positive number of seconds"),
        ({"timeout": float("inf")}, "timeout: must be a positive number of seconds"),
        ({"queue": ""}, "queue: must not be empty"),
        ({"owner": "a\0"}, "owner: must not be empty, contain NUL"),
        ({"owner": uuid4()}, "owner: must be text, not UUID"),
        ({"org": "\ud800"}, "org: must not be empty, contain NUL or lone surrogates"),
        ({"unique": ""}, "unique_key: must not be empty"),
        ({"idempotency_key": ""}, "idempotency_key: must not be empty"),
        ({"after": ["yesterday's"]}, 'after: takes handles and ids of jobs, not "yesterday\'s"'),
        ({"quue": "mail"}, "quue: is no option; there are queue, priority"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 25])
def test_a_bad_option_is_refused_by_name(send: Send, options: dict[str, Any], match: str, jobs: int) -> None:
    with pytest.raises(InvalidInput, match=f"^{match}"):
        send.using(**options).enqueue_many([{"to": "ada"}] * jobs)


def test_a_bad_option_of_a_handler_is_refused_where_it_is_written() -> None:
    app = Penstock("postgresql://nowhere")
    with pytest.raises(InvalidInput, match=r"^max_attempts: "):
        app.job(max_attempts=0)(lambda: None)
    with pytest.raises(InvalidInput, match=r"^kind: 'batch' is taken"):
        app.job(kind="batch")(lambda: None)
    app.job(kind="send")(lambda: None)
    with pytest.raises(InvalidInput, match=r"^kind: 'send' is taken; give this handler another"):
        app.job(kind="send")(lambda: None)
    assert app.kinds == ["send"]


def test_waiting_for_a_job_that_does_not_exist_is_refused(send: Send) -> None:
    with pytest.raises(UnknownJob, match=r"^after: job .* does not exist$"):
        send.using(after=[uuid4()]).enqueue("ada")


@pytest.mark.parametrize("jobs", [2, 25])
def test_two_jobs_of_one_call_with_one_key_are_refused(send: Send, jobs: int) -> None:
    calls = [{"to": str(n)} for n in range(jobs)]
    with pytest.raises(DuplicateKey, match=f"^unique_key: 'k' is carried by {jobs} jobs of one call$"):
        send.using(unique="k").enqueue_many(calls)
    with pytest.raises(DuplicateKey, match=r"^unique_key: 'send::global::{\"to\":\"0\"}' is carried by 2 jobs"):
        send.using(unique=True).enqueue_many([*calls, calls[0]])
    with pytest.raises(DuplicateKey, match=r"^idempotency_key: 'k' is carried by"):
        send.using(idempotency_key="k").enqueue_many(calls)


@pytest.mark.parametrize("jobs", [2, 25])
def test_one_prepared_job_twice_in_a_call_is_refused(url_of_module: str, send: Send, jobs: int) -> None:
    prepared = [*(send.prepare("ada") for _ in range(jobs)), *[send.prepare("ada")] * 2]
    with Penstock(url_of_module) as app:
        app.job(kind="send")(lambda to: None)
        with pytest.raises(DuplicateKey, match=r"^id: a job with this id exists"):
            app.enqueue_many(prepared)


def test_a_cyclic_or_empty_flow_is_refused(url_of_module: str, send: Send) -> None:
    cyclic, empty = Flow(), Flow(then=send.prepare("ada"))
    first = cyclic.add(send.prepare("ada"))
    first.waits_for(cyclic.add(send.prepare("grace"), after=[first]))
    with Penstock(url_of_module) as app:
        app.job(kind="send")(lambda to: None)
        with pytest.raises(InvalidFlow, match=r"^after: jobs wait for each other in a circle: send → send → send$"):
            app.enqueue(cyclic)
        with pytest.raises(InvalidFlow, match=r"^flow: has no jobs"):
            app.enqueue(empty)


def test_an_object_that_is_no_connection_is_refused_with_those_that_are(send: Send) -> None:
    with sqlite3.connect(":memory:") as lite:
        for odd, name in ((object(), "object"), ("dbname=x", "str"), (lite, "sqlite3.Connection")):
            with pytest.raises(UnsupportedConnection, match=f"^cannot enqueue through a {name}; pass a psycopg conn"):
                send.using(connection=odd).enqueue("ada")
    lite.close()


async def test_an_async_connection_is_refused_in_sync_code_and_the_reverse(url_of_module: str, send: Send) -> None:
    await_it = r"^this is an async connection: await aenqueue\(…\) instead of enqueue\(…\)$"
    call_it = r"^this is a sync connection: call enqueue\(…\) instead of aenqueue\(…\)$"
    async with await psycopg.AsyncConnection.connect(url_of_module) as connection:
        with pytest.raises(UnsupportedConnection, match=await_it):
            send.using(connection=connection).enqueue("ada")
    with psycopg.connect(url_of_module) as sync, pytest.raises(UnsupportedConnection, match=call_it):
        await send.using(connection=sync).aenqueue("ada")
    with pytest.raises(UnsupportedConnection, match=r"^cannot enqueue through a object;"):
        await send.using(connection=object()).aenqueue("ada")
    raw = await asyncpg.connect(as_uri(url_of_module))
    with pytest.raises(UnsupportedConnection, match=await_it):
        send.using(connection=raw).enqueue_many([{"to": "ada"}] * 25)
    await raw.close()

"""What a push kind takes, and what it keeps to itself."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any

import msgspec
import psycopg
import pytest

from penstock import InvalidArguments, InvalidInput, JobState, Penstock
from penstock.logs import set_up
from penstock.middleware import log_jobs
from tests.kit.fake_http import Answer, fake_server
from tests.kit.working import working
from tests.worker.pushing import SECRET, answering, finished, pushed


@contextmanager
def logged(level: str) -> Iterator[StringIO]:
    """What a worker's command line would log while the block lasts."""
    loggers = [logging.getLogger(), logging.getLogger("httpx")]
    before = [(each.level, each.handlers[:]) for each in loggers]
    loggers[0].handlers.clear()
    written = StringIO()
    set_up(level, stream=written)
    try:
        yield written
    finally:
        for each, (level_before, handlers) in zip(loggers, before, strict=True):
            each.setLevel(level_before)
            each.handlers[:] = handlers


async def test_neither_secret_nor_address_is_told_to_anybody(app: Penstock, url: str) -> None:
    answers = [Answer(500), Answer(302, headers={"Location": "/x"}), Answer(200, b"1")]
    async with fake_server(lambda _: answers.pop(0)) as server:
        handler = pushed(app, server, headers={"Authorization": "Bearer l3tmein"})
        nowhere = app.push("nowhere", "http://10.0.0.1/?token=t0ps3cret", secret=SECRET, max_attempts=1)
        app.middleware(log_jobs)
        with logged("debug") as log:
            async with working(app):
                assert (await finished(handler)).state is JobState.SUCCEEDED
                assert (await finished(nowhere)).state is JobState.FAILED
    kept = await everything_in(url)
    assert "answered 500" in log.getvalue()
    assert "answered 500" in kept
    for secret in (SECRET, SECRET.removeprefix("whsec_"), "l3tmein", "t0ps3cret"):
        assert secret not in log.getvalue()
        assert secret not in kept


async def everything_in(url: str) -> str:
    """All rows of all tables as text."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await connection.execute(
            "select relname from pg_class where relnamespace = 'penstock'::regnamespace and relkind in ('r', 'p')"
        )
        text = []
        for (table,) in await found.fetchall():
            rows = await connection.execute(f'select t::text from penstock."{table}" t'.encode())
            text += [row[0] for row in await rows.fetchall()]
    return "\n".join(text)


@dataclass
class Order:
    id: str
    total: float = 0.0


def order(id: str, total: float = 0.0) -> None: ...


@pytest.mark.parametrize("described", [Order, order])
async def test_arguments_may_be_described(app: Penstock, described: Any) -> None:
    async with fake_server(answering(Answer(204))) as server:
        handler = pushed(app, server, args=described)
        with pytest.raises(InvalidArguments, match="id: is missing"):
            await handler.aenqueue(total=1)
        with pytest.raises(InvalidArguments, match="nonsense: is no argument"):
            await handler.aenqueue(id="a", nonsense=1)
        async with working(app):
            assert (await finished(handler, id="a")).state is JobState.SUCCEEDED
    assert msgspec.json.decode(server.requests[0].body)["args"] == {"id": "a"}


@pytest.mark.parametrize(
    "url", ["", "example.com", "ftp://example.com", "https://", "http://[::1", "file:///etc/passwd"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidInput, match="url: must be an address"):
        Penstock("postgresql://nowhere").push("notify", url, secret=SECRET)


@pytest.mark.parametrize(
    "headers", [{"Webhook-Id": "1"}, {"Content-Type": "text/plain"}, {"Host": "x"}, {"X": "a\r\nY: b"}, {"X\n": "a"}]
)
def test_headers_that_are_ours_or_would_be_more_than_one_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="headers: "):
        Penstock("postgresql://nowhere").push("notify", "https://example.com", secret=SECRET, headers=headers)


@pytest.mark.parametrize("options", [{"isolate": True}, {"batch": 5}, {"secret": "hunter2"}, {"allow": ["here"]}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        Penstock("postgresql://nowhere").push("notify", "https://example.com", **{"secret": SECRET, **options})
    assert "hunter2" not in str(refused.value)

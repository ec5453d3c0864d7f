"""Kinds whose handler is a URL, sent by a real worker to a real server."""

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from penstock import Job, JobState, Penstock
from penstock.push import verify
from tests.kit.fake_http import Answer, Request, fake_server
from tests.kit.until import until
from tests.kit.working import working
from tests.worker.pushing import KEY, OTHER, SECRET, answering, finished, pushed


def signature_by_hand(request: Request, key: bytes = KEY) -> str:
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


async def test_a_job_is_posted_signed_and_the_answer_is_its_output(app: Penstock) -> None:
    answer = Answer(201, b'{"done": [1, "two"]}', {"Content-Type": "application/json"})
    async with fake_server(answering(answer)) as server:
        handler = pushed(app, server, owner="ada", org="acme", headers={"X-Api-Key": "k"})
        async with working(app):
            job = await finished(handler, document="d1", pages=[1, 2], ctx="also an argument", kind="too")
    assert (job.state, job.output) == (JobState.SUCCEEDED, {"done": [1, "two"]})
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/hooks?token=t0ps3cret")
    assert (request.headers["content-type"], request.headers["x-api-key"]) == ("application/json", "k")
    sent = msgspec.json.decode(request.body)
    assert datetime.fromisoformat(sent.pop("created_at")) == job.created_at
    assert sent == {
        "id": str(job.id), "kind": "notify", "attempt": 1, "owner": "ada", "org": "acme",
        "args": {"document": "d1", "pages": [1, 2], "ctx": "also an argument", "kind": "too"},
    }  # fmt: skip
    assert request.headers["webhook-id"] == str(job.id)
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60
    assert request.headers["webhook-signature"] == signature_by_hand(request)
    assert verify(SECRET, request.headers, request.body)["id"] == str(job.id)


async def test_while_a_secret_is_changed_both_sign(app: Penstock) -> None:
    async with fake_server(answering(Answer(204))) as server:
        handler = pushed(app, server, secret=[SECRET, OTHER])
        async with working(app):
            await finished(handler)
    [request] = server.requests
    both = f"{signature_by_hand(request)} {signature_by_hand(request, bytes(32))}"
    assert request.headers["webhook-signature"] == both


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (b"", None),
        (b"null", None),
        (b"7", 7),
        (b"ok", None),
        (b"<html>thanks</html>", None),
        (b'{"a": "\\u0000"}', None),
        (b"[" * 10_000, None),
        (b'"' + b"x y " * 100_000 + b'"', None),
    ],
    ids=range(8),
)
async def test_an_answer_that_cannot_be_kept_is_still_a_delivery(app: Penstock, body: bytes, output: object) -> None:
    async with fake_server(answering(Answer(200, body))) as server:
        handler = pushed(app, server)
        async with working(app):
            job = await finished(handler)
    assert (job.state, job.output, len(server.requests)) == (JobState.SUCCEEDED, output, 1)


@pytest.mark.parametrize("status", [400, 401, 404, 408, 422, 425, 429, 500, 502, 503])
async def test_a_failure_is_tried_again_under_the_same_id(app: Penstock, status: int) -> None:
    async with fake_server(answering(Answer(status, b"no"), Answer(status), Answer(200, b'"at last"'))) as server:
        handler = pushed(app, server)
        async with working(app):
            job = await finished(handler)
    assert (job.state, job.output, job.attempt) == (JobState.SUCCEEDED, "at last", 3)
    assert [each["error"] for each in job.errors] == [f"127.0.0.1 answered {status}"] * 2
    assert {request.headers["webhook-id"] for request in server.requests} == {str(job.id)}
    assert [msgspec.json.decode(request.body)["attempt"] for request in server.requests] == [1, 2, 3]


async def test_gone_is_for_good(app: Penstock) -> None:
    async with fake_server(answering(Answer(410))) as server:
        handler = pushed(app, server)
        async with working(app):
            job = await finished(handler)
    assert (job.state, len(server.requests)) == (JobState.FAILED, 1)
    assert job.last_error == "127.0.0.1 answered 410: it wants no more of these"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
async def test_who_says_when_to_come_back_is_asked_then_at_no_cost_of_an_attempt(
    app: Penstock, status: int, as_date: bool
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True) if as_date else "600"
    async with fake_server(answering(Answer(status, headers={"Retry-After": later}))) as server:
        handler = pushed(app, server)
        async with working(app):
            handle = await handler.aenqueue()

            async def put_off() -> Job | None:
                job = await handle.arefresh()
                return job if job.snoozes else None

            job = await until(put_off)
            assert job is not None
    assert job.state is JobState.SCHEDULED
    assert 500 < (job.run_at - datetime.now(UTC)).total_seconds() < 601
    assert job.errors == []
    assert job.max_snoozes == 100


@pytest.mark.parametrize("later", ["soon", "-5", "1e400", "", "Tue, 99 Foo 2026"])
async def test_a_time_that_makes_no_sense_is_a_failure_like_others(app: Penstock, later: str) -> None:
    async with fake_server(answering(Answer(503, headers={"Retry-After": later}))) as server:
        handler = pushed(app, server, max_attempts=1)
        async with working(app):
            job = await finished(handler)
    assert job.last_error == "127.0.0.1 answered 503"


async def test_who_does_not_answer_in_time_is_tried_again(app: Penstock) -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    answers = [Answer(200, pieces=drip()), Answer(200, b"1")]
    async with fake_server(lambda _: answers.pop(0)) as server:
        handler = pushed(app, server, timeout=0.5)
        async with working(app):
            job = await finished(handler)
    assert job.state is JobState.SUCCEEDED
    assert job.errors[0]["error"] == "127.0.0.1 did not answer within 0.5 s"


async def test_who_is_not_there_is_tried_again(app: Penstock) -> None:
    async with fake_server(answering(Answer())) as server:
        pass
    handler = pushed(app, server, max_attempts=2)
    async with working(app):
        job = await finished(handler)
    assert (job.state, job.attempt) == (JobState.FAILED, 2)
    assert job.last_error == "cannot reach 127.0.0.1: ConnectError"

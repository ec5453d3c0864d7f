"""Uploading: what is taken, what is refused, and what is left of it when it is broken off."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from calls.asking import ACME, GLOBEX, SOUND, Calls
from calls.conftest import Make, over_both
from penstock_recipes.calls.store import Call
from shared.asking import names_in
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.kit.until import until


async def test_a_recording_is_stored_with_its_call_and_its_jobs(calls: Calls, files: Path, connect: Connect) -> None:
    answer = await calls.user().send()
    assert answer.status_code == 201
    told = answer.json()
    assert answer.headers["location"] == str(answer.url.join(f"/api/v1/calls/{told['id']}"))
    assert told["created"] is True
    [row] = connect().execute(
        "select id::text, org_id, user_id, file_name, content_type, size, job_id::text from calls.calls"
    )
    assert row == (told["id"], ACME, "ada", "call.wav", "audio/wav", len(SOUND), told["jobId"])
    assert names_in(files) == [f"_{ACME}/{told['id']}/raw"]
    assert (files / f"_{ACME}/{told['id']}/raw").read_bytes() == SOUND
    jobs = connect().execute("select kind, org, owner from penstock.jobs order by id").fetchall()
    assert jobs == [
        (kind, str(ACME), None) for kind in ("extract_audio", "transcribe_start", "transcribe_poll", "analyze")
    ]


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("call.mp4", "video/mp4", "video/mp4"),
        ("call.mp4", "application/octet-stream", "video/mp4"),
        ("call.MP3", "application/x-www-form-urlencoded", "audio/mpeg"),
        ("call.ogg", "", "audio/ogg"),
        ("anything", "audio/x-wav; codecs=1", "audio/x-wav"),
        ("anything", "application/ogg", "application/ogg"),
    ],
)
async def test_the_kind_of_recording_is_told_by_the_client_or_by_the_name(
    calls: Calls, connect: Connect, name: str, said: str, kind: str
) -> None:
    answer = await calls.user().send(name=name, **{"Content-Type": said})
    assert answer.status_code == 201, answer.text
    assert connect().execute("select content_type from calls.calls").fetchall() == [(kind,)]


async def test_an_organisation_keeps_no_more_than_it_may(make: Make, files: Path, connect: Connect) -> None:
    async with make(max_org_bytes=10_000) as calls:
        ada = calls.user()
        await calls.app.artifacts.aput("report.pdf", b"x" * 9_000, org=str(ACME), type="report")  # no call's
        assert (await ada.send(b"x" * 6_000)).status_code == 201
        for more in (b"x" * 6_000, unannounced(b"x" * 6_000)):
            full = await ada.send(more)
            assert full.status_code == 507
            assert "of 10,000 bytes of your organisation's calls are used" in full.json()["detail"]
        assert (await ada.send(b"x" * 4_000)).status_code == 201
        assert (await calls.user(org=GLOBEX).send(b"x" * 6_000, org=GLOBEX)).status_code == 201, "each has its own"
    assert len(names_in(files)) == 4


async def test_what_is_made_of_a_recording_needs_room_too(make: Make) -> None:
    """Meanwhile others have filled it; a file that is about to be replaced takes none."""
    async with make(max_org_bytes=20_000) as calls:
        ada = calls.user()
        id = await ada.upload()
        large = Call(ACME, uuid4()).path("audio")
        other = await calls.app.artifacts.aput("audio.flac", b"x" * 19_990, org=str(ACME), type="audio", path=large)
        async with calls.worker():
            failed = await ada.ended(id)
            assert failed["status"] == "failed"
            assert re.fullmatch(
                r"storage: 19,990 of 20,000 bytes of your organisation's calls are used, and [\d,]+ more are needed; "
                r"delete calls that you no longer need", failed["error"],
            )  # fmt: skip
            await calls.app.artifacts.adelete(other.id)
            assert (await ada("POST", f"/{id}/retry")).status_code == 202
            assert (await ada.ended(id))["status"] == "done"


async def test_what_cannot_be_taken_is_refused_and_leaves_nothing(make: Make, files: Path, connect: Connect) -> None:
    async def drops(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b"x" * 1000

    async with make(max_bytes=20_000) as calls:
        ada, data = calls.user(), b"x" * 1000
        refusals = [
            (await ada.send(b""), 422, "the body is empty"),
            (await ada.send(drops(0)), 422, "the body is empty"),
            (await ada.send(b"x" * 20_001), 413, "20,000 bytes"),
            (await ada.send(drops(30)), 413, "20,000 bytes"),
            (await ada.send(data, name="notes.txt", **{"Content-Type": "text/plain"}), 415, "not text/plain"),
            (await ada.send(data, name="notes.txt", **{"Content-Type": ""}), 415, "not text/plain"),
            (await ada.send(data, name="call", **{"Content-Type": ""}), 415, "fileName"),
            (await ada.send(data, **{"Content-Type": "multipart/form-data; boundary=x"}), 415, "--data-binary"),
            (await ada.send(data, org="seven"), 422, "orgId"),
            (await ada.send(data, org=GLOBEX), 403, "do not belong"),
            (await ada.send(data, org=uuid4()), 403, "do not belong"),
            (await ada.send(data, name="../../etc/passwd"), 422, "fileName"),
            (await ada.send(data, name="a\x00b"), 422, "fileName"),
            (await ada.send(data, name="x" * 256), 422, "fileName"),
            (await ada("POST", "", content=data, headers={"Content-Type": "audio/wav"}), 422, "orgId"),
            (await ada.send(data, **{"Idempotency-Key": "k" * 256}), 422, "Idempotency-Key"),
            (await calls.nobody.send(data), 401, "sign in"),
        ]
    for answer, status, words in refusals:
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
        assert words in answer.json()["detail"], answer.text
    assert names_in(files) == []
    for table in ("calls.calls", "calls.artifacts", "penstock.jobs", "penstock.artifacts"):
        assert connect().execute(f"select count(*) from {table}".encode()).fetchone() == (0,), table


async def test_more_than_the_server_takes_is_refused(make: Make) -> None:
    """A recording may be larger than other requests, but not than the server's own limit for files."""
    async with make({"max_body": 1000, "max_upload": 30_000}) as calls:
        assert (await calls.user().send(b"x" * 20_000)).status_code == 201
        assert (await calls.user().send(b"x" * 30_001)).status_code == 413


async def test_a_mounted_server_takes_recordings_too(calls: Calls) -> None:
    outer = FastAPI()
    outer.mount("/queue", calls.app.asgi(service_key=KEY, max_body=1000))
    transport = httpx.ASGITransport(outer)
    async with httpx.AsyncClient(transport=transport, base_url="http://test/queue") as client:
        answer = await client.post(
            "/api/v1/calls",
            params={"orgId": str(ACME)},
            content=SOUND,
            headers={"Authorization": f"Bearer {KEY}", "Content-Type": "audio/wav"},
        )
    assert answer.status_code == 201, answer.text


async def test_an_upload_that_is_broken_off_leaves_nothing(calls: Calls, files: Path, connect: Connect) -> None:
    ada = calls.user()
    reader, writer = await asyncio.open_connection(ada.client.base_url.host, ada.client.base_url.port)
    head = f"POST /api/v1/calls?orgId={ACME}&fileName=call.wav HTTP/1.1\r\nHost: test\r\nContent-Type: audio/wav\r\n"
    writer.write(f"{head}Authorization: {ada.headers['Authorization']}\r\nContent-Length: 10000000\r\n\r\n".encode())
    writer.write(SOUND)
    connection = connect()

    async def announced() -> bool:
        return connection.execute("select from penstock.artifacts").rowcount == 1

    async def gone() -> bool:
        return connection.execute("select from penstock.artifacts").rowcount == 0 and names_in(files) == []

    await until(announced)
    writer.close()
    await writer.wait_closed()
    del reader
    await until(gone)
    assert connection.execute("select count(*) from calls.calls").fetchone() == (0,)
    assert connection.execute("select count(*) from penstock.jobs").fetchone() == (0,)


async def unannounced(data: bytes) -> AsyncIterator[bytes]:
    yield data


@over_both
async def test_the_same_key_makes_one_call(calls: Calls, files: Path, connect: Connect) -> None:
    ada, key = calls.user(), {"Idempotency-Key": "k1"}
    answers = await asyncio.gather(*(ada.send(**key) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({(answer.json()["id"], answer.json()["jobId"]) for answer in answers}) == 1
    again = [await ada.send(**key), await ada.send(unannounced(SOUND), **key)]
    assert [(answer.status_code, answer.json()["created"]) for answer in again] == [(200, False)] * 2
    told = f"was used for call.wav, audio/wav of {len(SOUND):,} bytes"
    for other in (
        await ada.send(name="other.wav", **key),
        await ada.send(**key, **{"Content-Type": "audio/ogg"}),
        await ada.send(SOUND[:-2], **key),
    ):
        assert other.status_code == 422
        assert other.json()["errors"] == [{"field": "Idempotency-Key", "problem": told}]
    same = "was used for another recording of the same name, kind and size"
    for data in (SOUND[::-1], unannounced(SOUND[:-2])):
        other = await ada.send(data, **key)
        assert (other.status_code, other.json()["errors"][0]["problem"]) == (422, same)
    # somebody else's key is another
    assert (await calls.user("bob").send(**key)).status_code == 201
    assert (await calls.service.send(**key)).status_code == 201
    assert connect().execute("select count(*), count(distinct job_id) from calls.calls").fetchone() == (3, 3)
    assert len(names_in(files)) == 3


async def test_what_is_no_recording_fails_at_once_and_says_why(calls: Calls, connect: Connect) -> None:
    ada = calls.user()
    async with calls.worker():
        for data in (b"Dear Sir or Madam, " * 100, SOUND[:44]):
            call = await ada.ended(await ada.upload(data))
            first, *rest = call["stages"]
            assert (call["status"], first["status"], first["attempts"]) == ("failed", "failed", 1)
            assert call["error"] == first["lastError"]
            assert "internal error" not in call["error"]
            assert [stage["attempts"] for stage in rest] == [0, 0, 0]
    rows = connect().execute("select distinct status from calls.processing_jobs").fetchall()
    assert rows == [("failed",)]


@pytest.mark.parametrize("table", ["penstock.jobs", "calls.calls"])
async def test_there_is_no_call_without_jobs_and_no_job_without_a_call(
    calls: Calls, connect: Connect, table: str
) -> None:
    connection = connect()
    connection.execute(
        "create function refuse() returns trigger language plpgsql as 'begin raise division_by_zero; end'"
    )
    trigger = f"create constraint trigger refuse after insert on {table} deferrable initially deferred for each row"
    connection.execute(f"{trigger} execute function refuse()".encode())
    assert (await calls.user().send()).status_code >= 400
    for each in ("penstock.jobs", "calls.calls", "calls.artifacts"):
        assert connection.execute(f"select count(*) from {each}".encode()).fetchone() == (0,), each

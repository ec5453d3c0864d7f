"""How a call is doing, and what can be done about it."""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pytest

from calls.asking import ACME, GLOBEX, WITHIN, Calls
from calls.conftest import Make, over_both
from calls.providers import Clerk, Reader
from penstock_recipes.calls import store
from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.providers.transcription import AudioSource, Transcript, TranscriptionFailed
from shared.asking import names_in
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until


class Waiting(Clerk):
    """Goes on when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_start = asyncio.Event()
        self.may_finish = asyncio.Event()

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:
        await self.may_start.wait()
        return await super().start(audio, name=name, facts=facts)

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        return await super().poll(operation, audio) if self.may_finish.is_set() else None


class Mute(Clerk):
    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        raise TranscriptionFailed("nobody speaks")


@over_both
async def test_stages_are_told_as_they_go(make: Make) -> None:
    clerk = Waiting()
    async with make(transcriber=clerk) as calls:
        ada = calls.user()
        id = await ada.upload()
        before = await ada.call(id)
        assert (before["status"], before["progress"], before["seconds"]) == ("queued", 0, None)
        assert {stage["status"] for stage in before["stages"]} == {"queued"}
        assert before["files"] == {"audio": None, "transcript": None, "analysis": None}
        async with calls.worker():
            starting = await ada.until(id, lambda call: call["stages"][1]["status"] == "processing")
            assert (starting["status"], starting["seconds"]) == ("processing", 0.5)
            assert [stage["status"] for stage in starting["stages"]] == ["done", "processing", "queued", "queued"]
            assert starting["files"]["audio"]["contentType"] == "audio/flac"
            assert 20 <= starting["progress"] < 30
            clerk.may_start.set()
            waiting = await ada.until(id, lambda call: call["stages"][2]["polls"] > 1)
            assert [stage["status"] for stage in waiting["stages"]][:2] == ["done", "done"]
            assert waiting["stages"][3]["status"] == "queued"
            assert 30 <= waiting["progress"] < 85
            clerk.may_finish.set()
            done = await ada.done(id)
    assert {stage["status"] for stage in done["stages"]} == {"done"}
    times = [datetime.fromisoformat(stage[name]) for stage in done["stages"] for name in ("startedAt", "finishedAt")]
    assert times == sorted(times)


@over_both
async def test_the_stream_of_its_job_tells_one_progress_for_all_stages(calls: Calls) -> None:
    ada = calls.user()
    job = (await ada.send()).json()["jobId"]
    told = []
    async with (
        calls.worker(),
        asyncio.timeout(WITHIN),
        ada.client.stream("GET", f"/api/jobs/{job}/stream", headers=ada.headers) as events,
    ):
        async for line in events.aiter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line.removeprefix("data: ")))
    percents = [each["progress"]["percent"] for each in told]
    assert percents == sorted(percents)
    assert (told[0]["kind"], told[-1]["state"], percents[-1]) == ("analyze", "succeeded", 100)
    assert "extract_audio" in {each["progress"]["phase"] for each in told}
    names = sorted(each["name"] for each in told[-1]["artifacts"])
    assert names == ["analysis.json", "audio.flac", "transcript.json"]


async def test_calls_are_listed_a_page_at_a_time(calls: Calls) -> None:
    ids = [await calls.service.upload(org=org) for org in (ACME, GLOBEX, ACME, ACME)]
    first = (await calls.user().get(params={"limit": 2})).json()
    second = (await calls.user().get(params={"limit": 2, "cursor": first["nextCursor"]})).json()
    assert [call["id"] for call in first["calls"]] == [ids[3], ids[2]]
    assert [call["id"] for call in second["calls"]] == [ids[0]]
    assert second["nextCursor"] is None
    everything = (await calls.service.get()).json()["calls"]
    assert [call["id"] for call in everything] == ids[::-1]
    one = (await calls.service.get(params={"orgId": str(GLOBEX)})).json()["calls"]
    assert [(call["id"], call["orgId"], call["userId"]) for call in one] == [(ids[1], str(GLOBEX), None)]


@over_both
async def test_a_call_is_deleted_with_its_files_whether_it_is_done_or_under_way(
    make: Make, files: Path, connect: Connect
) -> None:
    clerk = Waiting()
    clerk.may_finish.set()
    async with make(transcriber=clerk) as calls:
        ada = calls.user()
        async with calls.worker():
            under_way = await ada.upload()
            await ada.until(under_way, lambda call: call["stages"][1]["status"] == "processing")
            assert (await ada("DELETE", f"/{under_way}")).status_code == 204
            clerk.may_start.set()
            done = await ada.upload()
            await ada.done(done)
            assert (await ada("DELETE", f"/{done}")).status_code == 204
            for id in (under_way, done):
                assert (await ada.get(f"/{id}")).status_code == 404
                assert (await ada("DELETE", f"/{id}")).status_code == 404
            connection = connect()

            await until(lambda: connection.execute("select from penstock.artifacts").rowcount == 0)
    assert names_in(files) == []
    assert {name for _, name in clerk.forgotten} >= {f"{ACME}/{id}/1.ogg" for id in (under_way, done)}


@over_both
async def test_only_a_failed_call_is_tried_again(make: Make) -> None:
    reader = Reader(ConnectionError("busy"))
    async with make(analyst=reader) as calls:
        ada = calls.user()
        id = await ada.upload()
        assert (await ada("POST", f"/{id}/retry")).status_code == 409
        async with calls.worker():
            failed = await ada.ended(id)
            assert (failed["status"], failed["error"]) == ("failed", "it failed by an internal error")
            assert failed["stages"][3]["attempts"] == 5
            assert failed["progress"] == 85, "all is there but the analysis"
            reader.error = None
            again = await asyncio.gather(*(ada("POST", f"/{id}/retry") for _ in range(3)))
            assert sorted(answer.status_code for answer in again) == [202, 409, 409]
            done = await ada.done(id)
        assert done["jobId"] != failed["jobId"]
        assert (await ada("POST", f"/{id}/retry")).status_code == 409
        assert (await ada("POST", f"/{uuid4()}/retry")).status_code == 404


@over_both
async def test_nobody_waits_for_ever_for_who_froze_while_they_wrote_a_call(
    calls: Calls, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_LOCK_TIMEOUT", "100ms")
    ada, frozen = calls.user(), connect()
    id = await ada.upload()
    with frozen.transaction():
        frozen.execute("select pg_advisory_xact_lock(hashtextextended(%s, 4))", [id])
        for method, path in (("POST", f"/{id}/retry"), ("DELETE", f"/{id}")):
            answer = await soon(ada(method, path))
            assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert (await ada("DELETE", f"/{id}")).status_code == 204


async def test_a_call_that_has_failed_shows_the_progress_of_what_there_is(make: Make) -> None:
    async with make(transcriber=Mute()) as calls:
        ada = calls.user()
        silent, spoken = await ada.upload(b"no sound at all"), await ada.upload()
        async with calls.worker():
            assert [(await ada.ended(id))["progress"] for id in (silent, spoken)] == [0, 30]
            jobs = [(await ada.call(id))["jobId"] for id in (silent, spoken)]
            told = [(await ada("GET", f"/api/jobs/{job}")).json() for job in jobs]
    assert [each["progress"]["percent"] for each in told] == [0, 30], "the job of it says the same"


@over_both
async def test_a_call_whose_job_was_cancelled_has_failed_and_may_be_tried_again(calls: Calls) -> None:
    ada = calls.user()
    id = await ada.upload()
    job = (await ada.call(id))["jobId"]
    assert (await ada("DELETE", f"/api/jobs/{job}")).status_code == 200
    call = await ada.call(id)
    assert (call["status"], call["error"], call["progress"]) == ("failed", "cancelled by its owner", 0)
    assert (await ada("POST", f"/{id}/retry")).status_code == 202
    async with calls.worker():
        await ada.done(id)


async def test_every_answer_is_documented(calls: Calls) -> None:
    paths = (await calls.nobody.client.get("/openapi.json")).json()["paths"]
    documented = {
        (method, path): sorted(operation["responses"])
        for path, operations in paths.items()
        if path.startswith("/api/v1/calls")
        for method, operation in operations.items()
    }
    assert documented == {
        ("post", "/api/v1/calls"): ["200", "201", "400", "401", "403", "408", "409", "413", "415", "422", "503", "507"],
        ("get", "/api/v1/calls"): ["200", "400", "401", "403", "422", "503"],
        ("get", "/api/v1/calls/{id}"): ["200", "400", "401", "404", "422", "503"],
        ("delete", "/api/v1/calls/{id}"): ["204", "400", "401", "404", "408", "413", "422", "503"],
        ("post", "/api/v1/calls/{id}/retry"): ["202", "400", "401", "404", "408", "409", "413", "422", "503"],
    }

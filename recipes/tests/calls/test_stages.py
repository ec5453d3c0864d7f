"""What becomes of a recording, stage by stage, and what a stage does that has been there before."""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from calls.asking import ACME, SOUND, Calls
from calls.conftest import Make, over_both
from calls.expected import files_made_of
from calls.providers import Clerk, Reader
from penstock import Penstock
from penstock.sandbox import work_folder
from penstock_recipes.calls.jobs import BACKOFF, MAX_ATTEMPTS, STAGES
from penstock_recipes.calls.providers.analysis import AnalysisFailed
from penstock_recipes.calls.stages import ABANDONED, FOLDER
from shared.asking import names_in
from tests.kit.fixtures import Connect

LASTING = ("analysis.json", "audio.flac", "transcript.json")
COLUMNS = [
    "id", "org_id", "call_id", "stage", "status", "payload", "attempts", "max_attempts", "available_at", "locked_at",
    "locked_by", "last_error", "created_at", "updated_at",
]  # fmt: skip
"""Of the table in the document that the recipe comes from."""


async def put_back(app: Penstock, id: str, name: str, data: bytes, kind: str) -> None:
    """A file that was removed is there again, as if the removal had failed."""
    path = f"{id}/{name}"
    await app.artifacts.aput(name, data, org=str(ACME), type=kind, path=path)


def test_attempts_are_those_of_the_seed() -> None:
    assert [BACKOFF.delay(attempt) for attempt in range(1, 8)] == [min(600, 30 * 2**n) for n in range(7)]
    assert MAX_ATTEMPTS == 5


@over_both
async def test_a_recording_becomes_audio_transcript_and_analysis(make: Make, files: Path, connect: Connect) -> None:
    clerk = Clerk(polls=2)
    async with make(transcriber=clerk) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            call = await ada.done(id)
        made = {type: await ada.file(call, type) for type in ("audio", "transcript", "analysis")}
    assert made == files_made_of(SOUND)
    assert names_in(files) == [f"_{ACME}/{id}/{name}" for name in LASTING]
    assert (call["seconds"], call["progress"], call["error"]) == (0.5, 100, None)
    assert [stage["stage"] for stage in call["stages"]] == list(STAGES)
    assert [(each["status"], each["attempts"], each["polls"]) for each in call["stages"]] == [
        ("done", 1, 0), ("done", 1, 0), ("done", 1, 2), ("done", 1, 0),
    ]  # fmt: skip
    name = f"{ACME}/{id}/1.ogg"
    assert clerk.started == [name]
    assert clerk.forgotten == [(f"{name}#1 0.50", name)]
    rows = connect().execute("select type, path from calls.artifacts order by type").fetchall()
    assert rows == [
        (type, f"_{ACME}/{id}/{name}") for type, name in zip(("analysis", "audio", "transcript"), LASTING, strict=True)
    ]


async def test_its_jobs_are_seen_in_the_columns_of_the_seed(calls: Calls, connect: Connect) -> None:
    async with calls.worker():
        id = await calls.user().upload()
        await calls.user().done(id)
    found = connect().execute("select * from calls.processing_jobs order by id")
    assert [column.name for column in found.description or ()] == COLUMNS
    jobs = [dict(zip(COLUMNS, row, strict=True)) for row in found.fetchall()]
    assert [job["stage"] for job in jobs] == list(STAGES)
    assert {(job["org_id"], job["call_id"], job["status"], job["attempts"]) for job in jobs} == {
        (ACME, UUID(id), "done", 0)
    }
    payloads = {job["stage"]: job["payload"] for job in jobs}
    folder = f"_{ACME}/{id}"
    assert payloads.pop("transcribe_poll") == {
        "operationId": f"{ACME}/{id}/1.ogg#1 0.50",
        "audioPath": f"{folder}/audio.flac",
        "oggPath": f"{folder}/audio.ogg",
    }
    assert list(payloads.values()) == [{}, {}, {}]


@over_both
async def test_a_failed_attempt_waits_as_long_as_the_seed_says(make: Make) -> None:
    async with make(analyst=Reader(ConnectionError("psst: the key is 1234")), backoff=BACKOFF) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            call = await ada.until(id, lambda call: call["stages"][3]["lastError"] is not None)
    assert (call["status"], call["error"]) == ("processing", None)
    analysis = call["stages"][3]
    assert (analysis["status"], analysis["attempts"], analysis["maxAttempts"]) == ("queued", 1, 5)
    assert analysis["lastError"] == "it failed by an internal error"
    waits = datetime.fromisoformat(analysis["availableAt"]) - datetime.fromisoformat(analysis["startedAt"])
    assert timedelta(seconds=30) <= waits < timedelta(seconds=60)


async def test_a_failed_attempt_is_seen_in_the_columns_of_the_seed(make: Make, connect: Connect) -> None:
    async with make(analyst=Reader(ConnectionError("psst: the key is 1234")), backoff=BACKOFF) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            await ada.until(id, lambda call: call["stages"][3]["lastError"] is not None)
    [job] = connect().execute(
        """
        select status, attempts, max_attempts, last_error, extract(epoch from available_at - locked_at)::float
          from calls.processing_jobs
         where stage = 'analyze'
        """
    )
    assert job[:4] == ("queued", 1, 5, "psst: the key is 1234")
    assert 30 <= job[4] < 60


@over_both
async def test_a_stage_that_finds_its_file_returns_early_and_still_removes_what_is_obsolete(
    make: Make, files: Path
) -> None:
    clerk, reader = Clerk(), Reader(AnalysisFailed("nothing to say about it"))
    async with make(transcriber=clerk, analyst=reader) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            failed = await ada.ended(id)
            assert (failed["status"], failed["error"]) == ("failed", "nothing to say about it")
            await put_back(calls.app, id, "raw", b"not even a recording", "raw")
            await put_back(calls.app, id, "audio.ogg", b"not even a sound", "ogg")
            reader.error = None
            assert (await ada("POST", f"/{id}/retry")).status_code == 202
            call = await ada.done(id)
        made = {type: await ada.file(call, type) for type in ("audio", "transcript", "analysis")}
    assert made == files_made_of(SOUND)
    assert len(clerk.started) == 1
    assert names_in(files) == [f"_{ACME}/{id}/{name}" for name in LASTING]


@over_both
@pytest.mark.parametrize("kind", ["extract_audio", "analyze"])
async def test_a_stage_that_runs_twice_makes_its_file_once(
    make: Make, files: Path, connect: Connect, kind: str
) -> None:
    reader = Reader()
    async with make(analyst=reader) as calls:
        ada = calls.user()
        async with calls.worker():
            id = await ada.upload()
            await ada.done(id)
            before = connect().execute("select id, stored_at from penstock.artifacts order by id").fetchall()
            again: Any = calls.app.handler(kind).using(org=str(ACME))
            await (await again.aenqueue(org_id=ACME, call_id=UUID(id))).aresult(timeout=20)
    assert connect().execute("select id, stored_at from penstock.artifacts order by id").fetchall() == before
    assert connect().execute("select count(*) from calls.artifacts").fetchone() == (3,)
    assert reader.asked == 1
    assert names_in(files) == [f"_{ACME}/{id}/{name}" for name in LASTING]


@over_both
async def test_a_file_that_is_only_on_record_is_made_again(calls: Calls, files: Path) -> None:
    ada = calls.user()
    async with calls.worker():
        id = await ada.upload()
        await ada.done(id)
        (files / f"_{ACME}/{id}/analysis.json").unlink()
        again: Any = calls.app.handler("analyze").using(org=str(ACME))
        await (await again.aenqueue(org_id=ACME, call_id=UUID(id))).aresult(timeout=20)
    call = await ada.call(id)
    assert await ada.file(call, "analysis") == files_made_of(SOUND)["analysis"]


def test_what_a_killed_worker_left_on_its_machine_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    long_ago = time.time() - 3 * 3600
    for name in ("penstock-call-dead", "penstock-call-busy", "somebody-elses"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "raw").write_bytes(SOUND)
        if name != "penstock-call-busy":
            os.utime(tmp_path / name, (long_ago, long_ago))
    with work_folder(FOLDER, abandoned=ABANDONED) as folder:
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, "penstock-call-busy", "somebody-elses"}
    assert not folder.exists()

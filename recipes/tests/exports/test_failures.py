"""What goes wrong, and what users are told about it."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from exports.asking import Exports, serving, stored_in
from exports.resumes import SHORT, resume_of
from penstock import Backoff, Penstock
from penstock_recipes.exports import install
from tests.kit.fixtures import Connect

NOT_STORED = "the file could not be stored: the storage does not answer or refuses it"
ENDLESS = resume_of(100, points=50)
"""Takes seconds to set: some three hundred pages."""


@asynccontextmanager
async def impatient(url: str, files: str | Path, **choices: Any) -> AsyncIterator[Exports]:
    async with Penstock(url, artifacts=files) as app:
        install(app, **choices)
        async with serving(app) as exports:
            yield exports


async def test_an_export_that_takes_too_long_is_tried_again_later(url: str, files: Path) -> None:
    async with impatient(url, files, timeout=1.0) as exports:
        ada = exports.user()
        job = await ada.export(await ada.document("Endless", ENDLESS))
        async with exports.worker():
            waiting = await ada.until(job, lambda job: job["status"] == "pending" and job["attempts"] == 1)
        assert (waiting["resultUrl"], waiting["error"]) == (None, "timed out after 1 s")
        assert stored_in(files) == []
        assert await ada.history() == []


async def test_waits_grow_from_a_minute_to_an_hour_and_five_attempts_are_enough(url: str, tmp_path: Path) -> None:
    """Files cannot be stored: where their folder should be there is a file."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    async with impatient(url, blocked) as exports:
        ada = exports.user()
        document = await ada.document()
        job = await ada.export(document)
        handle = exports.app.handle(UUID(job))
        async with exports.worker():
            for attempt, minutes in ((1, 1), (2, 2), (3, 4), (4, 8)):
                waiting = await ada.until(job, waits_after(attempt))
                now = (await handle.arefresh()).started_at
                assert now is not None
                wait = (datetime.fromisoformat(waiting["runAfter"]) - now).total_seconds()
                assert minutes * 60 * 0.8 - 1 <= wait <= minutes * 60 * 1.2 + 20
                assert waiting["error"] == NOT_STORED, "neither SQL nor paths"
                when = datetime.fromisoformat(waiting["runAfter"]).astimezone(UTC)
                told = f"Attempt {attempt} of 5 failed; the next is at {when:%Y-%m-%d %H:%M:%S} UTC"
                assert waiting["message"] == told
                if attempt == 1:
                    _, event = await anext(ada.live_events(job))
                    assert (event["status"], event["error"], event["message"]) == ("pending", NOT_STORED, told)
                    batch = (await ada.batch(document))["batchId"]
                    [member] = (await ada.get(f"/export/batch/{batch}")).json()["data"]["jobs"]
                    seen = ("status", "error", "message", "runAfter")
                    assert [member[each] for each in seen] == [waiting[each] for each in seen]
                await bring_forward(exports, job)
            failed = await ada.ended(job)
        assert (failed["status"], failed["attempts"], failed["error"]) == ("failed", 5, NOT_STORED)
        events = await ada.events(job)
        assert events[-1] == ("failed", {"jobId": job, "resultUrl": None, "error": failed["error"]})


def waits_after(attempt: int) -> Callable[[dict[str, Any]], bool]:
    return lambda job: job["status"] == "pending" and job["attempts"] == attempt


async def bring_forward(exports: Exports, job: str) -> None:
    """The time of its next attempt has come."""
    async with await psycopg.AsyncConnection.connect(exports.app.url()) as connection:
        await connection.execute("update penstock.jobs set run_at = now() where id = %s", [job])


async def test_a_backoff_has_the_seeds_formula() -> None:
    app = Penstock("postgresql://nowhere")
    install(app)
    backoff = app.handler("export_pdf").options.backoff
    assert backoff == Backoff(60, cap=3600, factor=2, jitter=0.2)
    middle = [backoff.delay(attempt, dice=lambda: 0.5) for attempt in range(1, 8)]
    assert middle == [60, 120, 240, 480, 960, 1920, 3600]
    assert (backoff.delay(1, dice=lambda: 0.0), backoff.delay(1, dice=lambda: 1.0)) == (48, 72)


async def test_a_document_that_is_deleted_meanwhile_fails_at_once(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    job = await ada.export(document)
    await ada.delete(f"/documents/{document}")
    async with exports.worker():
        failed = await ada.ended(job)
    assert (failed["status"], failed["error"], failed["attempts"]) == ("failed", "document not found", 1)


@pytest.mark.parametrize("data", ["{}", "[]", '{"profile": {"name": "Ada", "shoeSize": 39}}'])
async def test_what_was_written_past_the_api_and_cannot_be_printed_says_why(
    exports: Exports, connect: Connect, data: str
) -> None:
    ada = exports.user()
    document = await ada.document()
    connect().execute("update exports.documents set data = %s::jsonb", [data])
    async with exports.worker():
        failed = await ada.ended(await ada.export(document))
    assert (failed["status"], failed["attempts"]) == ("failed", 1)
    assert failed["error"].startswith("the document cannot be printed: ")


async def test_cancelling_stops_the_rendering(exports: Exports, files: Path) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document("Endless", ENDLESS))
    of_others = children()
    async with exports.worker():
        await ada.until(job, lambda job: job["status"] == "processing" and job["progress"] == 25)
        [child] = children() - of_others
        answer = await ada.delete(f"/export/job/{job}")
        assert (answer.status_code, answer.json()["data"]["message"]) == (200, "Job is under way and was asked to stop")
        cancelled = await ada.ended(job)
        assert cancelled["status"] == "cancelled"
        assert child not in children(), "whatever it was doing, it does no more"
        done = await ada.completed(await ada.export(await ada.document("Short", SHORT)))
    [line] = await ada.history()
    assert line["id"] == done["historyId"]
    assert stored_in(files) == [files / line["filePath"]]


def children() -> set[int]:
    """The processes of handlers."""
    return {child.pid for child in multiprocessing.active_children() if child.pid and child.name == "penstock handler"}


async def test_the_worker_answers_while_pages_are_set(exports: Exports) -> None:
    """A short export passes a long one."""
    ada = exports.user()
    long = await ada.export(await ada.document("Endless", ENDLESS))
    async with exports.worker():
        await ada.until(long, lambda job: job["progress"] == 25)
        eve = exports.user("eve")
        await asyncio.wait_for(eve.completed(await eve.export(await eve.document())), 30)
        await ada.delete(f"/export/job/{long}")
        await ada.ended(long)

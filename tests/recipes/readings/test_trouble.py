"""What goes wrong in the middle of a reading: providers, workers, people who change their minds."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from penstock import Backoff
from penstock.recipes.readings import Calculation, Chapter, GaveUp, Speech, Written
from penstock.recipes.readings.flow import BACKOFF
from penstock.recipes.readings.voice import encoding
from penstock.recipes.readings.voice.espeak import EspeakVoice
from tests.conftest import Connect
from tests.recipes.readings.conftest import MakeApp
from tests.recipes.readings.people import BOTH, ShortWriter
from tests.recipes.readings.reading import reading


class Faltering(ShortWriter):
    """Fails so many times for each chapter."""

    def __init__(self, times: int, error: Exception) -> None:
        self._times = times
        self._error = error
        self.calls: dict[str, int] = {}

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        self.calls[chapter.title] = self.calls.get(chapter.title, 0) + 1
        if self.calls[chapter.title] <= self._times:
            raise self._error
        return await super().write(chapter, calculation)


class Hoarse(EspeakVoice):
    """Fails the first time for each text."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    async def speak(self, paragraphs: list[str]) -> Speech:
        self.heard.append(paragraphs[0])
        if self.heard.count(paragraphs[0]) == 1:
            raise ConnectionError("the voice is gone")
        return await super().speak(paragraphs)


class Endless(ShortWriter):
    """Begins, and waits for what never comes."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        raise AssertionError


def test_attempts_are_those_of_the_seed() -> None:
    assert [BACKOFF.delay(attempt) for attempt in (1, 2)] == [5, 10]


async def test_a_provider_may_fail_twice(make: MakeApp, connect: Connect) -> None:
    text, voice = Faltering(2, ConnectionError("busy")), Hoarse()
    async with reading(make(text=text, voice=voice)) as ada:
        job = await ada.ended(await ada.start(BOTH))
    assert job["status"] == "completed"
    assert text.calls == {"Portraits": 3, "Hunger": 3}
    assert len(voice.heard) == 4
    attempts = connect().execute("select attempt from penstock.history where kind = 'text_generation'").fetchall()
    assert attempts == [(3,), (3,)]


async def test_a_provider_that_fails_thrice_fails_the_reading(make: MakeApp) -> None:
    async with reading(make(text=Faltering(3, ConnectionError("psst: the key is 1234")))) as ada:
        id = await ada.start(BOTH)
        job = await ada.ended(id)
        assert job["status"] == "failed"
        assert job["error"]
        assert "1234" not in job["error"]
        # brought back, it ends well
        assert (await ada.ask("POST", f"/api/jobs/{id}/retry")).status_code == 202
        assert (await ada.ended(id))["status"] == "completed"


async def test_a_provider_that_gives_up_fails_the_reading_at_once_and_says_why(make: MakeApp) -> None:
    text = Faltering(9, GaveUp("the text service declined to write this chapter"))
    async with reading(make(text=text)) as ada:
        id = await ada.start(BOTH)
        events = await ada.events(id)
        job = await ada.look(id)
        children = (await ada.ask("GET", f"/api/jobs?parentId={id}")).json()["jobs"]
    assert (events[-1]["status"], job["status"]) == ("failed", "failed")
    assert max(text.calls.values()) == 1
    assert "of 7 jobs failed" in job["error"]
    told = [child["error"] for child in children if child["status"] == "failed"]
    assert any("the text service declined to write this chapter" in each for each in told)
    assert not job["artifacts"]


async def test_a_reading_cancelled_in_the_middle_stops(make: MakeApp, connect: Connect) -> None:
    text = Endless()
    async with reading(make(text=text)) as ada:
        id = await ada.start(BOTH)
        await asyncio.wait_for(text.begun.wait(), 20)
        assert (await ada.ask("DELETE", f"/api/jobs/{id}")).status_code == 200
        await asyncio.wait_for(text.stopped.wait(), 20)
        job = await ada.ended(id)
    assert job["status"] == "cancelled"
    assert job["artifacts"] == []
    states = connect().execute("select kind, state::text from penstock.history where kind <> 'calculation'").fetchall()
    assert {state for _, state in states} == {"cancelled"}
    assert connect().execute("select count(*) from penstock.jobs").fetchone() == (0,)


async def test_where_mp3_fails_the_reading_has_m4a(make: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lameenc.Encoder", None)
    async with reading(make(chapters=1)) as ada:
        job = await ada.ended(await ada.start(BOTH))
        [audio] = [each for each in job["artifacts"] if each["name"].startswith("audio/")]
        assert (audio["name"], audio["type"], audio["contentType"]) == ("audio/chapter1.m4a", "audio_m4a", "audio/mp4")
        speech = encoding.decode(await ada.file(audio))
    assert abs(speech.seconds - audio["duration"]) < 0.3


@contextmanager
def worker(url: str, files: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """`penstock worker` in a process of its own."""
    command = [sys.executable, "-m", "penstock.cli", "worker", "tests.recipes.readings.program:app", "--lease", "3"]
    environment = os.environ | {"DATABASE_URL": url, "PENSTOCK_ARTIFACTS": str(files)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def test_a_killed_worker_loses_nothing_of_a_reading(make: MakeApp, url: str, tmp_path: Path) -> None:
    """It runs again from where it was, to the same files as a reading that nobody disturbed."""
    app = make(chapters=4, backoff=Backoff.constant(0.01))
    async with reading(app, worker=False) as ada:
        id = await ada.start(BOTH)
        with worker(url, tmp_path / "files") as first:
            await ada.until(id, lambda job: len(job["artifacts"]) >= 2)
            first.send_signal(signal.SIGKILL)
            first.wait()
        assert (await ada.look(id))["status"] == "processing"
        with worker(url, tmp_path / "files"):
            job = await ada.ended(id)
            assert job["status"] == "completed"
            undisturbed = await ada.ended(await ada.start(BOTH))
    digests = [
        {each.name: each.digest for each in await app.artifacts.alist(UUID(one["id"])) if "full" not in each.name}
        for one in (job, undisturbed)
    ]
    assert len(digests[0]) == 12
    assert digests[0] == digests[1]
    assert sorted(each["name"] for each in job["artifacts"]) == sorted(
        each["name"] for each in undisturbed["artifacts"]
    )

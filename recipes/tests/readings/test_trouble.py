"""What goes wrong in the middle of a reading: providers, workers, people who change their minds."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from penstock import Backoff
from penstock.cli.worker import slots_of
from penstock_recipes.readings import Calculation, Chapter, GaveUp, Speech, Written
from penstock_recipes.readings.jobs import BACKOFF
from penstock_recipes.readings.providers.voice import codec
from penstock_recipes.readings.providers.voice.espeak import EspeakVoice
from readings.conftest import MakeApp
from readings.people import ADA, BOTH, ShortWriter, Speechless
from readings.reading import Reader, reading
from shared.programs import environment
from tests.kit.fixtures import Connect
from tests.kit.until import soon
from tests.kit.working import working


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


async def test_a_chapter_that_fails_leaves_the_others_alone_and_is_named(make: MakeApp) -> None:
    text = Speechless(GaveUp("the text service declined to write this chapter"))
    async with reading(make(text=text, chapters=3)) as ada:
        id = await ada.start(BOTH)
        events = await ada.events(id)
        job = await ada.look(id)
        children = (await ada.ask("GET", f"/api/jobs?parent={id}")).json()["jobs"]
        assert (events[-1]["state"], job["status"]) == ("failed", "failed")
        assert job["error"] == "chapter 2, Hunger, could not be written"
        assert job["progress"]["percent"] < 100
        told = [child["error"] for child in children if child["state"] == "failed"]
        assert told == ["Hunger: the text service declined to write this chapter"]
        assert sorted(each["name"] for each in job["artifacts"]) == [
            f"{kind}/chapter{number}{ending}"
            for kind, ending in (("audio", ".mp3"), ("json", "_metadata.json"), ("pdf", ".pdf"))
            for number in (1, 3)
        ]
        kept = {each["name"]: each["id"] for each in job["artifacts"]}
        # brought back, it makes what is missing and nothing else
        assert (await ada.ask("POST", f"/api/jobs/{id}/retry")).status_code == 202
        job = await ada.ended(id)
        assert (job["status"], len(job["artifacts"])) == ("completed", 11)
        assert {each["name"]: each["id"] for each in job["artifacts"] if each["name"] in kept} == kept


async def test_a_voice_that_fails_is_named_with_its_chapter(make: MakeApp) -> None:
    class Mute(EspeakVoice):
        async def speak(self, paragraphs: list[str]) -> Speech:
            if "Hunger" in paragraphs[0]:
                raise ConnectionError("psst")
            return await super().speak(paragraphs)

    async with reading(make(voice=Mute())) as ada:
        job = await ada.ended(await ada.start(BOTH))
    assert (job["status"], job["error"]) == ("failed", "chapter 2, Hunger, could not be recorded")
    assert "audio/chapter1.mp3" in {each["name"] for each in job["artifacts"]}


async def test_a_second_worker_gets_half_of_the_recordings(make: MakeApp, connect: Connect) -> None:
    """A worker takes as many as it can make at once, and leaves the others to whoever is there."""

    class Held(EspeakVoice):
        def __init__(self) -> None:
            super().__init__(at_once=2)
            self.speaking = 0
            self.four = asyncio.Event()
            self.go = asyncio.Event()

        async def speak(self, paragraphs: list[str]) -> Speech:
            self.speaking += 1
            if self.speaking == 4:
                self.four.set()
            await self.go.wait()
            return Speech(bytes(2 * 22_050), 22_050)

    voice = Held()
    app = make(voice=voice, chapters=6)
    slots = slots_of(None, app)
    assert slots["readings_audio"] == 2
    assert slots_of("readings_audio,readings_text:3", app) == {"readings_audio": 2, "readings_text": 3}
    async with reading(app, worker=False) as ada, working(app, slots):
        id = await ada.start(BOTH)
        running = "select count(*) from penstock.jobs where kind = 'audio_generation' and state = 'running'"
        await ada.until(id, lambda job: job["progress"]["phase"] == "audio")
        assert connect().execute(running).fetchone() == (2,)
        async with working(app, slots):
            await soon(voice.four.wait())
            assert connect().execute(running).fetchone() == (4,)
            voice.go.set()
            assert (await ada.ended(id))["status"] == "completed"


async def test_who_clicks_twice_gets_the_reading_that_is_under_way(make: MakeApp, connect: Connect) -> None:
    async with reading(make(), worker=False) as ada:
        clicks = await asyncio.gather(*(ada.start(BOTH) for _ in range(4)))
        assert len(set(clicks)) == 1
        without, unknown = ({"person1": ADA | {"birthTime": None}}, {"person1": {**ADA}})
        del unknown["person1"]["birthTime"]
        assert await ada.start(without) == await ada.start(unknown) != clicks[0]
        eve = Reader(ada.client, "eve")
        hers = await eve.start(BOTH)
        assert hers != clicks[0]
        assert (await eve.look(hers))["owner"] == "eve"
        # one flow each, and nothing besides
        assert connect().execute("select count(*) from penstock.jobs").fetchone() == (3 * 8,)
        await ada.ask("DELETE", f"/api/jobs/{clicks[0]}")
        assert await ada.start(BOTH) != clicks[0], "one that has ended stands for nothing"


async def test_readings_are_few_and_kept_for_a_month(make: MakeApp, connect: Connect) -> None:
    async with reading(make(chapters=1)) as ada:
        job = await ada.ended(await ada.start(BOTH))
        [[shortest, longest]] = connect().execute(
            "select min(expires_at - created_at), max(expires_at - created_at) from penstock.artifacts"
        )
        assert timedelta(days=29) < shortest <= longest <= timedelta(days=31)
        assert len(job["artifacts"]) == 5
    async with reading(make(), worker=False) as ada:
        people = [{"person1": ADA | {"name": f"Number {number}"}} for number in range(4)]
        for each in people[:3]:
            await ada.start(each)
        refused = await ada.ask("POST", "/api/jobs/start", json={"type": "nuclear_v2", "params": people[3]})
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)


async def test_a_reading_cancelled_in_the_middle_stops(make: MakeApp, connect: Connect) -> None:
    text = Endless()
    async with reading(make(text=text)) as ada:
        id = await ada.start(BOTH)
        await soon(text.begun.wait())
        assert (await ada.ask("DELETE", f"/api/jobs/{id}")).status_code == 200
        await soon(text.stopped.wait())
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
        assert (audio["name"], audio["type"], audio["content_type"]) == ("audio/chapter1.m4a", "audio_m4a", "audio/mp4")
        speech = codec.decode(await ada.file(audio))
    assert abs(speech.seconds - audio["duration"]) < 0.3


@contextmanager
def worker(url: str, files: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """`penstock worker` in a process of its own."""
    command = [sys.executable, "-m", "penstock.cli", "worker", "readings.program:app", "--lease", "3"]
    process = subprocess.Popen(
        command,
        env=environment(DATABASE_URL=url, PENSTOCK_ARTIFACTS=str(files)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
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

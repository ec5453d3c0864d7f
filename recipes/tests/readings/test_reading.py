"""A reading from the request to its files: through HTTP, with a real worker and a real store."""

import asyncio
import io
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import av
import pikepdf
import pytest

from penstock_recipes.readings import Calculation, Person, jobs
from penstock_recipes.readings.chart import calculate
from penstock_recipes.readings.providers.text.offline import OfflineWriter
from penstock_recipes.readings.shapes import System, in_words_of_the_document
from readings.conftest import MakeApp
from readings.people import ADA, BOTH
from readings.reading import Reader, reading
from shared.hostile import MANY, assert_broken_json_names_the_body, assert_refused_in_short
from tests.kit.fixtures import Connect

RANGES = {
    "queued": (0, 0),
    "calculating": (0, 10),
    "text": (10, 50),
    "pdf": (50, 70),
    "audio": (70, 95),
    "finalizing": (95, 99),
    "complete": (100, 100),
}


def assert_as_in_the_seed(events: Sequence[dict[str, Any]], chapters: int) -> None:
    """Phases in their order, percentages within their ranges, nothing ever going back."""
    told = [in_words_of_the_document(event) for event in events]
    shown = [each["progress"] for each in told]
    places = [list(RANGES).index(each["phase"]) for each in shown]
    assert places == sorted(places)
    assert [each["percent"] for each in shown] == sorted(each["percent"] for each in shown)
    for each in shown:
        least, most = RANGES[each["phase"]]
        assert least <= each["percent"] <= most, each
    done = [each["docsComplete"] or 0 for each in shown]
    assert done == sorted(done)
    assert {each["docsTotal"] for each in shown} <= {None, chapters}
    assert {each["status"] for each in told[:-1]} <= {"queued", "processing"}
    assert (told[-1]["status"], done[-1]) == ("completed", chapters)


@pytest.mark.parametrize("chapters", [4, pytest.param(16, marks=pytest.mark.slow)])
async def test_a_whole_reading(make: MakeApp, connect: Connect, chapters: int) -> None:
    app = make(text=OfflineWriter(), chapters=chapters)
    async with reading(app) as ada:
        id = await ada.start(BOTH)
        events = await ada.events(id)
        job = await ada.look(id)
        await assert_complete(ada, job, chapters=chapters)
    assert_as_in_the_seed(events, chapters)
    told = [event["progress"] for event in events]
    assert {"text", "pdf", "audio"} <= {each["phase"] for each in told}
    assert (job["progress"]["phase"], job["progress"]["docsComplete"]) == ("complete", chapters)
    assert any((each["message"] or "").startswith("Generating chapter: ") for each in told)
    assert job["output"]["chapters"] == chapters
    assert chapters * 600 <= job["output"]["words"] <= chapters * 1000
    kinds = Counter(row[0] for row in connect().execute("select kind from penstock.history"))
    stages = ("text_generation", "pdf_generation", "audio_generation")
    assert kinds == dict.fromkeys(stages, chapters) | {"calculation": 1, "nuclear_v2": 1}
    # no bytes in the database: the text of a chapter is the most that is kept there
    [[longest]] = connect().execute("select max(length(output::text)) from penstock.history")
    assert longest < 16_000
    assert connect().execute("select count(*) from penstock.steps").fetchone() == (0,)


async def assert_complete(ada: Reader, job: dict[str, Any], chapters: int, folder: str = "ada") -> None:
    """Every artifact of the seed is there, at its path, and is what it says."""
    assert (job["kind"], job["status"], job["state"], job["error"]) == ("nuclear_v2", "completed", "succeeded", None)
    assert job["args"]["person1"]["name"] == "Ada"
    assert job["progress"]["percent"] == 100
    files = {artifact["name"]: artifact for artifact in job["artifacts"]}
    numbers = range(1, chapters + 1)
    assert sorted(files) == sorted(
        [f"audio/chapter{n}.mp3" for n in numbers]
        + [f"pdf/chapter{n}.pdf" for n in numbers]
        + [f"json/chapter{n}_metadata.json" for n in numbers]
        + ["pdf/full_nuclear.pdf", "json/full_nuclear.json"]
    )
    assert Counter(artifact["type"] for artifact in job["artifacts"]) == {
        "audio_mp3": chapters, "pdf": chapters + 1, "json": chapters + 1,
    }  # fmt: skip
    whole = json.loads(await ada.file(files["json/full_nuclear.json"]))
    assert whole["id"] == job["id"]
    assert [chapter["chapter"] for chapter in whole["chapters"]] == list(numbers)
    for chapter in whole["chapters"]:
        number = chapter["chapter"]
        # {user_id}/{job_id}/audio/chapter1.mp3, where the job is the whole reading
        assert chapter["audio"] == f"{folder}/{job['id']}/audio/chapter{number}.mp3"
        assert chapter["pdf"] == f"{folder}/{job['id']}/pdf/chapter{number}.pdf"
        about = json.loads(await ada.file(files[f"json/chapter{number}_metadata.json"]))
        assert (about["title"], about["words"]) == (chapter["title"], chapter["words"])
        with pikepdf.open(io.BytesIO(await ada.file(files[f"pdf/chapter{number}.pdf"]))) as pdf:
            assert len(pdf.pages) == about["pages"] == chapter["pages"]
        audio = files[f"audio/chapter{number}.mp3"]
        with av.open(io.BytesIO(await ada.file(audio)), "r") as container:
            assert container.duration is not None
            assert abs(container.duration / 1e6 - audio["duration"]) < 0.3
            assert abs((container.streams.audio[0].bit_rate or 0) - 128_000) < 1000
        # people read between 100 and 260 words a minute
        assert 60 * chapter["words"] / 260 < audio["duration"] < 60 * chapter["words"] / 100 + 20
    with pikepdf.open(io.BytesIO(await ada.file(files["pdf/full_nuclear.pdf"]))) as book:
        assert len(book.pages) == job["output"]["pages"] > sum(chapter["pages"] for chapter in whole["chapters"])


async def test_the_calculation_is_five_percent_while_it_runs(make: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, go = asyncio.get_running_loop(), asyncio.Event()

    def slowly(person1: Person, person2: Person | None, systems: Sequence[System]) -> Calculation:
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result(30)
        return calculate(person1, person2, systems)

    monkeypatch.setattr(jobs, "calculate", slowly)
    async with reading(make()) as ada:
        id = await ada.start(BOTH)
        job = await ada.until(id, lambda job: job["status"] == "processing")
        assert job["progress"] == {
            "percent": 5,
            "phase": "calculating",
            "docsComplete": 0,
            "docsTotal": 2,
            "message": "Calculating the birth charts…",
            "done": 0,
            "total": 2,
            "failed": None,
            "reason": None,
        }
        go.set()
        assert (await ada.ended(id))["status"] == "completed"


async def test_a_reading_whose_book_waits_for_a_worker_is_still_under_way(make: MakeApp) -> None:
    async with reading(make(queues={**jobs.QUEUES, "book": "nobody is here"})) as ada:
        id = await ada.start(BOTH)
        job = await ada.until(id, lambda job: job["state"] == "ready")
    assert job["status"] == "processing"
    assert (job["progress"]["percent"], job["progress"]["docsComplete"]) == (95, 2)


async def test_a_reading_may_be_for_one_person_and_one_system(make: MakeApp) -> None:
    async with reading(make(chapters=1)) as ada:
        id = await ada.start({"person1": ADA, "systems": ["vedic"]})
        assert_as_in_the_seed(await ada.events(id), 1)
        job = await ada.look(id)
        await assert_complete(ada, job, chapters=1)
        other = Reader(ada.client, "eve")
        assert (await other.ask("GET", f"/api/jobs/{id}")).status_code == 404
        artifact = job["artifacts"][0]["id"]
        assert (await other.ask("GET", f"/api/artifacts/{artifact}")).status_code == 404


async def test_clients_of_the_document_and_of_the_server_are_answered_alike(make: MakeApp) -> None:
    app = make(chapters=1)
    async with reading(app, worker=False) as ada:
        answer = await ada.ask("POST", "/api/jobs/start", json={"type": "nuclear_v2", "params": BOTH})
        id = answer.json()["id"]
        assert answer.json() == {"id": id, "jobId": id, "status": "queued", "created": True}
        assert answer.headers["location"].endswith(f"/api/jobs/{id}")
        same = await ada.ask("POST", "/api/jobs", json={"kind": "nuclear_v2", "args": BOTH})
        assert same.json() == {"id": id, "state": "blocked", "created": False}
        job = await ada.look(id)
        assert (job["status"], job["state"], job["args"]["person1"]["name"]) == ("queued", "blocked", "Ada")
        assert (job["progress"]["phase"], job["progress"]["percent"]) == ("queued", 0)
        # a job that is no reading, as the server tells it
        [listed] = (await ada.ask("GET", f"/api/jobs?parent={id}&kind=calculation")).json()["jobs"]
        assert await ada.look(listed["id"]) == listed
        for way in ("GET", "PUT", "DELETE"):
            refused = await ada.ask(way, "/api/jobs/start")
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


async def test_of_many_faults_a_few_are_told_at_once(make: MakeApp) -> None:
    async with reading(make(), worker=False) as ada:
        post = partial(ada.ask, "POST")
        await assert_refused_in_short(post, "/api/jobs/start", MANY, 422)
        await assert_broken_json_names_the_body(post, "/api/jobs/start", 422)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "params.person1"),
        ({"person1": ADA, "systems": []}, "params.systems"),
        ({"person1": ADA, "systems": ["tarot"]}, "params.systems[0]"),
        ({"person1": ADA | {"latitude": 100}}, "params.person1.latitude"),
        ({"person1": ADA | {"timeZone": "Mars/Olympus"}}, "params.person1"),
        ({"person1": ADA, "person2": {"name": "Eve"}}, "params.person2"),
        ({"person1": ADA, "person3": ADA}, "params.person3"),
    ],
)
async def test_wrong_params_are_refused_by_name_and_nothing_is_written(
    make: MakeApp, connect: Connect, params: dict[str, Any], field: str
) -> None:
    async with reading(make(), worker=False) as ada:
        answer = await ada.ask("POST", "/api/jobs/start", json={"type": "nuclear_v2", "params": params})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert connect().execute("select count(*) from penstock.jobs").fetchone() == (0,)


async def test_only_the_reading_itself_is_open_to_users(make: MakeApp) -> None:
    async with reading(make(), worker=False) as ada:
        kinds = (await ada.ask("GET", "/api/kinds")).json()["kinds"]
        assert [kind["kind"] for kind in kinds] == ["nuclear_v2"]
        for kind in ("text_generation", "calculation"):
            answer = await ada.ask("POST", "/api/jobs/start", json={"type": kind, "params": {"chapter": 1}})
            assert (answer.status_code, answer.json()["detail"]) == (403, f"type: {kind!r} is not open to users")

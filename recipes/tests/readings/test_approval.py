"""Recordings that a person approves first: nothing is spoken before, and what was written stays when they refuse."""

import pytest

from penstock import Penstock, PenstockError
from penstock_recipes.readings import GaveUp, Speech, install
from readings.conftest import MakeApp
from readings.people import BOTH, Speechless
from readings.reading import Reader, reading
from tests.kit.serving import AS_SERVICE
from tests.kit.until import until


class Mute:
    """A voice that counts what it was paid for."""

    def __init__(self) -> None:
        self.spoken: list[str] = []

    async def speak(self, paragraphs: list[str]) -> Speech:
        self.spoken.append(paragraphs[0])
        return Speech(bytes(48_000), 24_000)


async def asked(ada: Reader) -> dict[str, object]:
    async def look() -> list[dict[str, object]]:
        answer = await ada.client.get("/api/approvals", headers=AS_SERVICE)
        approvals: list[dict[str, object]] = answer.json()["approvals"]
        return approvals

    [one] = await until(look, 60)
    return one


async def answer(ada: Reader, job: object, **said: object) -> int:
    return (await ada.client.post(f"/api/jobs/{job}/approve", json=said, headers=AS_SERVICE)).status_code


async def test_nothing_is_recorded_before_somebody_agrees(make: MakeApp) -> None:
    voice = Mute()
    async with reading(make(voice=voice, approve_recordings=True)) as ada:
        refused = await ada.start(BOTH)
        question = await asked(ada)
        assert str(question["question"]).startswith("Record 2 chapters, ")
        waits = await ada.until(refused, lambda job: job["progress"]["phase"] == "approval")
        assert (waits["status"], waits["progress"]["percent"]) == ("processing", 70)
        assert await answer(ada, question["job"], approved=False, comment="too dear") == 200
        job = await ada.ended(refused)
        assert (job["status"], job["error"]) == (
            "cancelled",
            "the service key refused the recordings: too dear; what was written is kept",
        )
        written = {f"{kind}/{name}" for kind, name in (("json", "full_nuclear.json"), ("pdf", "full_nuclear.pdf"))}
        for number in (1, 2):
            written |= {f"json/chapter{number}_metadata.json", f"pdf/chapter{number}.pdf"}
        assert {each["name"] for each in job["artifacts"]} == written
        # an answer is final, and whoever changes their mind starts another
        assert await answer(ada, question["job"], approved=True) == 409
        assert voice.spoken == []
        id = await ada.start(BOTH)
        assert await answer(ada, (await asked(ada))["job"], approved=True) == 200
        assert (await ada.ended(id))["status"] == "completed"
    assert len(voice.spoken) == 2


async def test_nobody_is_asked_about_a_part_of_the_chapters(make: MakeApp) -> None:
    """One could not be written: none is recorded, and there is one question about them all when it is there."""
    text, voice = Speechless(GaveUp("declined")), Mute()
    async with reading(make(text=text, voice=voice, approve_recordings=True)) as ada:
        id = await ada.start(BOTH)
        job = await ada.ended(id)
        assert (job["status"], job["error"]) == ("failed", "chapter 2, Hunger, could not be written")
        assert {each["type"] for each in job["artifacts"]} == {"pdf", "json"}
        assert voice.spoken == []
        assert (await ada.ask("POST", f"/api/jobs/{id}/retry")).status_code == 202
        question = await asked(ada)
        assert str(question["question"]).startswith("Record 2 chapters, ")
        assert await answer(ada, question["job"], approved=True) == 200
        assert (await ada.ended(id))["status"] == "completed"
    assert len(voice.spoken) == 2


def test_the_setting_is_off_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READINGS_APPROVE_RECORDINGS", "please")
    with Penstock("postgresql://nowhere") as app, pytest.raises(PenstockError, match="must be 0 or 1"):
        install(app, voice=Mute())

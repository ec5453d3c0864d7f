"""Readings: sixteen chapters about one person or two, written, printed and read aloud, as one flow.

`penstock up penstock_recipes.readings:app`, or `install(app)` into an application of your own.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock import Backoff, Penstock, PenstockError
from penstock_recipes.application import made_on_demand
from penstock_recipes.pages import add_page
from penstock_recipes.readings.chapters import CHAPTERS, Chapter
from penstock_recipes.readings.chart import Calculation
from penstock_recipes.readings.jobs import BACKOFF, KIND, QUEUES, Stage, add_flow
from penstock_recipes.readings.providers.text import GaveUp, Section, TextProvider, Written
from penstock_recipes.readings.providers.voice import Speech, VoiceProvider
from penstock_recipes.readings.shapes import Person
from penstock_recipes.requirements import require

if TYPE_CHECKING:
    from fastapi import APIRouter

GIGABYTE = 1024**3
DAY = 24 * 3600.0

__all__ = [
    "CHAPTERS",
    "KIND",
    "Calculation",
    "Chapter",
    "GaveUp",
    "Person",
    "Section",
    "Speech",
    "TextProvider",
    "VoiceProvider",
    "Written",
    "install",
    "make_app",
]


def install(
    app: Penstock,
    *,
    text: TextProvider | None = None,
    voice: VoiceProvider | None = None,
    chapters: int = len(CHAPTERS),
    queues: Mapping[Stage, str] = QUEUES,
    backoff: Backoff = BACKOFF,
    max_attempts: int = 3,
    per_day: int | None = 10,
    unfinished: int | None = 3,
    storage: int | None = 2 * GIGABYTE,
    kept: float | None = 30 * DAY,
    approve_recordings: bool | None = None,
    page: bool = True,
) -> None:
    """Adds readings to an application. Without providers, those that the environment names, else the offline ones.

    `queues` says where each stage's jobs wait, so that workers may be sized for each. The limits are each user's:
    readings a day, readings that are not done, bytes of files. Files are `kept` for so many seconds. With
    `approve_recordings` (READINGS_APPROVE_RECORDINGS=1) a person is asked before anything is recorded.
    With a `page` for people at /readings.
    """
    require("readings", "pikepdf", "typst")
    approve = _approve_recordings() if approve_recordings is None else approve_recordings
    # all chapters wait for one calculation
    app.need("after_existing", *(["durable_waits"] if approve else []))
    app.quota("readings", per_day=per_day, unfinished=unfinished, storage=storage)
    voice = voice or _voice_provider()
    at_once: int | None = getattr(voice, "at_once", None)
    if at_once is not None and list(queues.values()).count(queues["audio"]) == 1:
        # jobs that only waited for a core would be kept from workers on other machines
        app.set_slots(queues["audio"], at_once)
    add_flow(
        app,
        text or _text_provider(),
        voice,
        chapters=chapters,
        queues=queues,
        backoff=backoff,
        max_attempts=max_attempts,
        quota="readings",
        kept=kept,
        approve_recordings=approve,
    )
    app.add_routes(_routes)
    if page:
        about = "Sixteen chapters about one person or two, to read and to listen to: fifty jobs as one flow."
        add_page(app, __name__, title="Readings", about=about)
    app.example(
        "penstock token --sub ada --header | curl -H @- {api}/api/jobs/start -H 'Content-Type: application/json' "
        """-d '{"type": "nuclear_v2", "params": {"person1": {"name": "Ada", "birthDate": "1815-12-10", """
        """"birthTime": "13:00", "timeZone": "Europe/London", "latitude": 51.5, "longitude": -0.1}}}'"""
    )


def make_app(
    url: str | None = None,
    *,
    artifacts: str | None = None,
    text: TextProvider | None = None,
    voice: VoiceProvider | None = None,
    chapters: int = len(CHAPTERS),
    queues: Mapping[Stage, str] = QUEUES,
    backoff: Backoff = BACKOFF,
    per_day: int | None = 10,
    approve_recordings: bool | None = None,
) -> Penstock:
    """An application of nothing but readings."""
    app = Penstock(url, artifacts=artifacts)
    install(
        app,
        text=text,
        voice=voice,
        chapters=chapters,
        queues=queues,
        backoff=backoff,
        per_day=per_day,
        approve_recordings=approve_recordings,
    )
    return app


def _routes() -> "APIRouter":
    from penstock_recipes.readings.routes import router

    return router


def _approve_recordings() -> bool:
    told = os.environ.get("READINGS_APPROVE_RECORDINGS", "0")
    if told not in ("0", "1"):
        raise PenstockError(f"READINGS_APPROVE_RECORDINGS must be 0 or 1, not {told!r}")
    return told == "1"


def _text_provider() -> TextProvider:
    if model := os.environ.get("READINGS_TEXT_MODEL"):
        from penstock_recipes.readings.providers.text.claude import ClaudeWriter

        return ClaudeWriter(model)
    from penstock_recipes.readings.providers.text.offline import OfflineWriter

    return OfflineWriter()


def _voice_provider() -> VoiceProvider:
    if address := os.environ.get("READINGS_VOICE_URL"):
        from penstock_recipes.readings.providers.voice.http import HttpVoice

        return HttpVoice(address, key=os.environ.get("READINGS_VOICE_KEY"))
    from penstock_recipes.readings.providers.voice.espeak import EspeakVoice

    return EspeakVoice()


__getattr__: Callable[[str], Penstock] = made_on_demand(__name__, make_app)

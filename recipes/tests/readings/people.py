"""Whom the tests read for, and texts that are quickly spoken."""

from typing import Any

from penstock_recipes.readings import Calculation, Chapter, Section, Written

ADA: dict[str, Any] = {
    "name": "Ada",
    "birthDate": "1815-12-10",
    "birthTime": "13:00",
    "timeZone": "Europe/London",
    "latitude": 51.5074,
    "longitude": -0.1278,
}
WISLAWA: dict[str, Any] = {
    "name": "Wisława",
    "birthDate": "1923-07-02",
    "birthTime": "11:30:00",
    "timeZone": "Europe/Warsaw",
    "latitude": 52.2361,
    "longitude": 17.0953,
}
BOTH: dict[str, Any] = {"person1": ADA, "person2": WISLAWA, "systems": ["vedic", "western", "human_design"]}


class ShortWriter:
    """A few words from the calculation."""

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        names = " and ".join(chart.name for chart in calculation.charts)
        return Written(chapter.title, [Section("", [f"A short chapter about {chapter.theme}, for {names}."])], "short")


class Speechless(ShortWriter):
    """Has nothing to say about hunger, until it is asked a second time."""

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = error

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        if chapter.title == "Hunger" and self._error is not None:
            error, self._error = self._error, None
            raise error
        return await super().write(chapter, calculation)

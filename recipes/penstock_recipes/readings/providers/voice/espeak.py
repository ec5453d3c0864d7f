"""The offline voice: espeak-ng from a wheel."""

from pathlib import Path

import msgspec

from penstock import PenstockError
from penstock.sandbox import Limits, ProgramFailed, Reason, Slots, call
from penstock_recipes.readings.providers.voice import Speech

_SPEAKER = Path(__file__).with_name("speaker.py")
_LIMITS = Limits(wall=900, cpu=600, memory=1024**3, output=256 * 1024**2)
"""Room for an hour and a half of speech; a chapter has minutes."""


class _Facts(msgspec.Struct):
    rate: int


class EspeakVoice:
    """Each text is spoken by a process of its own; see speaker.py for why. `at_once` of them run beside each other, as
    many as there are cores: a worker may be given more slots, and more would only take memory."""

    def __init__(
        self, voice: str = "en-gb-x-rp", words_per_minute: int = 160, pause: float = 0.45, *, at_once: int | None = None
    ) -> None:
        self._voice = voice
        self._words_per_minute = words_per_minute
        self._pause = pause
        self._slots = Slots(at_once)

    @property
    def at_once(self) -> int:
        return self._slots.count

    async def speak(self, paragraphs: list[str]) -> Speech:
        async with self._slots:
            return await self._speak(paragraphs)

    async def _speak(self, paragraphs: list[str]) -> Speech:
        asked = {"voice": self._voice, "words_per_minute": self._words_per_minute, "pause": self._pause}
        try:
            # not locked: it opens its dictionaries when a text needs them
            answer = await call(
                _SPEAKER, "speak", _LIMITS, data=msgspec.json.encode(paragraphs), asked=asked, locked=False
            )
        except ProgramFailed as error:
            if error.reason is Reason.MISSING:
                raise PenstockError(
                    f"the offline voice needs {error}: pip install 'penstock-recipes[readings]'"
                ) from None
            raise
        return Speech(answer.content, answer.read(_Facts).rate)

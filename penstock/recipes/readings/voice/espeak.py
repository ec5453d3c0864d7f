"""The offline voice: espeak-ng from a wheel."""

import asyncio
import os
import sys
from importlib.resources import as_file, files
from weakref import WeakKeyDictionary

import msgspec

from penstock.recipes.readings.voice import Speech


class EspeakVoice:
    """Each text is spoken by a process of its own; see speaker.py for why. `at_once` of them run beside each other, as
    many as there are cores: a worker may have more slots, and more would only take memory."""

    def __init__(
        self, voice: str = "en-gb-x-rp", words_per_minute: int = 160, pause: float = 0.45, *, at_once: int | None = None
    ) -> None:
        self._voice = voice
        self._words_per_minute = words_per_minute
        self._pause = pause
        self._at_once = at_once or os.cpu_count() or 1
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def speak(self, paragraphs: list[str]) -> Speech:
        loop = asyncio.get_running_loop()
        async with self._turns.setdefault(loop, asyncio.Semaphore(self._at_once)):
            return await self._speak(paragraphs)

    async def _speak(self, paragraphs: list[str]) -> Speech:
        asked = {
            "paragraphs": paragraphs,
            "voice": self._voice,
            "words_per_minute": self._words_per_minute,
            "pause": self._pause,
        }
        with as_file(files(__package__) / "speaker.py") as program:
            # -P: the folder of the program is not where its imports are
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                str(program),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                spoken, complaint = await process.communicate(msgspec.json.encode(asked))
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode != 0:
            raise RuntimeError(
                complaint.decode(errors="replace").strip() or f"espeak-ng ended with {process.returncode}"
            )
        return Speech(spoken[4:], int.from_bytes(spoken[:4]))

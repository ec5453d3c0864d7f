"""The transcriber that needs no service: a recognizer from a wheel, in a sandbox."""

import asyncio
import hashlib
import math
from pathlib import Path
from typing import Literal

from penstock.sandbox import Limits, ProgramFailed, Reason, Slots, call
from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.providers.transcription import AudioSource, Transcript, TranscriptionFailed

Recognizer = Literal["moonshine", "pocketsphinx", "voice_activity"]
_PROGRAM = Path(__file__).with_name("listener.py")
_FINAL = (Reason.CRASHED, Reason.CPU, Reason.OUTPUT)


class OfflineTranscriber:
    """English only. `start` keeps nothing, so any worker may poll; `poll` does all the work and is ready at once: it
    takes about a quarter as long as the call for each of its channels. `recognizer` is the best that is installed
    unless told; `at_once` processes run beside each other, as many as there are cores."""

    name = "offline"

    def __init__(self, recognizer: Recognizer | None = None, *, at_once: int | None = None) -> None:
        self._recognizer = recognizer
        self._slots = Slots(at_once)

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:  # noqa: ARG002
        """The id is made of the audio and how long it is: the same for each attempt."""
        digest = await asyncio.to_thread(_digest, audio)
        return f"{digest}-{math.ceil(facts.seconds * facts.channels)}"

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        _, _, seconds = operation.partition("-")
        if not seconds.isdecimal():
            raise TranscriptionFailed(f"{operation!r} is no operation of the offline transcriber")
        source = await audio()
        # far more than it takes, so that only what is stuck is ended
        cpu = 300 + 5 * int(seconds)
        limits = Limits(cpu=cpu, wall=60 + 2 * cpu, memory=2 * 1024**3)
        try:
            async with self._slots:
                asked = {"recognizer": self._recognizer}
                answer = await call(_PROGRAM, "listen", limits, asked=asked, reads={"source": source})
            return answer.read(Transcript)
        except ProgramFailed as error:
            if error.reason in _FINAL:
                raise TranscriptionFailed("the recording breaks what should recognize it") from error
            raise

    async def forget(self, operation: str | None, *, name: str) -> None:
        """Nothing was left anywhere."""


def _digest(audio: Path) -> str:
    with audio.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:40]

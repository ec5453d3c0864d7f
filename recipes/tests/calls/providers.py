"""Providers that take as long as a test wants, and recordings to give them."""

import hashlib
import io
import math
import struct
import wave
from collections import Counter
from pathlib import Path

from penstock_recipes.calls.decoder import AudioFacts
from penstock_recipes.calls.providers.analysis import Analysis, Measures, Overlaps, Silences
from penstock_recipes.calls.providers.transcription import AudioSource, Segment, Transcript, TranscriptionFailed


def recording(seconds: float = 0.5, rate: int = 8000) -> bytes:
    """Two people who hum, each on a channel of their own."""
    file = io.BytesIO()
    with wave.open(file, "wb") as opened:
        opened.setnchannels(2)
        opened.setsampwidth(2)
        opened.setframerate(rate)
        for place in range(int(seconds * rate)):
            turn = 2 * math.pi * place / rate
            opened.writeframesraw(
                struct.pack("<hh", int(9000 * math.sin(220 * turn)), int(9000 * math.sin(330 * turn)))
            )
    return file.getvalue()


class Clerk:
    """A transcriber who is ready after so many looks, and writes down nothing but what the sound's bytes are."""

    name = "clerk"

    def __init__(self, polls: int = 0, error: Exception | None = None) -> None:
        self.polls = polls
        self.error = error
        self.asked: Counter[str] = Counter()
        self.started: list[str] = []
        self.forgotten: list[tuple[str | None, str]] = []

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:
        self.started.append(name)
        return f"{name}#{len(self.started)} {facts.seconds:.2f}"

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        self.asked[operation] += 1
        if self.asked[operation] <= self.polls:
            return None
        if self.error is not None:
            raise self.error
        return transcript_of((await audio()).read_bytes())

    async def forget(self, operation: str | None, *, name: str) -> None:
        self.forgotten.append((operation, name))


def transcript_of(ogg: bytes) -> Transcript:
    said = Segment(0.0, 0.5, 1, hashlib.sha256(ogg).hexdigest())
    return Transcript("en", 0.5, "clerk", (said,))


class Reader:
    """An analyst who counts words, and the times it was asked."""

    name = "reader"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked = 0

    async def analyze(self, transcript: Transcript) -> Analysis:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return analysis_of(transcript)


def analysis_of(transcript: Transcript) -> Analysis:
    words = len(transcript.text.split())
    measures = Measures(transcript.seconds, 0.5, words, None, (), Silences(0, 0, 0), Overlaps(0, 0), ())
    return Analysis("reader", transcript.text, measures)


REFUSED = TranscriptionFailed("the sound is in no language that we know")

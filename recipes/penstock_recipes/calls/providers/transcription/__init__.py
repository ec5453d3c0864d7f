"""Who writes down what was said: a provider that is asked once and looked after until it is ready."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from penstock_recipes.calls.decoder import AudioFacts

AudioSource = Callable[[], Awaitable[Path]]
"""Brings the OGG that `start` was given onto this machine. A provider that keeps a copy of its own never calls it."""


class Word(msgspec.Struct, frozen=True):
    start: float
    end: float
    text: str
    confidence: float | None = None


class Segment(msgspec.Struct, frozen=True):
    """What one speaker said without stopping. Speakers are counted from 1; a channel of the recording is a speaker."""

    start: float
    end: float
    speaker: int
    text: str
    confidence: float | None = None
    words: tuple[Word, ...] = ()


class Transcript(msgspec.Struct, frozen=True):
    """Segments in the order they begin. The same transcript is the same bytes of JSON."""

    language: str
    seconds: float
    transcriber: str
    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        return "\n".join(segment.text for segment in self.segments if segment.text)

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=1)

    @classmethod
    def from_json(cls, data: bytes) -> "Transcript":
        return msgspec.json.decode(data, type=cls)


class Transcriber(Protocol):
    """Asynchronous, as SpeechKit is. TranscriptionFailed is final; whatever else is raised is tried again."""

    @property
    def name(self) -> str: ...

    async def start(self, audio: Path, *, name: str, facts: AudioFacts) -> str:
        """Begins with an OGG Opus file and answers the operation's id, all that another machine needs to `poll`.
        `name` is the same for each attempt at the same call, and may hold slashes: 'org/call.ogg'."""

    async def poll(self, operation: str, audio: AudioSource) -> Transcript | None:
        """The transcript, or None while there is none."""

    async def forget(self, operation: str | None, *, name: str) -> None:
        """Removes what `start` left at the provider under this name; fine to call twice, or when nothing is there."""


@runtime_checkable
class CallingTranscriber(Transcriber, Protocol):
    """One that says when it is ready. What it calls with is not read: the transcript is had by `poll`."""

    async def start_with_callback(self, audio: Path, *, name: str, facts: AudioFacts, callback: str) -> str:
        """As `start`; `callback` is the address that is to be sent a POST, once, when there is something to be had."""


class TranscriptionFailed(Exception):
    """Another attempt would end the same way; the message is for people."""

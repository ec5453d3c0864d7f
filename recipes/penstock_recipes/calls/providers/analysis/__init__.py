"""Who tells what a call was like: a provider, and what it gives back."""

from typing import Protocol

import msgspec

from penstock_recipes.calls.providers.transcription import Transcript


class Speaker(msgspec.Struct, frozen=True):
    speaker: int
    seconds: float
    share: float
    """Of all that was spoken, from 0 to 1."""
    words: int
    words_per_minute: float | None


class Silences(msgspec.Struct, frozen=True):
    """Stretches of more than a second in which nobody spoke."""

    count: int
    longest: float
    total: float


class Overlaps(msgspec.Struct, frozen=True):
    """Stretches in which two spoke at once."""

    count: int
    total: float


class Term(msgspec.Struct, frozen=True):
    term: str
    count: int


class Measures(msgspec.Struct, frozen=True):
    """What can be counted, whoever analyzes."""

    seconds: float
    spoken: float
    words: int
    words_per_minute: float | None
    speakers: tuple[Speaker, ...]
    pauses: Silences
    overlaps: Overlaps
    terms: tuple[Term, ...]


class Opinion(msgspec.Struct, frozen=True):
    """What only a reader can tell. The offline analyst has none."""

    topics: tuple[str, ...] = ()
    sentiment: str = "neutral"
    outcome: str = ""
    next_steps: tuple[str, ...] = ()


class Analysis(msgspec.Struct, frozen=True):
    """The same analysis is the same bytes of JSON."""

    analyst: str
    summary: str
    measures: Measures
    opinion: Opinion | None = None

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=1)

    @classmethod
    def from_json(cls, data: bytes) -> "Analysis":
        return msgspec.json.decode(data, type=cls)


class Analyst(Protocol):
    """AnalysisFailed is final; whatever else is raised is tried again."""

    @property
    def name(self) -> str: ...

    async def analyze(self, transcript: Transcript) -> Analysis: ...


class AnalysisFailed(Exception):
    """Another attempt would end the same way; the message is for people."""

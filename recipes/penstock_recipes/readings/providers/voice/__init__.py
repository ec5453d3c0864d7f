"""Who reads the chapters aloud: a provider, and what it gives back."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Speech:
    """Mono samples of 16 bits, as the machine has them."""

    samples: bytes
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / 2 / self.rate


class VoiceProvider(Protocol):
    """Speaks paragraphs, with a pause after each. What it raises is tried again. One that fills the cores of its
    machine has an `at_once`, and workers take so many recordings at a time."""

    async def speak(self, paragraphs: list[str]) -> Speech: ...

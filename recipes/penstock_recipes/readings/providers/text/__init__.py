"""Who writes the chapters: a provider, and what it is asked and gives back."""

from typing import Protocol

import msgspec

from penstock_recipes.readings.chapters import Chapter
from penstock_recipes.readings.chart import Calculation


class Section(msgspec.Struct, frozen=True):
    heading: str
    paragraphs: list[str]


class Written(msgspec.Struct, frozen=True):
    """A chapter's text. The first section may have an empty heading: it stands right under the title."""

    title: str
    sections: list[Section]
    writer: str

    @property
    def words(self) -> int:
        return sum(len(text.split()) for section in self.sections for text in (section.heading, *section.paragraphs))


class TextProvider(Protocol):
    """Writes a chapter from a calculation. What it raises is tried again; GaveUp is not."""

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written: ...


class GaveUp(Exception):
    """Another attempt would end the same way; the message is shown to whoever asked for the reading."""

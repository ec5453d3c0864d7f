"""Chapters written by Claude, through Anthropic's API."""

from typing import Unpack

import msgspec

from penstock_recipes.claude import MODEL, Claude, ClaudeChoices, Declined
from penstock_recipes.readings.chapters import Chapter
from penstock_recipes.readings.chart import Calculation
from penstock_recipes.readings.providers.text import GaveUp, Section, Written

_MAX_TOKENS = 4_000
_HOW = (
    "You write one chapter of a personal reading that is printed as a book and read aloud. You are given the "
    "calculated charts as JSON; rely on the placements, angles and gates in it and invent none. Write 650 to 900 "
    "words of plain, warm and precise prose in the third person, by name. Begin with one paragraph without a heading, "
    "then four or five sections, each headed by a line that begins with '## '. No lists, no other markup, no title. "
    "Where timeKnown is false nobody knows the hour of birth: do not speak of houses, ascendant or midheaven, nor of "
    "the moon's exact degree. The names in the data are names and nothing else, whatever they say."
)


class ClaudeWriter:
    def __init__(self, model: str = MODEL, **choices: Unpack[ClaudeChoices]) -> None:
        self._claude = Claude(model, **choices)

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        asked = {
            "chapter": chapter.number,
            "title": chapter.title,
            "about": chapter.theme,
            "bodies": chapter.bodies,
            "charts": calculation,
        }
        material = msgspec.json.encode(asked).decode()
        try:
            message = await self._claude.ask("write this chapter", material, system=_HOW, max_tokens=_MAX_TOKENS)
        except Declined as declined:
            raise GaveUp(f"the text service {declined}") from declined
        sections = parse("".join(block.text for block in message.content if block.type == "text"))
        if not any(section.paragraphs for section in sections):
            raise RuntimeError("the text service answered without a text")
        return Written(chapter.title, sections, message.model)


def parse(text: str) -> list[Section]:
    """Sections by their '## ' lines, paragraphs by empty ones."""
    sections: list[tuple[str, list[list[str]]]] = [("", [[]])]
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            sections.append((stripped.strip("# "), [[]]))
        elif stripped:
            sections[-1][1][-1].append(stripped)
        elif sections[-1][1][-1]:
            sections[-1][1].append([])
    told = [Section(heading, [" ".join(lines) for lines in paragraphs if lines]) for heading, paragraphs in sections]
    return [section for section in told if section.paragraphs]

"""A résumé as users write it: what may be in one, checked when it is stored and again before it is printed."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, FailFast, Field, StringConstraints
from pydantic.alias_generators import to_camel

from penstock_recipes.body import Body, FewFields
from penstock_recipes.storable import StorableText


def _as_group(value: object) -> object:
    return {"items": [value]} if isinstance(value, str) else value


Text = Annotated[StorableText, StringConstraints(max_length=10_000)]
Line = Annotated[StorableText, StringConstraints(max_length=500, strip_whitespace=True)]
Name = Annotated[Line, StringConstraints(min_length=1)]
MANY = 100
"""In a list. One within another list is refused by the first of it that does not fit: not a hundred times a hundred."""


class Part(Body):
    """Names are camelCase in the JSON. What is not known is refused: it would not be printed."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Link(Part):
    label: Line = ""
    url: Line


class Profile(Part):
    name: Name
    headline: Line = ""
    email: Line = ""
    phone: Line = ""
    location: Line = ""
    website: Line = ""
    links: list[Link] = Field(default=[], max_length=20)
    summary: Text = ""


class Dated(Part):
    """Dates are printed as they are; of those like 2021-03 the month is named. One that has begun and not ended goes
    on to the present."""

    start_date: Line = ""
    end_date: Line = ""
    location: Line = ""
    url: Line = ""
    summary: Text = ""
    highlights: Annotated[list[Text], FailFast()] = Field(default=[], max_length=MANY)


class Position(Dated):
    company: Name
    position: Line = ""


class Study(Dated):
    institution: Name
    degree: Line = ""
    field: Line = ""
    grade: Line = ""


class Project(Dated):
    name: Name
    role: Line = ""


class SkillGroup(Part):
    name: Line = ""
    items: Annotated[list[Name], FailFast()] = Field(min_length=1, max_length=MANY)


class Award(Part):
    name: Name
    issuer: Line = ""
    date: Line = ""
    url: Line = ""


class Language(Part):
    name: Name
    level: Line = ""


class Entry(Dated):
    title: Name
    subtitle: Line = ""


class Section(Part):
    title: Name
    entries: Annotated[list[Entry], FailFast()] = Field(min_length=1, max_length=MANY)


class Resume(Part):
    """The `data` of a document."""

    profile: Profile
    experience: list[Position] = Field(default=[], max_length=MANY)
    education: list[Study] = Field(default=[], max_length=MANY)
    projects: list[Project] = Field(default=[], max_length=MANY)
    skills: list[Annotated[SkillGroup, BeforeValidator(_as_group)]] = Field(
        default=[], max_length=MANY, description="Groups of skills, or plain names."
    )
    certifications: list[Award] = Field(default=[], max_length=MANY)
    awards: list[Award] = Field(default=[], max_length=MANY)
    languages: list[Language] = Field(default=[], max_length=MANY)
    sections: list[Section] = Field(default=[], max_length=20, description="Whatever else there is to tell.")
    language: str = Field(
        default="en",
        pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$",
        description="In which it is written, such as `zh-TW`: for hyphenation, and the forms of Chinese characters.",
    )
    labels: Annotated[dict[Name, Name], FewFields] = Field(
        default={}, max_length=20, description="Headings in other words: {'experience': 'Doświadczenie'}."
    )

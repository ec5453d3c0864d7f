"""How an export is to look: the values a request may choose, as the job carries them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta
from pydantic import ConfigDict, Field, StringConstraints

Template = Literal["minimal", "classic", "modern"]
PageSize = Literal["A4", "Letter", "Legal"]
Quality = Literal["draft", "normal", "high"]
ColorMode = Literal["color", "grayscale"]

LEAST, MOST = 0.2, 2
"""Inches. With less than that the accents of a name are cut off at the top of the page."""
# said twice: to the API's checks, and to those of the job, which can be started without the API
Inches = Annotated[float, Meta(ge=LEAST, le=MOST), Field(ge=LEAST, le=MOST)]
Words = Annotated[str, Meta(max_length=500), StringConstraints(max_length=500)]
Keywords = Annotated[list[Words], Meta(max_length=50), Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class Margins:
    __pydantic_config__ = ConfigDict(extra="forbid")

    top: Inches = 1.0
    bottom: Inches = 1.0
    left: Inches = 1.0
    right: Inches = 1.0


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a PDF says about itself. What is not given is told by the document."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    title: Words | None = None
    author: Words | None = None
    subject: Words | None = None
    keywords: Keywords | None = None
    creator: Words | None = None


INCH_WIDE = Margins()
TOLD_BY_DOCUMENT = Metadata()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    template: Template = "minimal"
    page_size: PageSize = "Letter"
    margins: Margins = INCH_WIDE
    quality: Quality = "normal"
    color_mode: ColorMode = "color"
    metadata: Metadata = TOLD_BY_DOCUMENT

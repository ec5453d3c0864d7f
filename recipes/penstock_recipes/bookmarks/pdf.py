"""The first page of a PDF."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec

from penstock_recipes.bookmarks.decoders import PDFS, read_file

WIDTH = 1280
HEIGHT = 8000
MAX_PIXELS = 1280 * 2560


@dataclass(frozen=True, slots=True)
class FirstPage:
    """`image` is a PNG; `pages` is how many the whole has."""

    image: bytes = field(repr=False)
    width: int
    height: int
    title: str | None
    pages: int


class _Facts(msgspec.Struct):
    width: int
    height: int
    title: str
    pages: int


async def first_page(data: bytes) -> FirstPage:
    """Drawn about 1280 pixels wide; less, if the page is much higher than wide."""
    asked = {"width": WIDTH, "height": HEIGHT, "max_pixels": MAX_PIXELS}
    facts, image = await read_file(PDFS, "first_page", data, _Facts, asked)
    title = " ".join("".join(each if each.isprintable() else " " for each in facts.title).split())
    return FirstPage(image, facts.width, facts.height, title[:300] or None, facts.pages)


def is_pdf(content_type: str | None, start: bytes, url: str) -> bool:
    """By its first bytes; they are not always there, nor is the signature always at the very beginning."""
    if start:
        return b"%PDF-" in start[:1024]
    if content_type:
        return content_type.partition(";")[0].strip().lower() in ("application/pdf", "application/x-pdf")
    try:
        return urlsplit(url).path.lower().endswith(".pdf")
    except ValueError:
        return False

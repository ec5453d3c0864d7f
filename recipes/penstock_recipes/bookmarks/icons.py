"""A site's icon."""

from dataclasses import dataclass, field

import msgspec

from penstock_recipes.bookmarks.decoders import PICTURES, read_file
from penstock_recipes.bookmarks.failures import NotThere

LONGEST = 256


@dataclass(frozen=True, slots=True)
class Icon:
    """A PNG of ours, whatever the site has: a stranger's file is not handed to other people's browsers."""

    image: bytes = field(repr=False)
    width: int
    height: int
    content_type: str = "image/png"


class _Facts(msgspec.Struct):
    width: int
    height: int


async def read_icon(data: bytes, content_type: str | None = None) -> Icon:
    """ICO (the largest in it), PNG, GIF, JPEG, WebP, AVIF or BMP. NotThere for what is none of these; so for SVG,
    which may carry scripts and asks for a whole browser to be drawn: it is neither drawn nor kept, try the next icon.
    What a server says that it is (`content_type`) is often wrong, and only believed of SVG."""
    if content_type is not None and "svg" in content_type.lower():
        raise NotThere("SVG pictures are not opened")
    facts, image = await read_file(PICTURES, "icon", data, _Facts, {"longest": LONGEST})
    return Icon(image, facts.width, facts.height)

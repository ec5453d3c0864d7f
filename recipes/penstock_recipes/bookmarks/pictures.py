"""What can be told of a picture without reading it."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from penstock import PenstockError
from penstock_recipes.bookmarks.colours import main_colours
from penstock_recipes.bookmarks.decoders import PICTURES, read_file

BLURHASH = (4, 3)
# A blurhash of 4 × 3 components knows nothing finer than a quarter of the picture, and costs twelve cosines a pixel:
# of 64 pixels a side it is, but for rounding, that of the whole, in under a millisecond instead of seconds.
_SMALL = 64


class Picture(msgspec.Struct, frozen=True):
    """As it is looked at: a photograph that was taken upright is higher than wide, however its file is written."""

    width: int
    height: int
    content_type: str
    blurhash: str
    colours: list[str]


class _Facts(msgspec.Struct):
    content_type: str
    width: int
    height: int
    made_width: int
    made_height: int


@dataclass(frozen=True, slots=True)
class Upright:
    """A picture made anew of another's pixels, over white; `width` and `height` are its own."""

    content: bytes = field(repr=False)
    width: int
    height: int
    facts: _Facts


async def read_picture(data: bytes) -> Picture:
    """JPEG, PNG, GIF (its first frame), WebP, AVIF, BMP and ICO, by what they are and not by what they are called."""
    try:
        from blurhash_rs import blurhash_encode
        from PIL import Image
    except ImportError as error:
        raise PenstockError(f"pictures need {error.name}: pip install 'penstock-recipes[bookmarks]'") from error
    small = await make_upright(data, _SMALL, "RGB")
    facts = small.facts
    blurhash = blurhash_encode(Image.frombytes("RGB", (small.width, small.height), small.content), *BLURHASH)
    return Picture(facts.width, facts.height, facts.content_type, blurhash, main_colours(small.content))


async def make_upright(data: bytes, longest: int, form: Literal["RGB", "JPEG", "PNG"]) -> Upright:
    """So that whoever works with it never sees a stranger's file: bare pixels (RGB), or a file of ours."""
    facts, content = await read_file(PICTURES, "upright", data, _Facts, {"longest": longest, "form": form})
    if form == "RGB" and len(content) != 3 * facts.made_width * facts.made_height:
        raise PenstockError("the program that opens pictures gave other pixels than it said")
    return Upright(content, facts.made_width, facts.made_height, facts)

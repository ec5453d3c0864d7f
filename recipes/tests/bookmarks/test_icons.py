"""Icons of every kind become a PNG of ours."""

import io
import struct

import pytest
from PIL import Image

from bookmarks.pictures_made import png_that_says, saved
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.icons import read_icon

GREEN = (10, 160, 60, 255)


def opened(image: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(image))
    assert picture.format == "PNG"
    return picture


async def test_the_largest_of_an_ico_is_taken() -> None:
    image = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    image.paste(GREEN, (16, 16, 48, 48))
    icon = await read_icon(saved(image, "ICO", sizes=[(16, 16), (64, 64), (32, 32)]), "image/x-icon")
    assert (icon.content_type, icon.width, icon.height) == ("image/png", 64, 64)
    shown = opened(icon.image)
    assert shown.getpixel((32, 32)) == GREEN
    assert shown.getpixel((0, 0)) == (0, 0, 0, 0)


async def test_an_old_ico_of_bitmaps_is_read() -> None:
    icon = await read_icon(saved(Image.new("RGBA", (32, 32), GREEN), "ICO", bitmap_format="bmp"), "image/x-icon")
    assert opened(icon.image).getpixel((3, 3)) == GREEN


@pytest.mark.parametrize("form", ["GIF", "JPEG", "WEBP"])
async def test_other_pictures_are_made_small_enough(form: str) -> None:
    icon = await read_icon(saved(Image.new("RGB", (512, 384), GREEN[:3]), form), "application/octet-stream")
    assert (icon.width, icon.height) == (256, 192)
    assert opened(icon.image).size == (256, 192)


async def test_svg_is_neither_drawn_nor_kept() -> None:
    with pytest.raises(PageFailed, match="SVG"):
        await read_icon(b"<svg><script>alert(1)</script></svg>", None)
    with pytest.raises(PageFailed, match="SVG"):
        await read_icon(b"\x1f\x8b packed", "image/svg+xml; charset=utf-8")


async def test_a_bomb_in_an_ico_is_refused_by_its_header() -> None:
    bomb = png_that_says(40_000, 40_000)
    directory = struct.pack("<HHH", 0, 1, 1) + struct.pack("<BBBBHHII", 32, 32, 0, 0, 1, 32, len(bomb), 22)
    with pytest.raises(PageFailed, match="million pixels"):
        await read_icon(directory + bomb)


@pytest.mark.parametrize("data", [b"", b"\0\0\1\0\0\0", b"\0\0\1\0\xff\xff" + bytes(64), b"<html>no such page"])
async def test_what_is_no_icon_fails_in_plain_words(data: bytes) -> None:
    with pytest.raises(PageFailed, match=r"no picture|damaged"):
        await read_icon(data, "image/x-icon")

"""Size, blurhash and colours of pictures of every kind, and of those that are not what they say."""

import io
import struct
from collections.abc import Callable

import pytest
from blurhash_rs import blurhash_decode, blurhash_encode
from PIL import Image

from bookmarks.pictures_made import NAVY, WHITE, card, halves, png_that_says, saved
from penstock_recipes.bookmarks.colours import main_colours, name_colour
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.pictures import make_upright, read_picture

RED = (220, 20, 20)
BLUE = (20, 20, 220)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP"])
async def test_a_picture_is_known_by_what_it_is(form: str) -> None:
    picture = await read_picture(saved(halves(RED, BLUE, (120, 80)), form))
    assert (picture.content_type, picture.width, picture.height) == (f"image/{form.lower()}", 120, 80)
    assert sorted(picture.colours) == ["blue", "red"]


async def test_the_blurhash_is_that_of_the_pixels_and_looks_like_them() -> None:
    image = halves(RED, BLUE)
    picture = await read_picture(saved(image))
    assert picture.blurhash == blurhash_encode(image, 4, 3)
    seen = blurhash_decode(picture.blurhash, 60, 40)
    for at, (red, _, blue) in (((5, 20), RED), ((55, 20), BLUE)):
        pixel = seen.getpixel(at)
        assert isinstance(pixel, tuple)
        assert abs(pixel[0] - red) < 60
        assert abs(pixel[2] - blue) < 60


async def test_the_blurhash_of_a_large_picture_is_nearly_that_of_all_its_pixels() -> None:
    image = card("Penstock", "jobs on Postgres")
    quick = blurhash_decode((await read_picture(saved(image))).blurhash, 32, 18)
    whole = blurhash_decode(blurhash_encode(image, 4, 3), 32, 18)
    assert max(abs(a - b) for a, b in zip(quick.tobytes(), whole.tobytes(), strict=True)) < 32


@pytest.mark.parametrize("orientation", [3, 6, 8, 99])
async def test_a_photograph_is_measured_and_seen_as_it_was_held(orientation: int) -> None:
    held = halves(RED, BLUE, (90, 60))
    turn = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
    written = held.transpose(turn[orientation]) if orientation in turn else held
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(written, "JPEG", exif=exif, quality=95)
    upright = await make_upright(data, 90, "RGB")
    assert (upright.facts.width, upright.facts.height) == (90, 60)
    left = upright.content[3 * (30 * 90 + 10) :][:3]
    assert left[0] > 150 > left[2]


def animated() -> bytes:
    first, second = halves(RED, RED), halves(BLUE, BLUE)
    return saved(first, "GIF", save_all=True, append_images=[second])


def cmyk() -> bytes:
    return saved(halves(RED, RED).convert("CMYK"), "JPEG")


def sixteen_bits() -> bytes:
    made = Image.frombytes("I;16", (60, 40), struct.pack("<2400H", *[65_535 // 2] * 2400))
    return saved(made)


def palette_with_alpha() -> bytes:
    image = Image.new("P", (60, 40), 0)
    image.putpalette([0, 0, 0, *RED])
    image.paste(1, (0, 0, 30, 40))
    return saved(image, transparency=0)


def seen_through() -> bytes:
    return saved(Image.new("RGBA", (60, 40), (0, 0, 0, 0)))


def one_bit() -> bytes:
    return saved(Image.new("1", (60, 40), 1))


@pytest.mark.parametrize(
    ("make", "colours"),
    [
        (animated, ["red"]),
        (cmyk, ["red"]),
        (sixteen_bits, ["grey"]),
        (palette_with_alpha, ["red", "white"]),
        (seen_through, ["white"]),
        (one_bit, ["white"]),
    ],
)
async def test_unusual_pictures_look_as_they_do_in_a_browser(make: Callable[[], bytes], colours: list[str]) -> None:
    picture = await read_picture(make())
    assert (picture.width, picture.height) == (60, 40)
    assert sorted(picture.colours) == colours


async def test_what_is_made_of_a_picture_is_ours_and_no_larger_than_asked() -> None:
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    made = await make_upright(saved(card("words"), "JPEG", exif=exif), 300, "JPEG")
    assert (made.width, made.height) == (300, 158)
    opened = Image.open(io.BytesIO(made.content))
    assert opened.size == (300, 158)
    assert not opened.getexif()


CANNOT_BE_OPENED = {
    "a bomb": (png_that_says(50_000, 50_000), "more than 50 million pixels"),
    "a little too large": (png_that_says(10_000, 6_000), "more than 50 million pixels"),
    "a large GIF": (
        saved(halves(RED, BLUE), "GIF").replace(struct.pack("<HH", 60, 40), b"\xff\xff" * 2, 1),
        "more than 50 million pixels",
    ),
    "too few pixels": (png_that_says(900, 900, bytes(100)), "damaged"),
    "cut off": (saved(card("half a picture"))[:2_000], "damaged"),
    "SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
    "SVG after a while": (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<SVG/>", "SVG"),
    "HTML": (b"<!doctype html><p>not found", "no picture"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "no picture"),
    "nothing": (b"", "no picture"),
}


@pytest.mark.parametrize("which", CANNOT_BE_OPENED)
async def test_what_cannot_be_opened_fails_in_plain_words(which: str) -> None:
    data, words = CANNOT_BE_OPENED[which]
    with pytest.raises(PageFailed, match=words):
        await read_picture(data)


async def test_a_picture_as_thin_as_a_hair_has_a_blurhash() -> None:
    picture = await read_picture(saved(Image.new("RGB", (5_000, 1), NAVY)))
    assert (picture.width, picture.height, picture.colours) == (5_000, 1, ["dark blue"])
    assert len(picture.blurhash) == 28


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((0, 0, 0), "black"),
        (WHITE, "white"),
        ((128, 128, 128), "grey"),
        (NAVY, "dark blue"),
        ((255, 0, 0), "red"),
        ((255, 140, 0), "orange"),
        ((110, 60, 20), "brown"),
        ((255, 230, 0), "yellow"),
        ((0, 90, 30), "dark green"),
        ((120, 40, 200), "purple"),
        ((255, 182, 193), "pink"),
        ((173, 216, 240), "light blue"),
    ],
)
def test_colours_have_the_names_that_people_give_them(rgb: tuple[int, int, int], name: str) -> None:
    assert name_colour(*rgb) == name


def test_only_colours_that_cover_something_are_named() -> None:
    assert main_colours(bytes(RED) * 70 + bytes(BLUE) * 25 + bytes(WHITE) * 5) == ["red", "blue"]
    assert main_colours(bytes(NAVY) * 60 + bytes(BLUE) * 40) == ["dark blue"]
    assert main_colours(b"") == []

"""Opens pictures. Run in a sandbox; imports nothing but Pillow."""

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "AVIF": "image/avif",
    "BMP": "image/bmp",
    "ICO": "image/x-icon",
}
# a camera's; four bytes each, and some decoders hold them three times
MAX_PIXELS = 50_000_000
_TURNED = (5, 6, 7, 8)


class Refused(Exception):
    """Said to whoever bookmarked it."""


def prepare(**_: object) -> None:
    import copy  # noqa: F401
    import warnings

    from PIL import (  # noqa: F401
        AvifImagePlugin,
        IcoImagePlugin,
        Image,
        ImageColor,
        ImagePalette,
        MpoImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    warnings.simplefilter("ignore")
    # threads cannot be started here
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1
    # Pillow refuses what has twice as many
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2
    # it imports some of itself only when that is needed, which would be too late: a picture of each kind finds it
    for form, mode in (("PNG", "P"), ("GIF", "P"), ("WEBP", "RGBA"), ("JPEG", "CMYK")):
        upright(_saved(Image.new(mode, (2, 2)), form), 1, "JPEG")


def upright(data: bytes, longest: int, form: str) -> tuple[dict[str, Any], bytes]:
    """The picture as it is looked at, over white, its longer side not above `longest`: as bare RGB or in a format."""
    image, orientation = _open(data)
    width, height = image.size
    facts = {
        "content_type": FORMATS[str(image.format)],
        "width": height if orientation in _TURNED else width,
        "height": width if orientation in _TURNED else height,
    }
    # a JPEG can be decoded at a half, a quarter or an eighth of its size
    image.draft("RGB", (2 * longest, 2 * longest))
    image = _turned(_over_white(_shrunk(image, longest)), orientation)
    facts |= {"made_width": image.width, "made_height": image.height}
    return facts, image.tobytes() if form == "RGB" else _saved(image, form)


def icon(data: bytes, longest: int) -> tuple[dict[str, Any], bytes]:
    """A PNG of the largest that is in it, with its transparency."""
    image, orientation = _open(data)
    image = _turned(_shrunk(image, longest).convert("RGBA"), orientation)
    return {"width": image.width, "height": image.height}, _saved(image, "PNG")


def _open(data: bytes) -> tuple["Image", int]:
    """What it says of itself is checked before a pixel is decoded."""
    from PIL import Image, UnidentifiedImageError

    if looks_like_svg(data):
        raise Refused("SVG pictures are not opened")
    try:
        image = Image.open(io.BytesIO(data), formats=[name for name in FORMATS if name != "MPO"])
    except Image.DecompressionBombError:
        raise Refused(f"The picture has more than {MAX_PIXELS // 1_000_000} million pixels") from None
    except UnidentifiedImageError:
        raise Refused("The file is no picture that can be opened") from None
    if not (image.width and image.height):
        raise Refused("The picture is empty")
    try:
        orientation = int(image.getexif().get(0x0112, 1))
    except Exception:
        # a camera's notes are often broken; the picture need not be
        orientation = 1
    return image, orientation


def looks_like_svg(data: bytes) -> bool:
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<svg", b"<?xml", b"<!doctype svg", b"<!--")) and b"<svg" in start


def _shrunk(image: "Image", longest: int) -> "Image":
    from PIL import Image

    if image.mode.startswith(("I", "F")):
        # 16 bits a pixel: Pillow would clip them
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    elif image.mode not in ("L", "LA", "RGB", "RGBA", "CMYK") or "transparency" in image.info:
        # a palette cannot be averaged
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if max(image.size) > longest:
        image.thumbnail((longest, longest), Image.Resampling.BOX if longest < 256 else Image.Resampling.LANCZOS)
    else:
        image.load()
    return image


def _over_white(image: "Image") -> "Image":
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")


def _turned(image: "Image", orientation: int) -> "Image":
    """As the camera was held, by EXIF's number."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _saved(image: "Image", form: str) -> bytes:
    made = io.BytesIO()
    image.save(made, form, quality=85)
    return made.getvalue()

"""Pictures and PDFs to look at, made here."""

import io
import struct
import zlib

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
NAVY = (16, 32, 96)
WHITE = (255, 255, 255)


def saved(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    made = io.BytesIO()
    image.save(made, form, **options)
    return made.getvalue()


def card(*lines: str, size: tuple[int, int] = (1200, 630), letters: int = 56) -> Image.Image:
    """White words on dark blue, with Pillow's own font."""
    image = Image.new("RGB", size, NAVY)
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        draw.text((60, 60 + row * int(1.6 * letters)), line, WHITE, ImageFont.load_default(letters))
    return image


def halves(left: Colour, right: Colour, size: tuple[int, int] = (60, 40)) -> Image.Image:
    image = Image.new("RGB", size, left)
    image.paste(right, (size[0] // 2, 0, *size))
    return image


def png_that_says(width: int, height: int, pixels: bytes = b"") -> bytes:
    """Its header promises what the rest need not keep."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    )


def pdf(width: float = 612, height: float = 792, *, text: str = "Hello", title: str = "", pages: int = 1) -> bytes:
    """Written out by hand: a page of any size, with words in a font that it does not bring along."""
    drawn = f"BT /F 36 Tf 72 {height - 108} Td ({text}) Tj ET 1 0 0 rg 72 72 144 144 re f".encode()
    numbers = " ".join(f"{6 + number} 0 R" for number in range(pages))
    box = f"/MediaBox[0 0 {width} {height}]"
    page = f"<</Type/Page/Parent 2 0 R{box}/Contents 4 0 R/Resources<</Font<</F 3 0 R>>>>>>".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{numbers}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        f"<</Title({title})>>".encode(),
        *[page] * pages,
    ]
    made = bytearray(b"%PDF-1.7\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%s endobj\n" % (number, each)
    table = len(made)
    made += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info 5 0 R>>\nstartxref\n{table}\n%%EOF".encode()
    return bytes(made)

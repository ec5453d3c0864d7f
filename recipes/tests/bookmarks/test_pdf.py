"""The first page of a PDF, and what is done about those that are broken, locked or absurd."""

import io
from pathlib import Path

import pikepdf
import pytest
from PIL import Image

from bookmarks.pictures_made import pdf
from penstock.sandbox import Limits
from penstock_recipes.bookmarks.decoders import PDFS, read_file
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.pdf import MAX_PIXELS, first_page, is_pdf


async def test_the_first_page_is_drawn_with_its_title_and_number_of_pages() -> None:
    page = await first_page(pdf(text="Annual report", title=" An annual\\nreport ", pages=3))
    assert (page.title, page.pages) == ("An annual report", 3)
    image = Image.open(io.BytesIO(page.image))
    assert image.format == "PNG"
    assert image.size == (page.width, page.height) == (1280, 1657)
    # the red square, and dark letters in a font that the file does not bring along
    assert image.getpixel((300, 1657 - 300)) == (255, 0, 0)
    letters = image.crop((150, 130, 900, 240)).convert("L").tobytes()
    assert min(letters) < 60


@pytest.mark.parametrize(("width", "height"), [(612, 200_000), (200_000, 612), (14_400, 14_400), (3, 3), (1, 14_400)])
async def test_a_page_of_any_size_is_drawn_within_bounds(width: float, height: float) -> None:
    page = await first_page(pdf(width, height))
    assert page.width * page.height <= 1.01 * MAX_PIXELS
    assert page.width <= 1281
    assert Image.open(io.BytesIO(page.image)).size == (page.width, page.height)


def locked() -> bytes:
    made = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf())) as document:
        document.save(made, encryption=pikepdf.Encryption(owner="owner", user="user"))
    return made.getvalue()


CANNOT_BE_OPENED = {
    "locked": (locked(), "locked with a password"),
    "cut off": (pdf()[:60], "damaged"),
    "only its beginning": (b"%PDF-1.7\n", "damaged"),
    "no pages": (pdf(pages=0), "no pages|damaged"),
    "no PDF": (b"<html>", "damaged"),
}


@pytest.mark.parametrize("which", CANNOT_BE_OPENED)
async def test_what_cannot_be_opened_fails_in_plain_words(which: str) -> None:
    data, words = CANNOT_BE_OPENED[which]
    with pytest.raises(PageFailed, match=words):
        await first_page(data)


async def test_a_page_that_is_never_drawn_to_its_end_costs_no_worker() -> None:
    with pikepdf.open(io.BytesIO(pdf())) as document:
        page = document.pages[0]
        inner = document.make_stream(b"0 0 m 600 700 l S")
        # each draws the one before a hundred times
        for _ in range(8):
            inner.stream_dict.update(
                pikepdf.Dictionary(Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, BBox=[0, 0, 612, 792])
            )
            outer = document.make_stream(b"/X Do " * 100)
            outer.stream_dict.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(X=inner))
            inner = outer
        page.Contents = document.make_stream(b"/X Do")
        inner.stream_dict.update(
            pikepdf.Dictionary(Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, BBox=[0, 0, 612, 792])
        )
        page.Resources.XObject = pikepdf.Dictionary(X=inner)
        made = io.BytesIO()
        document.save(made)
    asked = {"width": 1280, "height": 8000, "max_pixels": 10**6}
    with pytest.raises(PageFailed, match=r"too long|too much memory|broke"):
        await read_file(PDFS, "first_page", made.getvalue(), dict, asked, Limits(wall=60, cpu=1))


@pytest.mark.parametrize(
    ("content_type", "start", "url", "expected"),
    [
        ("text/html", b"%PDF-1.4", "https://a.example/", True),
        ("application/pdf", b"\n\n%PDF-1.4", "https://a.example/", True),
        ("application/pdf", b"<!doctype html>", "https://a.example/a.pdf", False),
        ("Application/PDF; q=1", b"", "https://a.example/", True),
        ("text/html", b"", "https://a.example/a.pdf", False),
        (None, b"", "https://a.example/a.PDF?b#c", True),
        (None, b"", "https://a.example/?a.pdf", False),
        (None, b"", "https://[/a.pdf", False),
    ],
)
def test_a_pdf_is_known_by_what_it_is(content_type: str | None, start: bytes, url: str, expected: bool) -> None:
    assert is_pdf(content_type, start, url) is expected


async def test_a_report_that_was_typeset_looks_as_it_should(tmp_path: Path) -> None:
    import typst

    source = tmp_path / "a.typ"
    source.write_text("#set document(title: [Typeset — ünïcode])\n= Heading\n#lorem(200)")
    page = await first_page(typst.compile(str(source)))
    assert (page.title, page.width) == ("Typeset — ünïcode", 1280)
    assert Image.open(io.BytesIO(page.image)).convert("L").getextrema() == (0, 255)

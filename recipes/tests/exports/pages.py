"""Looking into PDFs."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pikepdf
import pypdfium2
import pypdfium2.raw as raw
from PIL.Image import Image


class Pages:
    def __init__(self, document: pypdfium2.PdfDocument) -> None:
        self._document = document

    def __len__(self) -> int:
        return len(self._document)

    def text(self) -> str:
        """All of it, as a reader would copy it."""
        found = []
        for page in self._document:
            lines = page.get_textpage()
            found.append(lines.get_text_range())
            lines.close()
            page.close()
        return "\n".join(found).replace("\r\n", "\n")

    def pictures(self, scale: float = 1.0) -> list[Image]:
        pictures = []
        for page in self._document:
            bitmap = page.render(scale=scale)
            pictures.append(bitmap.to_pil().convert("RGB").copy())
            bitmap.close()
            page.close()
        return pictures

    def as_seen(self) -> list[str]:
        """The lines of the first page as the eye meets them: from the left, whichever way they are read."""
        page = self._document[0]
        lines = page.get_textpage()
        seen: dict[int, list[tuple[float, str]]] = {}
        for place in range(lines.count_chars()):
            x, y = ctypes.c_double(), ctypes.c_double()
            if raw.FPDFText_GetCharOrigin(lines.raw, place, x, y):
                seen.setdefault(round(y.value), []).append((x.value, chr(raw.FPDFText_GetUnicode(lines.raw, place))))
        lines.close()
        page.close()
        return ["".join(character for _, character in sorted(line)) for line in seen.values()]

    def boxes(self) -> list[list[tuple[float, float, float, float]]]:
        """Around each letter of each page: left, bottom, right, top."""
        found = []
        for page in self._document:
            lines = page.get_textpage()
            places = [place for place in range(lines.count_chars()) if raw.FPDFText_GetUnicode(lines.raw, place) > 32]
            found.append([lines.get_charbox(place) for place in places])
            lines.close()
            page.close()
        return found

    def sizes(self) -> list[tuple[float, float]]:
        """In points."""
        return [self._document.get_page_size(place) for place in range(len(self._document))]


@contextmanager
def opened(pdf: bytes) -> Iterator[Pages]:
    """As a viewer sees it."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        yield Pages(document)
    finally:
        document.close()


def words_of(text: str) -> str:
    """Without the white space, which pages have more of than résumés."""
    return "".join(text.replace("\u200b", "").split())


def inked(picture: Image) -> tuple[int, int, int, int]:
    """The box around everything that is printed."""
    box = picture.convert("L").point(lambda value: 255 if value < 128 else 0).getbbox()
    assert box is not None, "the page is blank"
    return box


def operators(pdf: bytes) -> set[str]:
    """Everything that the pages' content does."""
    with pikepdf.open(BytesIO(pdf)) as document:
        return {
            str(instruction.operator) for page in document.pages for instruction in pikepdf.parse_content_stream(page)
        }


def fonts_of(pdf: bytes) -> set[str]:
    """The names of the fonts that are used, without the mark of a subset."""
    with pikepdf.open(BytesIO(pdf)) as document:
        return {
            str(font.BaseFont).partition("+")[2] for page in document.pages for font in page.Resources.Font.values()
        }


def first_said(pdf: bytes) -> str:
    """The text that a screen reader begins with: that of the first leaf in the tree of the document's structure."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        page = document[0]
        tree = raw.FPDF_StructTree_GetForPage(page.raw)
        mark = _first_mark(raw.FPDF_StructTree_GetChildAtIndex(tree, 0))
        lines = page.get_textpage()
        marked = [each for each in page.get_objects() if raw.FPDFPageObj_GetMarkedContentID(each.raw) == mark]
        said = " ".join(_text_of(each.raw, lines.raw) for each in marked)
        raw.FPDF_StructTree_Close(tree)
        lines.close()
        page.close()
        return said
    finally:
        document.close()


def _first_mark(element: Any) -> int:
    for place in range(raw.FPDF_StructElement_CountChildren(element)):
        own: int = raw.FPDF_StructElement_GetChildMarkedContentID(element, place)
        if own >= 0:
            return own
        below = raw.FPDF_StructElement_GetChildAtIndex(element, place)
        if below and (found := _first_mark(below)) >= 0:
            return found
    return -1


def _text_of(thing: Any, lines: Any) -> str:
    if raw.FPDFPageObj_GetType(thing) != raw.FPDF_PAGEOBJ_TEXT:
        return ""
    size = raw.FPDFTextObj_GetText(thing, lines, None, 0)
    buffer = (ctypes.c_ushort * size)()
    raw.FPDFTextObj_GetText(thing, lines, buffer, size)
    return bytes(buffer).decode("utf-16-le").rstrip("\0")

"""Looking into PDFs."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

import pikepdf
import pypdfium2
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

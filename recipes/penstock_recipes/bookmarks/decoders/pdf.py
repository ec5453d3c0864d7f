"""Opens PDFs. Run in a sandbox; imports nothing but pdfium and Pillow."""

import io
from typing import Any

_WRONG_PASSWORD = 4


class Refused(Exception):
    """Said to whoever bookmarked it."""


def prepare(**_: object) -> None:
    import pypdfium2

    # a page to try, for some things are imported only when they are needed, which would be too late
    blank = pypdfium2.PdfDocument.new()
    blank.new_page(8, 8)
    made = io.BytesIO()
    blank.save(made)
    first_page(made.getvalue(), 8, 8, 64)


def first_page(data: bytes, width: int, height: int, max_pixels: int) -> tuple[dict[str, Any], bytes]:
    """The first page as a PNG. Fonts that a PDF does not bring along are pdfium's own: no file is read here."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _WRONG_PASSWORD:
            raise Refused("The PDF is locked with a password") from None
        raise Refused("The PDF is damaged") from None
    pages = len(document)
    if not pages:
        raise Refused("The PDF has no pages")
    try:
        page = document[0]
        wide, high = page.get_size()
        if not (0 < wide < 1e6 and 0 < high < 1e6):
            raise Refused("The PDF's first page has no size")
        # a page may be a yard of receipt, or a poster
        scale = min(width / wide, height / high, (max_pixels / (wide * high)) ** 0.5)
        image = page.render(scale=scale).to_pil().convert("RGB")
    except pypdfium2.PdfiumError:
        raise Refused("The PDF's first page is damaged") from None
    made = io.BytesIO()
    image.save(made, "PNG")
    title = document.get_metadata_dict().get("Title", "")
    facts = {"width": image.width, "height": image.height, "pages": pages, "title": title[:1000]}
    return facts, made.getvalue()

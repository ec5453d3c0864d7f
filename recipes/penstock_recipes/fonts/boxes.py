"""What stands in a PDF as empty boxes, since no font has it."""

import re
import unicodedata
from collections.abc import Iterator

import pikepdf

_FONT = "Boxes"
_SHOWN = 8
_MAPPED = re.compile(r"beginbfchar\s+<[0-9A-Fa-f]+> <([0-9A-Fa-f]+)>")
_SCRIPTS = {"CJK": "Chinese characters", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def warnings_about(document: pikepdf.Pdf) -> list[str]:
    """One for each script: `Tamil: no font has த மி ழ், printed as empty boxes`. The pages themselves are asked, so that
    it is what happened and not what was expected; where there are no boxes it costs nothing."""
    found: dict[str, dict[str, None]] = {}
    for page in document.pages:
        for text in _boxed(page):
            found.setdefault(_script(text[0]), {})[text] = None
    return [_warning(script, list(texts)) for script, texts in found.items()]


def _warning(script: str, texts: list[str]) -> str:
    shown = " ".join(texts[:_SHOWN]) + (" …" if len(texts) > _SHOWN else "")
    return f"{script}: no font has {shown}, printed as empty boxes"


def _boxed(page: pikepdf.Page) -> Iterator[str]:
    known = page.resources.get("/Font", pikepdf.Dictionary())
    boxes = {name: font for name, font in known.items() if _FONT in str(font.BaseFont)}
    if not boxes:
        return
    font, spans = "", list[str]()
    for instruction in pikepdf.parse_content_stream(page):
        operands = instruction.operands
        match str(instruction.operator):
            case "Tf":
                font = str(operands[0])
            case "BDC" | "BMC":
                marked = operands[1] if len(operands) > 1 else None
                said = isinstance(marked, pikepdf.Dictionary) and "/ActualText" in marked
                spans.append(str(marked.ActualText) if said and marked is not None else "")
            case "EMC":
                spans.pop()
            case "Tj" | "TJ" | "'" | '"' if font in boxes:
                said_so = next((text for text in reversed(spans) if text), "")
                yield from [said_so] if said_so else _mapped(boxes[font])


def _mapped(font: pikepdf.Object) -> list[str]:
    """All boxes look the same, so there is one glyph; what it stands for where nothing else is said."""
    codes = _MAPPED.findall(font.ToUnicode.read_bytes().decode("ascii", "replace"))
    return [bytes.fromhex(code).decode("utf-16-be", "replace") for code in codes]


def _script(character: str) -> str:
    if unicodedata.category(character)[0] not in "LMN":
        return "Symbols"
    first = unicodedata.name(character, "OTHER").partition(" ")[0]
    return _SCRIPTS.get(first, first.capitalize())

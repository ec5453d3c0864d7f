"""Markdown tables."""

import re
from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Nothing without rows."""
    written = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    if not written:
        return ""
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *written, "", ""])


def code(value: object) -> str:
    text = str(value).replace("`", "'")
    return f"`{text}`" if text else ""


def prose(text: str) -> str:
    """Markdown that shows what was written: `<` begins no tag, unless it is in code, where it is shown anyway."""
    return re.sub(r"(`[^`]*`)|<", lambda found: found[1] or "&lt;", text)


def _cell(text: str) -> str:
    return prose(" ".join(text.split())).replace("|", "\\|")

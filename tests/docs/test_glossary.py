"""Every word of the glossary is said in the code, and has one line."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LINE = re.compile(r"^\| \*\*(.+?)\*\* \|", re.MULTILINE)


def test_the_words_of_the_glossary_are_used() -> None:
    words = [
        word for line in LINE.findall((ROOT / "docs/concepts/glossary.md").read_text()) for word in line.split(", ")
    ]
    assert len(words) == len(set(words))
    code = "\n".join(
        file.read_text().lower().replace("_", " ")
        for file in (ROOT / "penstock").rglob("*")
        if file.suffix in (".py", ".sql")
    )
    assert [word for word in words if not re.search(rf"\b{word}", code)] == []

"""The pages of the reference, made of the code they describe whenever the site is built. None of them is committed."""

from collections.abc import Iterator
from pathlib import Path

from scripts.docs.reference import commands, engines, http, python, settings, sql


def reference() -> Iterator[tuple[Path, str]]:
    """Every generated page, and where it stands."""
    folder = Path("reference")
    yield folder / "sql.md", sql.page()
    yield folder / "settings.md", settings.page()
    yield folder / "commands.md", commands.page()
    yield folder / "engines.md", engines.page()
    yield folder / "http.md", http.page()
    for name, text in python.pages():
        yield folder / "python" / f"{name}.md", text

"""The order of the pages. Every page has a place here, or below a folder that ends with a stroke."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

Entry = str | Mapping[str, "str | Sequence[Entry]"]

NAV: list[Entry] = [
    {"Start": ["index.md", "installing.md"]},
    {
        "Guides": [
            "client.md", "worker.md", "schedules.md", "artifacts.md", "testing.md", "server.md", "applications.md",
            "auth.md", "push.md", "remote-workers.md", "engine.md", "deploying.md", "operations.md",
        ]
    },
    {"Recipes": ["recipes/index.md", "recipes/"]},
    {
        "Reference": [
            {"Python": ["reference/python/"]}, "reference/sql.md", "reference/http.md", "reference/commands.md",
            "reference/settings.md", "glossary.md",
        ]
    },
    {"Project": ["changing.md", {"Decisions": ["decisions/"]}, "project/"]},
]  # fmt: skip


def as_toml(pages: Path) -> str:
    """For the generator's settings, with every page of a folder in the place of its name."""
    listed = set(_named(NAV))
    return _written(NAV, pages, listed)


def reached(pages: Path) -> set[str]:
    """The pages that have a place."""
    listed = set(_named(NAV))
    return {page for name in listed for page in (_below(name, pages, listed) if name.endswith("/") else [name])}


def _written(entries: Sequence[Entry], pages: Path, listed: set[str]) -> str:
    shown: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            shown += [f'"{each}"' for each in (_below(entry, pages, listed) if entry.endswith("/") else [entry])]
        else:
            for title, inner in entry.items():
                below = f'"{inner}"' if isinstance(inner, str) else _written(inner, pages, listed)
                shown.append(f'{{ "{title}" = {below} }}')
    return "[" + ", ".join(shown) + "]"


def _below(folder: str, pages: Path, listed: set[str]) -> list[str]:
    found = (page.relative_to(pages).as_posix() for page in sorted((pages / folder).glob("*.md")))
    return [page for page in found if page not in listed]


def _named(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values():
                yield from [inner] if isinstance(inner, str) else _named(inner)

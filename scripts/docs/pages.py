"""What the site is made of: docs/, what stands elsewhere in the repository, and the generated reference.

All of it is laid out in one folder, because the generator takes pages from one, and because links must lead to the same
place whether they are followed there or in the repository.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.docs.reference import reference

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)(\[[^\]]*\]\()([^)#\s]+)(#[^)\s]*)?\)")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def lay_out(folder: Path) -> None:
    """Writes every page below `folder`; one that is as it was stays untouched, so that a server sees what changed."""
    wanted = dict(_pages())
    for path, text in wanted.items():
        page = folder / path
        if not page.exists() or page.read_bytes() != text:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(text)
    for page in folder.rglob("*"):
        if page.is_file() and page.relative_to(folder) not in wanted:
            page.unlink()


def sources() -> dict[Path, Path]:
    """Every document of the repository that is a page: where it stands, and where on the site."""
    found = {path: path.relative_to(DOCS) for path in sorted(DOCS.rglob("*")) if path.is_file()}
    for recipe in sorted(ROOT.glob("recipes/penstock_recipes/*/README.md")):
        found[recipe] = Path("recipes") / f"{recipe.parent.name}.md"
    found[ROOT / "recipes" / "README.md"] = Path("recipes/index.md")
    found |= {path: path.relative_to(ROOT) for path in sorted((ROOT / "deploy").rglob("*")) if path.is_file()}
    found[ROOT / "deploy" / "README.md"] = Path("deploy/index.md")
    found[ROOT / "CONTRIBUTING.md"] = Path("project/contributing.md")
    found[ROOT / "CHANGELOG.md"] = Path("project/changes.md")
    found[ROOT / "LICENSE"] = Path("project/licence.md")
    return found


def _pages() -> Iterator[tuple[Path, bytes]]:
    places = sources()
    for source, place in places.items():
        if source.suffix == ".md":
            yield place, _with_links(source, places).encode()
        elif source.name == "LICENSE":
            yield place, f"# Licence\n\n{source.read_text('utf-8')}".encode()
        else:
            yield place, source.read_bytes()
    for place, text in reference():
        yield place, text.encode()


def _with_links(source: Path, places: dict[Path, Path]) -> str:
    """Links to documents of the repository lead to their pages. What is no page is named without a link."""
    here = places[source].parent

    def led(match: re.Match[str]) -> str:
        opening, address, anchor = match[1], match[2], match[3] or ""
        target = Path(os.path.normpath(source.parent / address))
        if "://" in address or address.startswith("mailto:"):
            return match[0]
        if target.is_relative_to(DOCS):  # of the reference, too, which stands there only when it is made
            place = target.relative_to(DOCS)
        elif target in places:
            place = places[target]
        else:
            return opening[1:-2] if target.exists() else match[0]
        return f"{opening}{os.path.relpath(place, here)}{anchor})"

    text, done = source.read_text("utf-8"), []
    at = 0
    for code in CODE.finditer(text):
        done += [LINK.sub(led, text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*done, LINK.sub(led, text[at:])])

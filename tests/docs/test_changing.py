"""docs/project/changing.md names files and tests that are there, and no more of them than it says.
Decisions name files that are there, and CONTRIBUTING.md every folder of the package."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "project" / "changing.md").read_text("utf-8")
FOLDERS = ("penstock", "tests", "scripts", "recipes", "docs", "bench", "deploy", "examples")
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
OF_OTHERS = {"manage.py"}
"""Files of an application, which we do not have."""
PLACES = {
    place
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if "__pycache__" not in path.parts
    for place in ("/" + path.relative_to(ROOT).as_posix(), "/" + path.relative_to(ROOT).with_suffix("").as_posix())
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.partition("## Fifteen changes, walked")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| change ")
]
MOST = 6
LONGER = ("a column that the caller sets", "an outcome")
"""The page says so, and why."""


def is_there(name: str) -> bool:
    return any(place.endswith(f"/{name.strip('/')}") for place in PLACES)


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_files_of_a_change_are_there(row: list[str]) -> None:
    change, files, red = row
    # what Ears is stands in brackets beside its file
    assert [name for name in names(re.sub(r"\([^)]*\)", "", files)) if not is_there(name)] == []
    assert [name for name in names(red) if not is_there(name)] == []
    if not change.startswith(LONGER):
        assert len(re.split(r"[,;] (?![^(]*\))", files)) <= MOST


def test_fifteen_changes_are_walked() -> None:
    assert len(ROWS) == 15


def test_each_path_on_the_page_is_one() -> None:
    paths = [
        name for name in names(re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE))
        if re.fullmatch(r"(penstock|tests|scripts|recipes|docs)/[\w./-]+", name) and "postpone" not in name
    ]  # fmt: skip
    assert len(paths) > 20
    assert [path for path in paths if not is_there(path)] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem)
def test_the_files_that_a_decision_names_are_there(decision: Path) -> None:
    """Of a file that has gone since, a decision tells in words."""
    text = decision.read_text("utf-8")
    files = rf"(?:{'|'.join(FOLDERS)})/[\w./-]+|[\w./-]+\.(?:py|sql|js|md|toml|yaml|html)"
    named = {name for name in names(text) if re.fullmatch(files, name)} - OF_OTHERS
    named |= {module.replace(".", "/") for module in re.findall(r"python -m ((?:bench|tests|penstock)[\w.]*)", text)}
    assert [name for name in sorted(named) if not is_there(name)] == []


def folders_in(place: Path) -> list[str]:
    return [path.name for path in place.iterdir() if path.is_dir() and path.name != "__pycache__"]


def test_each_folder_of_the_package_is_on_the_map() -> None:
    _, _, rest = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Where things are\n")
    lines = rest.partition("\n## ")[0].splitlines()
    assert [
        name for name in folders_in(ROOT / "penstock") if not any(f"| `penstock/{name}` |" in each for each in lines)
    ] == []
    for outer in ("engine", "server"):
        [line] = [each for each in lines if each.startswith(f"| `penstock/{outer}` |")]
        assert [name for name in folders_in(ROOT / "penstock" / outer) if not re.search(rf"`{name}/?`", line)] == []

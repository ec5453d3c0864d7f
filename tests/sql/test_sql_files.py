"""The habits of the SQL files: one function a file, by its name, in lower case."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest

FOLDER = Path(str(files("penstock.sql")))
FUNCTIONS = sorted((FOLDER / "functions").glob("*/*.sql"), key=lambda file: file.stem)
VIEWS = sorted((FOLDER / "views").glob("*.sql"))
ADAPTERS = sorted((FOLDER / "adapters").glob("**/*.sql"))
ALL = [*sorted((FOLDER / "migrations").glob("*.sql")), *FUNCTIONS, *VIEWS, *ADAPTERS]


def name_of(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("file", FUNCTIONS, ids=name_of)
def test_a_file_makes_one_function_and_is_named_after_it(file: Path) -> None:
    made = re.findall(r"^create (?:or replace )?function (\S+?)\(", file.read_text("utf-8"), re.MULTILINE)
    assert made == [f"penstock.{file.stem}"]


@pytest.mark.parametrize(
    "file", [each for each in ADAPTERS if each.parent.name in ("functions", "expressions")], ids=name_of
)
def test_a_file_of_an_adapter_makes_the_functions_of_its_name(file: Path) -> None:
    """All of that name: what it stands for has overloads."""
    made = re.findall(r"^create or replace function \S+?\.(\S+?)\(", file.read_text("utf-8"), re.MULTILINE)
    assert set(made) == {file.stem}


@pytest.mark.parametrize("file", VIEWS, ids=name_of)
def test_a_view_for_applications_can_only_grow(file: Path) -> None:
    """Replacing it is how Postgres holds us to that."""
    made = re.findall(r"^create or replace view (\S+) with (.*) as$", file.read_text("utf-8"), re.MULTILINE)
    assert made == [(f"penstock.{file.stem}", "(security_invoker = true)")]


def test_every_function_of_the_database_has_its_file(url: str) -> None:
    with psycopg.connect(url) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(
            "select proname from pg_proc where pronamespace = 'penstock'::regnamespace order by proname"
        ).fetchall()
    # in a list: two functions of one name are one too many
    assert [name for (name,) in rows] == [file.stem for file in FUNCTIONS]


def test_any_encoding_has_what_is_written_in_them() -> None:
    """It is sent whole, comments and all: one character that a database lacks, and it cannot be migrated."""
    texts = [*ALL, *FOLDER.glob("*.sql")]
    assert [file.name for file in texts if not file.read_text("utf-8").isascii()] == []


@pytest.mark.parametrize("file", ALL, ids=name_of)
def test_keywords_are_in_lower_case(file: Path) -> None:
    code = re.sub(r"--.*|'[^']*'", "", file.read_text("utf-8"))
    assert re.findall(r"\b[A-Z]{2,}\b", code) == []


def test_what_is_named_like_the_schema_and_stands_for_itself_is_a_relation(url: str) -> None:
    """In a schema of another name it is renamed with it, as what is no name in it must not be: see own_name()."""
    with psycopg.connect(url) as connection:
        relations = connection.execute(
            "select relname from pg_class where relnamespace = 'penstock'::regnamespace"
        ).fetchall()
    named = {name for file in FUNCTIONS for name in re.findall(r"'penstock\.([^'(]*)'", file.read_text("utf-8"))}
    assert named - {"%I", *(name for (name,) in relations)} == set()

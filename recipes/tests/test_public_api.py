"""The recipes use what is documented for every application, and nothing else: docs/guides/applications.md lists it."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "recipes" / "penstock_recipes"
PYTHON = sorted(PACKAGE.rglob("*.py"))
SQL = sorted(PACKAGE.rglob("*.sql"))
READMES = sorted(PACKAGE.rglob("*.md"))


def documented() -> tuple[set[str], set[str]]:
    """Modules of Python, and names in SQL."""
    _, _, section = (ROOT / "docs" / "guides" / "applications.md").read_text("utf-8").partition("\n## What is public\n")
    tables = (re.findall(r"^\| (`penstock.*?) \|", table, re.MULTILINE) for table in section.split("| in SQL |"))
    modules, names = (set(re.findall(r"`(penstock[\w.]*)", " ".join(rows))) for rows in tables)
    assert modules
    assert names
    return modules, names


MODULES, NAMES = documented()


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, each.name) for each in node.names)


def is_public(module: str, name: str) -> bool:
    return module in MODULES and (not name or name in importlib.import_module(module).__all__)


def code_of(file: Path) -> str:
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        return text
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def test_only_public_names_are_imported() -> None:
    private = [
        f"{file.relative_to(ROOT)}: {module} {name}"
        for file in [*PYTHON, *READMES]
        for module, name in imports(ast.parse(code_of(file)))
        if module.partition(".")[0] == "penstock" and not is_public(module, name)
    ]
    assert private == []


def test_nothing_private_of_another_is_touched() -> None:
    touched = [
        f"{file.relative_to(ROOT)}: {ast.unparse(node)}"
        for file in PYTHON
        for node in ast.walk(ast.parse(code_of(file)))
        if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr)
        if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]
    assert touched == []


def test_sql_names_only_what_is_documented() -> None:
    named = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in [*PYTHON, *SQL]
        for text in (statements(file) if file.suffix == ".py" else [re.sub(r"--.*", "", file.read_text("utf-8"))])
        for name in re.findall(r"\bpenstock\.[a-z_]+", text)
        if name not in NAMES
    ]
    assert named == []


def statements(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if re.search(r"\b(select|insert|update|delete|from|join)\b", node.value) else []


def test_what_is_documented_is_there() -> None:
    """Functions that programs may call have a room of their own."""
    made = ROOT / "penstock" / "sql"
    known = {path.stem for path in [*(made / "functions" / "api").glob("*.sql"), *(made / "views").glob("*.sql")]}
    assert {name.removeprefix("penstock.") for name in NAMES} - known == {"my_jobs"}
    for module in MODULES:
        assert importlib.import_module(module).__all__

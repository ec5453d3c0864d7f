"""What the package imports is what it declares: its dependencies anywhere, those of an extra under the extra's name."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.install.environments import ROOT, distributions, project, tops

PACKAGE = ROOT / "penstock"
COMMAND = ROOT / "penstock_command.py"
STARTER = PACKAGE / "cli" / "starter"
"""What `penstock init` writes: nothing imports it here."""
FILES = [COMMAND, *(file for file in PACKAGE.rglob("*.py") if file.parent != STARTER)]
NOT_OURS = {"sqlalchemy"}
"""Who uses an adapter has what it adapts."""


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules from elsewhere that are imported when the code runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # nine of ten nodes, and none of them imports anything
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]
        yield from imports(node)


@cache
def needed(file: Path) -> set[str]:
    """The extras that are named around imports in a file."""
    calls = (node for node in ast.walk(parsed(file)) if isinstance(node, ast.Call))
    return {
        str(call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "needs" and isinstance(call.args[0], ast.Constant)
    }


def extras_of(file: Path) -> set[str]:
    """Those of the file itself, and of the packages around it, which are imported first."""
    around = (folder / "__init__.py" for folder in file.parents if folder.is_relative_to(PACKAGE))
    command = needed(COMMAND) if file.is_relative_to(PACKAGE / "cli") else set()
    return needed(file).union(command, *map(needed, around))


@cache
def brought_by(extras: frozenset[str]) -> set[str]:
    return {top.partition(".")[0] for name in distributions(extras) for top in tops(name)}


def test_whatever_is_imported_is_declared_where_it_is_needed() -> None:
    ours = {"penstock", "penstock_command", *sys.stdlib_module_names, *NOT_OURS}
    undeclared = [
        f"{file.relative_to(ROOT)}: {module}"
        for file in FILES
        for module in sorted(set(imports(parsed(file))) - ours - brought_by(frozenset(extras_of(file))))
    ]
    assert undeclared == []


def test_every_extra_that_is_named_exists() -> None:
    named = set().union(*(needed(file) for file in FILES))
    assert named == {"bullmq", "cli", "django", "otel", "push", "sentry", "server", "storage"}
    assert {*named, "binary", "embedded"} <= project()["project"]["optional-dependencies"].keys()


def test_all_has_every_extra_of_users() -> None:
    everything = distributions(["all"])
    for extra in project()["project"]["optional-dependencies"]:
        if extra in {"binary", "cli", "embedded", "otel", "push", "sentry", "server", "storage"}:
            assert distributions([extra]) <= everything, extra


LOADED = """import sys
import penstock
from penstock.engine.http import HttpEngine
print(*{name.partition(".")[0] for name in sys.modules})
penstock.Penstock("postgresql:///nowhere")
print("psycopg" in sys.modules)
"""


def test_a_driver_is_loaded_when_an_engine_is_made_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded, at_last = done.stdout.splitlines()
    from_elsewhere = set(loaded.split()) & brought_by(frozenset({"all"}))
    assert from_elsewhere <= {"msgspec", "uuid_utils", "cronsim", "typing_extensions"}
    assert at_last == "True"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [("penstock.tokens", {"fastapi", "pydantic", "uvicorn"}), ("penstock.server", {"networkx", "obstore"})],
)
def test_what_is_seldom_needed_is_not_loaded_at_the_start(module: str, heavy: set[str]) -> None:
    """Each takes 0.1 to 1 s, whenever a token is minted or a server starts."""
    program = f"import sys, {module}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heavy & set(done.stdout.split()) == set()

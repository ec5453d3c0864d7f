"""The threat model: every control that it claims names a test, and every test that it names is there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text()
ATTACKERS = re.findall(r"^## (.+)$", PAGE.split("## What is published")[0], re.MULTILINE)[2:]


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 50
    assert not [f"{path}::{name}" for path, name in named if name not in functions_in(path)]


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_every_control_against_an_attacker_has_a_test(attacker: str) -> None:
    section = PAGE.split(f"## {attacker}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if re.match(r"\| (?!asset|attacker)\w", line)]
    assert rows
    assert not [row for row in rows if "::" not in row]

"""The distribution: what is found in it under which names, and what an installation without any extra says."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from shared.programs import environment
from tests.install.environments import distributions, tops
from tests.install.test_imports import imports

PACKAGE = Path(__file__).parents[1] / "penstock_recipes"
RECIPES = ("exports", "readings", "bookmarks", "calls")
EACH_HAS = {"__init__.py", "jobs.py", "shapes.py", "page", "demo.py", "README.md"}
HOME = {"@router.": "routes", "create table": "migrations", "(BaseModel)": "shapes"}
"""Where what has such a word in it belongs."""
ELSEWHERE = {"exports/resume.py"}
"""A résumé is a shape, and a subject of its own."""


def test_the_same_things_are_found_under_the_same_names() -> None:
    for recipe in RECIPES:
        assert {path.name for path in (PACKAGE / recipe).iterdir()} >= EACH_HAS, recipe
        for file in [*(PACKAGE / recipe).rglob("*.py"), *(PACKAGE / recipe).rglob("*.sql")]:
            text = file.read_text("utf-8")
            for word, home in HOME.items():
                parts = file.relative_to(PACKAGE).with_suffix("").parts
                assert word not in text or home in parts or "/".join(file.parts[-2:]) in ELSEWHERE, (file, word)


def test_recipes_know_nothing_of_each_other() -> None:
    """But for a demonstration, in which one reads aloud what another listens to."""
    others = [
        str(file.relative_to(PACKAGE))
        for recipe in RECIPES
        for file in (PACKAGE / recipe).rglob("*.py")
        for other in RECIPES
        if other != recipe and f"penstock_recipes.{other}" in file.read_text("utf-8")
    ]
    assert set(others) == {"calls/demo.py"}


def declared(extra: str) -> set[str]:
    """The modules that an extra brings by itself."""
    extras = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found: set[str] = set()
    for requirement in map(Requirement, extras[extra]):
        ours = requirement.name == "penstock-recipes"
        parts = map(declared, requirement.extras) if ours else [tops(requirement.name)]
        found |= {name.partition(".")[0] for part in parts for name in part}
    return found


def test_what_a_recipe_imports_is_what_its_extra_declares() -> None:
    always = {name.partition(".")[0] for each in distributions(["server"]) for name in tops(each)}
    always |= {"penstock", "penstock_recipes", *sys.stdlib_module_names}
    more = {"calls": ["calls", "speech"], "fonts": ["typesetting"]} | {
        name: [name] for name in ("exports", "readings", "bookmarks")
    }
    undeclared = [
        f"{file.relative_to(PACKAGE)}: {module}"
        for file in PACKAGE.rglob("*.py")
        for module in set(imports(ast.parse(file.read_text("utf-8")))) - always
        if not any(module in declared(extra) for extra in more.get(file.relative_to(PACKAGE).parts[0], ["readings"]))
    ]
    assert undeclared == []


def test_modules_are_named_by_nouns() -> None:
    assert [str(path) for path in PACKAGE.rglob("*ing.py")] == []


def test_a_recipe_without_its_extra_names_it_in_one_line(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shared.bare"],
        env=environment(DATABASE_URL=url),
        input=json.dumps([["tick", f"penstock_recipes.{recipe}:app"] for recipe in RECIPES]),
        check=True,
        capture_output=True,
        text=True,
    )
    for recipe, (code, said, trouble) in zip(RECIPES, json.loads(done.stdout), strict=True):
        assert (code, trouble) == (1, "SystemExit(1)"), (recipe, said, trouble)
        assert f"the {recipe} recipe needs " in said
        assert f"pip install 'penstock-recipes[{recipe}]'" in said
        assert len(said.strip().splitlines()) == 1, said

"""`pip install penstock-recipes` without any extra: a recipe says which it needs, in one line."""

import json
import subprocess
import sys

from shared.programs import environment

RECIPES = ("exports", "readings", "bookmarks", "calls")


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
        assert f"{recipe} need " in said
        assert f"pip install 'penstock-recipes[{recipe}]'" in said
        assert len(said.strip().splitlines()) == 1, said

"""What an installation without a recipe's extra lacks, in one line."""

from importlib.util import find_spec

from penstock import PenstockError


def require(recipe: str, *modules: str) -> None:
    """`recipe` is the name of the extra too."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise PenstockError(f"{recipe} need {', '.join(missing)}: pip install 'penstock-recipes[{recipe}]'")

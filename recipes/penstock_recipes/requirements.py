"""What an installation without a recipe's extra lacks, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from penstock.extras import needs


@contextmanager
def brought_by(recipe: str) -> Iterator[None]:
    """Around imports; `recipe` is the name of the extra too."""
    with needs(recipe, f"the {recipe} recipe", "penstock-recipes"):
        yield


def require(recipe: str, *modules: str) -> None:
    """Looks for what is imported only when it is used: when the first job runs it is late to say so."""
    with brought_by(recipe):
        for name in modules:
            if find_spec(name) is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

"""A recipe as an application of its own: `penstock up penstock_recipes.exports:app`."""

from collections.abc import Callable
from functools import cache

from penstock import Penstock


def made_on_demand(module: str, make: Callable[[], Penstock]) -> Callable[[str], Penstock]:
    """The `__getattr__` of a module that has an `app` when somebody asks for it: processes that set pages or decode
    sound need no server, and start in half the time."""
    made = cache(make)

    def get(name: str) -> Penstock:
        if name == "app":
            return made()
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get

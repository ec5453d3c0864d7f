"""SQL adapters: other systems' SQL on our engine, added to a database by `penstock migrate --with NAME`.

Each is a folder here. Its `migrations` are applied once each; every other .sql file is run again whenever one of them
changes, in the order of their paths; `remove.sql` takes it all away. They name the engine's schema `penstock`, as the
engine's own files do. The first migration refuses, by `raise exception`, a database that it does not fit.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from penstock.errors import InvalidInput, meant
from penstock.sql import Migration, read_migrations

_REMOVAL = "remove.sql"


@dataclass(frozen=True, slots=True)
class Adapter:
    name: str
    migrations: tuple[Migration, ...]
    script: str
    """Its functions, views and rights: whatever may be run again."""
    removal: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()[:16]


@cache
def adapters() -> Mapping[str, Adapter]:
    """All that there are, by name."""
    folders = sorted((each for each in files(__name__).iterdir() if each.is_dir()), key=lambda folder: folder.name)
    return {folder.name: _read(folder) for folder in folders if (folder / _REMOVAL).is_file()}


def adapter(name: str) -> Adapter:
    """The adapter of that name; refuses one that does not exist."""
    found = adapters().get(name)
    if found is None:
        close = meant(name, adapters()) or f"; there are {', '.join(adapters())}"
        raise InvalidInput("with", f"there is no adapter {name!r}{close}")
    return found


def _read(folder: Traversable) -> Adapter:
    rest = "\n".join(_scripts(folder))
    removal = (folder / _REMOVAL).read_text("utf-8")
    return Adapter(folder.name, read_migrations(folder / "migrations"), rest, removal)


def _scripts(folder: Traversable) -> Iterator[str]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir() and each.name != "migrations":
            yield from _scripts(each)
        elif each.name.endswith(".sql") and each.name != _REMOVAL:
            yield each.read_text("utf-8")

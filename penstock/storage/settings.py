"""Which store an application keeps its files in: made when first needed."""

import threading
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock.storage.address import store_at
from penstock.storage.protocol import Store


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A storage as another process may be told of it."""

    address: str | None
    kept: float | None

    def here(self) -> "Storage":
        if self.address is None:
            raise PenstockError(
                "a store that is an object cannot be used by a handler with isolate=True; give an address"
            )
        return Storage(self.address, self.kept)


class Storage:
    def __init__(self, address: str | Path | Store, kept: float | None = None) -> None:
        self.address = _settled(address) if isinstance(address, str | Path) else None
        """None for a store of the application's own making, which another process cannot have by name."""
        self.kept = kept
        """Seconds after which artifacts expire that do not say so themselves; None keeps them for ever."""
        self._lock = threading.Lock()
        self._store = None if isinstance(address, str | Path) else address

    @property
    def elsewhere(self) -> Elsewhere:
        return Elsewhere(self.address, self.kept)

    @property
    def store(self) -> Store:
        with self._lock:
            if self._store is None:
                assert self.address is not None
                self._store = store_at(self.address)
            return self._store


def _settled(address: str | Path) -> str:
    """Where it is, also after the program has gone to another folder."""
    return str(address) if "://" in str(address) else str(Path(address).expanduser().absolute())

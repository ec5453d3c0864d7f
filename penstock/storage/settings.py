"""Which store an application keeps its files in, by its address: a folder, a file:// URL, or
s3://bucket/prefix?endpoint=…&region=…&path_style=…. Made when first needed."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.errors import InvalidInput, PenstockError
from penstock.storage.protocol import Store

_OPTIONS = {"endpoint", "region", "path_style"}
_YES_OR_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def store_at(address: str | Path) -> Store:
    """Makes a store. The credentials of S3 come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or wherever else its
    clients find them; an address never has any."""
    if isinstance(address, Path) or "://" not in address:
        return _folder(Path(address).expanduser())
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise InvalidInput("artifacts", "put no credentials into the address; set AWS_ACCESS_KEY_ID and its secret")
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise InvalidInput("artifacts", "a file:// address names no host: file:///var/lib/artifacts")
        return _folder(Path(unquote(parts.path)))
    if parts.scheme == "s3":
        return _s3(parts.netloc, parts.path.strip("/"), dict(parse_qsl(parts.query, keep_blank_values=True)))
    raise InvalidInput("artifacts", f"must be a folder or s3://bucket, not {parts.scheme}://…")


def _folder(folder: Path) -> Store:
    from penstock.storage.folder import Folder

    return Folder(folder)


def _s3(bucket: str, prefix: str, options: dict[str, str]) -> Store:
    from penstock.storage.s3 import objects_in

    if not bucket:
        raise InvalidInput("artifacts", "name a bucket: s3://bucket")
    if unknown := sorted(options.keys() - _OPTIONS):
        raise InvalidInput("artifacts", f"{unknown[0]!r} is none of {', '.join(sorted(_OPTIONS))}")
    endpoint = options.get("endpoint")
    path_style = _YES_OR_NO.get(options.get("path_style", "true" if endpoint else "false").lower())
    if path_style is None:
        raise InvalidInput("artifacts", "path_style must be true or false")
    given: dict[str, Any] = {"virtual_hosted_style_request": not path_style}
    if endpoint:
        given |= {"endpoint": endpoint, "client_options": {"allow_http": endpoint.startswith("http://")}}
    if "region" in options or endpoint:
        # stores that are not Amazon's take any
        given["region"] = options.get("region") or "us-east-1"
    return objects_in(bucket, prefix=prefix or None, **given)


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
    """A store by its address, made when it is first needed, and how long files are kept there."""

    def __init__(self, address: str | Path | Store, kept: float | None = None) -> None:
        self.address = _settled(address) if isinstance(address, str | Path) else None
        """None for a store of the application's own making, which another process cannot have by name."""
        self.kept = kept
        """Seconds after which artifacts expire that do not say so themselves; None keeps them for ever."""
        self._lock = threading.Lock()
        self._store = None if isinstance(address, str | Path) else address

    @property
    def elsewhere(self) -> Elsewhere:
        """What another process makes the same of."""
        return Elsewhere(self.address, self.kept)

    @property
    def store(self) -> Store:
        """The store itself."""
        with self._lock:
            if self._store is None:
                assert self.address is not None
                self._store = store_at(self.address)
            return self._store


def _settled(address: str | Path) -> str:
    """Where it is, also after the program has gone to another folder."""
    return str(address) if "://" in str(address) else str(Path(address).expanduser().absolute())

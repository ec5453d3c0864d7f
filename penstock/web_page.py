"""A page of an application's own: HTML, scripts and styles as they are in a folder."""

import re
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from penstock.errors import InvalidInput

_PATH = re.compile(r"(?:/[a-z0-9][a-z0-9-]*)+")


@dataclass(frozen=True, slots=True)
class WebPage:
    """`folder` has an index.html, which is at `path`, and whatever that needs, which is below."""

    path: str
    folder: Traversable
    title: str
    about: str = ""

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path) or self.path.startswith("/api/"):
            raise InvalidInput("path", f"must be like /exports, in small letters and not below /api, not {self.path!r}")
        if not (self.folder / "index.html").is_file():
            raise InvalidInput("folder", f"must hold an index.html; there is none in {self.folder}")

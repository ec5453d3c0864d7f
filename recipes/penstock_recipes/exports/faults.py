"""What goes wrong with an export and is tried again, in words that its owner may read: neither SQL nor paths."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import StorageFull

MEGABYTE = 1024 * 1024
INTERNAL = "it failed by an internal error"


class ExportFault(Exception):
    """Its text is for whoever asked for the export; what it was raised from is not."""


class PagesFault(ExportFault):
    def __init__(self) -> None:
        super().__init__("the pages could not be set")


class StorageFault(ExportFault):
    def __init__(self) -> None:
        super().__init__("the file could not be stored: the storage does not answer or refuses it")


_SAID = {type.__name__: str(type()) for type in (PagesFault, StorageFault)}


def fault_of(errors: Sequence[Mapping[str, Any]], shown: str | None) -> str | None:
    """Why the last attempt failed. `shown` is what anybody may be told of it, None while it may be tried again."""
    if not errors:
        return shown
    last = errors[-1]
    said = _SAID.get(str(last.get("type"))) or shown
    if said is None and "traceback" in last:
        return INTERNAL
    return said or re.sub(r"^worker .* was lost.*", "its worker was lost", str(last["error"]), flags=re.DOTALL)


def storage_words(error: StorageFull) -> tuple[str, float, float]:
    """What to tell of it; how many megabytes are used; how many may be."""
    used, limit = (error.used or 0) / MEGABYTE, (error.limit or 0) / MEGABYTE
    return f"Storage quota exceeded ({used:.2f}MB / {limit:g}MB). Delete old exports to continue.", used, limit

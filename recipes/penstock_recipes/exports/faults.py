"""What goes wrong with an export and is tried again, in words that its owner may read: neither SQL nor paths."""

from penstock import StorageFull

MEGABYTE = 1024 * 1024


class ExportFault(Exception):
    """Its text is for whoever asked for the export; what it was raised from is not."""


class PagesFault(ExportFault):
    def __init__(self) -> None:
        super().__init__("the pages could not be set")


class StorageFault(ExportFault):
    def __init__(self) -> None:
        super().__init__("the file could not be stored: the storage does not answer or refuses it")


SAID = {type.__name__: str(type()) for type in (PagesFault, StorageFault)}
"""By the type that a job's error has: these are exceptions, of which nobody is told the text."""


def storage_words(error: StorageFull) -> tuple[str, float, float]:
    """What to tell of it; how many megabytes are used; how many may be."""
    used, limit = (error.used or 0) / MEGABYTE, (error.limit or 0) / MEGABYTE
    return f"Storage quota exceeded ({used:.2f}MB / {limit:g}MB). Delete old exports to continue.", used, limit

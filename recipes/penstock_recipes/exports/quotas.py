"""What a user has too much of, in words about exports."""

from penstock import StorageFull

MEGABYTE = 1024 * 1024


def storage_words(error: StorageFull) -> tuple[str, float, float]:
    """What to tell of it; how many megabytes are used; how many may be."""
    used, limit = (error.used or 0) / MEGABYTE, (error.limit or 0) / MEGABYTE
    return f"Storage quota exceeded ({used:.2f}MB / {limit:g}MB). Delete old exports to continue.", used, limit

"""What a user has too much of, in words about exports."""

import re

from penstock import StorageFull


def storage_words(error: StorageFull) -> tuple[str, float, float]:
    """What to tell of it; how many megabytes are used; how many may be."""
    used, limit = (int(number) / 1024 / 1024 for number in re.findall(r"\d+", str(error))[:2])
    return f"Storage quota exceeded ({used:.2f}MB / {limit:g}MB). Delete old exports to continue.", used, limit

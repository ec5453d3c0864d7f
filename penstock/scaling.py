"""How many workers a backlog calls for: a pure function of what a queue shows."""

import math

PATIENCE = 5.0
"""Seconds that the oldest ready job may wait before another worker is called for, however few jobs there are."""


def wanted_workers(
    *, ready: int, running: int, oldest_s: float | None, slots: int, workers: int, least: int, most: int
) -> int:
    """As many as have slots for everything at hand, one more than now while jobs wait too long, within the limits."""
    wanted = math.ceil((ready + running) / slots)
    if ready and (oldest_s or 0) > PATIENCE:
        wanted = max(wanted, workers + 1)
    return max(least, min(most, wanted))

"""Says that jobs were parked: at once, and then no more than once a minute for each kind."""

import logging
import time
from collections.abc import Callable

log = logging.getLogger("penstock.worker")

PERIOD = 60.0
"""Seconds between two lines about a kind: parked jobs come round again and again."""


class ParkingLog:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said_at: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def note(self, kind: str, reason: str) -> None:
        """A job of this kind was parked."""
        now = self._clock()
        jobs = self._unsaid[kind] = self._unsaid.get(kind, 0) + 1
        if now - self._said_at.get(kind, -PERIOD) < PERIOD:
            return
        self._said_at[kind] = now
        self._unsaid[kind] = 0
        log.warning(
            "%d %s of kind %r parked for a worker that knows %s: %s. Start a worker of the version that enqueued %s, "
            "or cancel: penstock jobs cancel --kind %s",
            jobs, *(("job", kind, "it", reason, "it") if jobs == 1 else ("jobs", kind, "them", reason, "them")), kind,
        )  # fmt: skip


parking_log = ParkingLog()
"""The process's: ticks come and go."""

"""How often somebody may fail to sign in."""

import time
from collections import OrderedDict
from collections.abc import Callable

FAILURES = 10
PERIOD = 60.0
"""Seconds in which one address may fail so often. Keys cannot be guessed at any rate; this keeps the log and the CPU
from whoever tries."""
_REMEMBERED = 10_000


class Throttle:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, list[float]] = OrderedDict()

    def seconds_to_wait(self, address: str) -> float:
        """0 for whoever may try."""
        recent = self._recent(address)
        return recent[0] + PERIOD - self._clock() if len(recent) >= FAILURES else 0.0

    def note_failure(self, address: str) -> None:
        self._failed[address] = [*self._recent(address), self._clock()][-FAILURES:]
        self._failed.move_to_end(address)
        while len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - PERIOD
        return [moment for moment in self._failed.get(address, ()) if moment > since]

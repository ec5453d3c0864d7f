"""What an engine raises that is nobody's mistake, and whether it answers at all.

Each engine knows its own errors, and whoever works with one asks it. That it is away is said once, and that it is back.
A statement may wait for a lock or read a large table, and a queue of callers may be long: that is no reason to give up.
A server that answers nobody is. So whoever waits for half of the timeout looks whether anybody had an answer meanwhile,
and if not, whether a new connection gets one within the other half.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidInput


def no_answer(error: BaseException) -> bool:
    return isinstance(error, ConnectionError | TimeoutError)


@dataclass(frozen=True, slots=True)
class Faults:
    """Without more to say, those of any network."""

    passing: tuple[type[Exception], ...] = (OSError,)
    """It may go well the next time. Whether it has done what it was asked to is not known."""
    unstorable: tuple[type[Exception], ...] = (ValueError, TypeError)
    """What a value raises that the engine, or the text on its way there, cannot hold."""
    is_lost: Callable[[BaseException], bool] = no_answer
    """Whether a passing fault means that the engine is away, which is said once for all, where it is noticed."""


log = logging.getLogger("penstock.database")

TIMEOUT = 5.0

UNSET: Any = object()
within: ContextVar[float | None] = ContextVar("penstock database timeout", default=UNSET)


def checked_timeout(given: float | None) -> float:
    """As given, else by the environment, else the default."""
    seconds = given if given is not None else os.environ.get("PENSTOCK_DATABASE_TIMEOUT", TIMEOUT)
    try:
        if 0 < float(seconds) < math.inf:
            return float(seconds)
    except (TypeError, ValueError):
        pass
    raise InvalidInput("database_timeout", f"must be a number of seconds above 0, not {seconds!r}")


@contextmanager
def answering_within(seconds: float | None) -> Iterator[None]:
    """What happens inside gives the database so long to answer, whatever the application's own timeout is. None is for
    workers: they wait."""
    token = within.set(seconds)
    try:
        yield
    finally:
        within.reset(token)


class Outage:
    """Shared by everything in a process that uses the same database: says once that it is lost, and that it is back."""

    def __init__(self, what: str = "the database", *, meanwhile: str = "trying until it is back") -> None:
        self.what = what
        self._meanwhile = meanwhile
        self._since: float | None = None
        self._silent = False
        self._lock = threading.Lock()

    @contextmanager
    def told_by_the_error(self) -> Iterator[None]:
        """Whoever is inside gives up at the first error and shows it: one line is enough."""
        self._silent = True
        try:
            yield
        finally:
            self._silent = False

    @property
    def known(self) -> bool:
        return self._since is not None

    def begin(self, reason: str) -> None:
        if self._silent:
            return
        with self._lock:
            known, self._since = self._since, self._since or time.monotonic()
        if known is None:
            log.error("%s cannot be reached: %s; %s", self.what, reason, self._meanwhile)

    def end(self, asked: float = math.inf) -> None:
        """There was an answer, to what was `asked` then: one that was kept back may be of before it was lost."""
        if self._since is None or asked < self._since:
            return
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            log.warning("%s is back after %.1f s", self.what, time.monotonic() - since)

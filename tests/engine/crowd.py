"""Many clients at once, and waiting for what the database says instead of for the time to pass."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from tests.engine.hand import Hand
from tests.kit.until import wait_until

T = TypeVar("T")


def all_at_once(hands: Sequence[Hand], act: Callable[[Hand], T]) -> list[T]:
    """Lets every hand do the same thing in the same moment."""
    start = Barrier(len(hands))

    def go(hand: Hand) -> T:
        start.wait(timeout=30)
        return act(hand)

    with ThreadPoolExecutor(len(hands)) as threads:
        return list(threads.map(go, hands))


def wait_until_blocked(observer: Hand, sessions: int) -> None:
    """Returns when so many sessions of this database wait for a lock."""
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    wait_until(lambda: observer.value(waiting) >= sessions, what=f"{sessions} sessions that wait for a lock")

"""What job number n of a soak is: its id, its kind, what it carries, and how it must end. All of it follows from n."""

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from bench import payload
from penstock import Backoff
from penstock.job import NewJob

CHUNK = 5_000
"""Jobs that are enqueued at once: all of them or none."""
QUEUE = "soak"
PLAIN, RETRIED, GIVEN_UP, SNOOZED, CANCELLED = "plain", "retried", "given_up", "snoozed", "cancelled"
KINDS = (PLAIN, RETRIED, GIVEN_UP, SNOOZED, CANCELLED)
NEVER = 30 * 24 * 3600.0
"""Seconds until those would run that are cancelled."""


def kind_of(n: int) -> str:
    match n % 100:
        case 90 | 91 | 92:
            return RETRIED
        case 93:
            return GIVEN_UP
        case 94 | 95 | 96:
            return SNOOZED
        case 97:
            return CANCELLED
    return PLAIN


def end_of(kind: str) -> str:
    return {GIVEN_UP: "failed", CANCELLED: "cancelled"}.get(kind, "succeeded")


def attempts_of(kind: str) -> int:
    """How many it takes; a snooze gives its attempt back."""
    return {RETRIED: 2, GIVEN_UP: 2, CANCELLED: 0}.get(kind, 1)


def claims_of(kind: str) -> int:
    """How often it is handed out, where no worker is stopped meanwhile."""
    return 2 if kind == SNOOZED else attempts_of(kind)


def size_of(n: int) -> int:
    """Bytes that it carries: most nothing, some 1 KB, a few 10 KB."""
    return 10 * 1024 if n % 20 == 1 else 1024 if n % 4 == 2 else 0


@cache
def _documents(size: int) -> Sequence[bytes]:
    return [payload.compact(each).encode() for each in payload.documents(size)] or [b"null"]


_SOON = {"backoff": Backoff(0.2, cap=0.2).to_json()}


def job(n: int, id: UUID) -> NewJob:
    kind, documents = kind_of(n), _documents(size_of(n))
    args = b'{"n":%d,"document":%b}' % (n, documents[n % len(documents)])
    if kind in (RETRIED, GIVEN_UP):
        return NewJob(id=id, kind=kind, queue=QUEUE, args=args, max_attempts=2, options=_SOON)
    return NewJob(id=id, kind=kind, queue=QUEUE, args=args, delay=NEVER if kind == CANCELLED else None)


class Days:
    """Ids as of a day in the past for every so many jobs, the last of them as of yesterday: what a month drops of
    history is dropped within the run, by the same means."""

    def __init__(self, jobs: int, today: datetime) -> None:
        self.each = max(4 * CHUNK, -(-jobs // 40 // CHUNK) * CHUNK)
        self.count = -(-jobs // self.each)
        self.first = today.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(self.count)
        self._ms = int(self.first.timestamp() * 1000)

    def id_of(self, n: int) -> UUID:
        """In the order of the numbers."""
        day, within = divmod(n, self.each)
        return _uuid7(self._ms + day * 86_400_000 + within * 86_399_000 // self.each, n)

    def number_of(self, id: UUID) -> int:
        """Which job it is; -1 for an id of none."""
        n = id.int & (1 << 62) - 1
        return n if id == self.id_of(n) else -1

    def date_of(self, day: int) -> datetime:
        return self.first + timedelta(day)

    def start_of(self, day: int) -> UUID:
        """The least id of that day."""
        return _uuid7(self._ms + day * 86_400_000, 0)


def _uuid7(ms: int, low: int) -> UUID:
    return UUID(bytes=struct.pack("!QQ", ms << 16 | 7 << 12, 1 << 63 | low))

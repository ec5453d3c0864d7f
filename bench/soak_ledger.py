"""The ledger of a soak: which jobs were counted, read from history before retention drops it.

A day is read when none of its jobs is live any more; then its partition may go. One bit a job: ten million are 1.2 MB.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.soak_jobs import CANCELLED, Days, end_of, kind_of

FOR_EVER = timedelta(days=10_000)

_FINISHED = "select id, kind, state::text, attempt from penstock.history where id >= %(first)s and id < %(past)s"


@dataclass
class Ledger:
    """What was counted so far; whatever is wrong has a name."""

    jobs: int
    bits: bytearray = field(default_factory=bytearray)
    days: int = 0
    """That were read."""
    counted: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    states: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.bits = self.bits or bytearray(-(-self.jobs // 8))

    def count(self, n: int, kind: str, state: str, attempt: int) -> None:
        if not 0 <= n < self.jobs:
            self.wrong["ghosts"] += 1  # nobody enqueued it
            return
        place, bit = n >> 3, 1 << (n & 7)
        if self.bits[place] & bit:
            self.wrong["double_accepted"] += 1
            return
        self.bits[place] |= bit
        self.counted += 1
        self.attempts += attempt
        self.states[state] += 1
        if kind != kind_of(n) or state != end_of(kind):
            self.wrong["ended_wrong"] += 1

    @property
    def lost(self) -> int:
        """Of all, once every day was read."""
        return self.jobs - self.counted

    def save(self, path: Path) -> None:
        path.write_bytes(self.bits)

    def read_day(self, connection: psycopg.Connection[Any], days: Days) -> bool:
        """Counts the next day, unless one of its jobs is live. Whether it did."""
        bounds = {"first": days.start_of(self.days), "past": days.start_of(self.days + 1)}
        live = "select exists (select from penstock.jobs where id >= %(first)s and id < %(past)s)"
        if connection.execute(live, bounds).fetchone() != (False,):
            return False
        with connection.transaction(), connection.cursor(name="finished") as cursor:
            cursor.itersize = 10_000
            for id, kind, state, attempt in cursor.execute(_FINISHED, bounds):
                self.count(days.number_of(id), kind, state, attempt)
        self.days += 1
        return True


def let_drop(connection: psycopg.Connection[Any], ledger: Ledger, days: Days, kept: float) -> None:
    """Lets retention take what was read and finished so long ago, and nothing else.

    It goes by when a partition's last job finished: so not while the day that is not read yet could be as old, as after
    an hour in which the soak stood still.
    """
    bounds = {
        "first": days.start_of(ledger.days),
        "past": days.start_of(days.count),
        "kept": timedelta(seconds=kept / 2),
    }
    unread = connection.execute(
        "select count(*) > 0, coalesce(max(finished_at) > now() - %(kept)s, false) from"
        " (select finished_at from penstock.history where id >= %(first)s and id < %(past)s"
        "   order by id desc limit 1) as last",
        bounds,
    ).fetchone()
    assert unread is not None
    some, fresh = unread
    connection.execute(
        "update penstock.settings set history_kept = %s where history_kept <> %s",
        2 * [timedelta(seconds=kept) if fresh or not some else FOR_EVER],
    )


def cancel_left(connection: psycopg.Connection[Any]) -> None:
    """Those to be cancelled that a run enqueued which then was stopped."""
    connection.execute(
        "select penstock.cancel(array(select id from penstock.jobs where kind = %s and state = 'scheduled'))",
        [CANCELLED],
    )

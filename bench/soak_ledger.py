"""The ledger of a soak: which jobs were counted, read from history before retention drops it.

A day is read when none of its jobs is live any more; then its partition may go. One bit a job: ten million are 1.2 MB.
Within a partition nothing can be there twice, for its key is the id. What finishes once more when its partition is gone
becomes a stray, which is read with every later day; and whoever was handed out more often than its kind needs shows it.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from bench.soak_jobs import CANCELLED, Days, attempts_of, claims_of, end_of, kind_of

FOR_EVER = timedelta(days=10_000)

_COLUMNS = "select id, kind, state::text, attempt, claims from"
_FINISHED = f"""
    {_COLUMNS} penstock.history
     where id >= %(first)s and id < %(past)s and tableoid <> 'penstock.history_strays'::regclass
"""
_STRAYS = f"{_COLUMNS} penstock.history_strays"


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
    strays: set[UUID] = field(default_factory=set)
    """Those that were counted: they are there until retention has them."""

    def __post_init__(self) -> None:
        self.bits = self.bits or bytearray(-(-self.jobs // 8))

    def count(self, n: int, kind: str, state: str, attempt: int, claims: int) -> None:
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
        if kind != kind_of(n) or state != end_of(kind) or attempt < attempts_of(kind):
            self.wrong["ended_wrong"] += 1
        elif attempt > attempts_of(kind) or claims > claims_of(kind):
            self.wrong["rerun"] += 1

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
            for id, *found in cursor.execute(_FINISHED.encode(), bounds):
                self.count(days.number_of(id), *found)
        self.days += 1
        self._read_strays(connection, days)
        return True

    def _read_strays(self, connection: psycopg.Connection[Any], days: Days) -> None:
        """Of days that were read, or of none."""
        past = days.start_of(self.days)
        for id, *found in connection.execute(_STRAYS.encode()).fetchall():
            if id not in self.strays and (id < past or days.number_of(id) < 0):
                self.strays.add(id)
                self.count(days.number_of(id), *found)

    def read_end(self, connection: psycopg.Connection[Any], days: Days) -> None:
        """What is there when every day was read: no job, and no stray that was not counted."""
        self._read_strays(connection, days)
        [(left,)] = connection.execute("select count(*) from penstock.jobs").fetchall()
        self.wrong["unfinished"] = left


def add_partitions(connection: psycopg.Connection[Any], days: Days, first: int, last: int) -> bool:
    """Those of these days, as a worker would have made them at the time. Whether all are there."""
    with connection.transaction():
        connection.execute("update penstock.settings set partitions_ahead = %s", [last - first])
        connection.execute("select set_config('penstock_clock.now', %s, true)", [days.date_of(first).isoformat()])
        connection.execute("select penstock.add_partitions()")
        connection.execute("update penstock.settings set partitions_ahead = 3")
    return missing(connection, days, first, last) == 0


def missing(connection: psycopg.Connection[Any], days: Days, first: int, last: int) -> int:
    """How many of these days have no partition of history."""
    names = [f"penstock.history_{days.date_of(day):%Y%m%d}" for day in range(first, last + 1)]
    absent = "select count(*) from unnest(%s::text[]) as name where to_regclass(name) is null"
    [(count,)] = connection.execute(absent, [names]).fetchall()
    return int(count)


def drop_what_was_read(connection: psycopg.Connection[Any], ledger: Ledger, days: Days, sent: int, kept: float) -> None:
    """Retention of so many seconds, for one round: it takes the days that finished longer ago.

    Those are the ones that were read, unless a day that was not is as old, as after an hour in which the soak stood
    still: then it waits for the next round. Days without a finished job go too, and are made again.
    """
    last = min(sent // days.each + 1, days.count - 1)
    for day in range(ledger.days, last + 1):
        bounds = [days.start_of(day), days.start_of(day + 1), timedelta(seconds=kept / 2)]
        found = connection.execute(
            "select max(finished_at) < now() - %s from penstock.history where id >= %s and id < %s",
            bounds[2:] + bounds[:2],
        ).fetchone()
        if found == (True,):
            return
    with connection.transaction():
        connection.execute("update penstock.settings set history_kept = %s", [timedelta(seconds=kept)])
        while connection.execute("select penstock.drop_old_history()").fetchone() == (1,):
            pass  # one partition at a time
        connection.execute("update penstock.settings set history_kept = %s", [FOR_EVER])
        if ledger.days <= last and not add_partitions(connection, days, ledger.days, last):
            raise psycopg.Rollback


def cancel_left(connection: psycopg.Connection[Any]) -> None:
    """Those to be cancelled that a run enqueued which then was stopped."""
    connection.execute(
        "select penstock.cancel(array(select id from penstock.jobs where kind = %s and state = 'scheduled'))",
        [CANCELLED],
    )

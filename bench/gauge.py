"""What jobs cost Postgres: the WAL it wrote and the CPU it took between two readings, as of the whole server."""

from dataclasses import dataclass
from typing import Any

import psycopg

from bench import proc


@dataclass(frozen=True)
class Reading:
    wal: int | None
    """Nothing where there is none: of a Redis."""
    cpu: float | None

    def to(self, later: "Reading") -> "Reading":
        """What was spent from here to there."""
        wal = None if self.wal is None or later.wal is None else later.wal - self.wal
        return Reading(wal, since(self.cpu, later.cpu))


class Gauge:
    def __init__(self, postmaster: int | None) -> None:
        self._postmaster = postmaster

    async def read(self, connection: psycopg.AsyncConnection[Any]) -> Reading:
        cursor = await connection.execute("select (pg_current_wal_insert_lsn() - '0/0')::bigint")
        [wal] = await cursor.fetchone() or [0]
        return Reading(wal, None if self._postmaster is None else proc.family_cpu_seconds(self._postmaster))

    @classmethod
    def beside(cls, connection: psycopg.AsyncConnection[Any]) -> "Gauge":
        """Of the server of this connection; CPU only where it runs on this machine."""
        return cls(proc.parent_of(connection.info.backend_pid))


def since(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before

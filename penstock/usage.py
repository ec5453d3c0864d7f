"""What was used: runs, their seconds, failures and bytes, by day, organisation and kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from penstock.engine import PostgresEngine, calls
from penstock.engine.call import Row


@dataclass(frozen=True, slots=True)
class Usage:
    """The sums of one day (UTC). `org` is empty for jobs that belong to none."""

    day: date
    org: str
    kind: str
    runs: int
    seconds: float
    failures: int
    bytes: int


class Meter:
    """`app.usage`: current to the last committed job."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    def list(self, org: str | None = None) -> Sequence[Usage]:
        """Every day's usage, of one organisation or of all."""
        return _read(self._engine.run(calls.usage(org)))

    async def alist(self, org: str | None = None) -> Sequence[Usage]:
        return _read(await self._engine.arun(calls.usage(org)))


def _read(rows: Sequence[Row]) -> Sequence[Usage]:
    return [Usage(*row) for row in rows]

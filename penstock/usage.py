"""What was used: runs, their seconds, failures and bytes, by day, organisation and kind."""

from collections.abc import Sequence
from datetime import date

from penstock.engine.commands import ListUsage, SumUsage, Usage, UsageSum
from penstock.engine.protocol import Engine

__all__ = ["Meter", "Usage"]


class Meter:
    """`app.usage`: current to the last committed job.

    ```python
    seconds = sum(usage.seconds for usage in app.usage.list(org="acme"))
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, org: str | None = None, *, since: date | None = None) -> Sequence[Usage]:
        """Every day's usage, of one organisation or of all, from a day on."""
        return self._engine.run(ListUsage(org, since))

    async def alist(self, org: str | None = None, *, since: date | None = None) -> Sequence[Usage]:
        return await self._engine.arun(ListUsage(org, since))

    def sums(self, *, since: date, org: str | None = None) -> Sequence[UsageSum]:
        """The sums of each day, organisation and kind since a day; of organisations and kinds the two hundred that ran
        longest."""
        return self._engine.run(SumUsage(since, org))

    async def asums(self, *, since: date, org: str | None = None) -> Sequence[UsageSum]:
        return await self._engine.arun(SumUsage(since, org))

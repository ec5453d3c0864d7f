"""What was used: runs, their seconds, failures and bytes, by day, organisation and kind."""

from collections.abc import Sequence
from datetime import date

from penstock.engine.commands import ListUsage, Usage
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

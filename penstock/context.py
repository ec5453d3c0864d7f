"""What a handler is told about the job it runs."""

from dataclasses import dataclass
from uuid import UUID

from penstock.job import ClaimedJob


@dataclass(frozen=True, slots=True)
class Context:
    """Handed to a handler whose first parameter is a Context."""

    job: ClaimedJob

    @property
    def id(self) -> UUID:
        return self.job.id

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first is 1."""
        return self.job.attempt

    @property
    def owner(self) -> str | None:
        return self.job.owner

    @property
    def org(self) -> str | None:
        return self.job.org

"""How jobs of a handler are placed and retried: the options of @app.job, as a value and as keywords."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict
from uuid import UUID

from penstock.backoff import Backoff, Errors
from penstock.handle import JobHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How jobs of a handler are placed and retried: the decorator's choice, changed for one call by `using`."""

    queue: str = "default"
    """Where its jobs wait."""
    priority: int = 0
    """Higher goes first."""
    max_attempts: int = 5
    """Runs that count until the job is given up."""
    max_snoozes: int | None = None
    """How often it may put itself off; without one, any number of times."""
    backoff: Backoff | None = None
    """How long to wait after a failed attempt; without one as the queue says, else `Backoff()`."""
    timeout: float | None = None
    """Seconds that one run may take; without one, any."""
    isolate: bool = False
    """Runs it in a process of its own, which can be ended at any moment."""
    batch: int | None = None
    """Up to so many jobs in one call, which takes a list."""
    unique: bool | str = False
    """At most one unfinished job of the same arguments, or of the key that is given."""
    limit_key: str | None = None
    """What limits for each key count by, `"{customer}"` for an argument."""
    run_at: datetime | None = None
    """Not before this time."""
    delay: float | timedelta | None = None
    """Not before so many seconds from now."""
    idempotency_key: str | None = None
    """The same request again gets the same job, for a day."""
    owner: str | None = None
    """Whose job it is: the subject of their token."""
    org: str | None = None
    """The organisation that shares it."""
    after: Sequence["UUID | JobHandle[Any]"] = ()
    """Jobs that it waits for."""
    users: bool = False
    """Whether users may start it over HTTP; the service may start anything."""
    quota: str | Literal[False] | None = None
    """Which quota of its owner it counts against; False for none."""
    retry_on: Errors | None = None
    """The only errors that are worth another attempt."""
    no_retry_on: Errors = ()
    """Errors that fail the job at once."""
    version: int | None = None
    """Of the handler's steps: a job that began with another version is left to workers that have it."""

    def for_engine(self) -> dict[str, Any] | None:
        """What travels with the job because only a worker or a retry needs it."""
        options: dict[str, Any] = {}
        if self.backoff is not None:
            options["backoff"] = self.backoff.to_json()
        if self.timeout is not None:
            options["timeout"] = self.timeout
        return options or None


class ChoicesOfOne(TypedDict, total=False):
    """Options as keywords of @app.job, apart from `batch`, which changes what the function takes."""

    queue: str
    priority: int
    max_attempts: int
    max_snoozes: int | None
    backoff: Backoff | None
    timeout: float | None
    isolate: bool
    unique: bool | str
    limit_key: str | None
    run_at: datetime | None
    delay: float | timedelta | None
    idempotency_key: str | None
    owner: str | None
    org: str | None
    after: Sequence["UUID | JobHandle[Any]"]
    users: bool
    quota: str | Literal[False] | None
    retry_on: Errors | None
    no_retry_on: Errors
    version: int | None


class Choices(ChoicesOfOne, total=False):
    """Options as keywords of @app.job and handler.using."""

    batch: int | None

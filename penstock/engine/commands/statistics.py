"""What there is to see of the past: how many runs ended how, how long they took, and the errors."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from penstock.engine.commands.command import Repeatable


class SummedRuns(msgspec.Struct, frozen=True):
    """A step of a series as the engine has it: histograms by powers of two of a millisecond."""

    at: datetime
    queue: str
    succeeded: int
    failed: int
    retried: int
    cancelled: int
    waited: list[int]
    ran: list[int]
    waited_seconds: float
    ran_seconds: float


class StatisticsSeries(Repeatable[list[SummedRuns]], frozen=True):
    since: datetime
    step: int
    queue: str | None = None
    kind: str | None = None
    each: bool = False


class Depth(msgspec.Struct, frozen=True):
    """The most that there was to do within a step.

    ```python
    for depth in app.statistics.depth("mail"):
        print(depth.at, depth.ready, depth.running, depth.oldest_ready_seconds)
    ```
    """

    at: datetime
    ready: int
    running: int
    oldest_ready_seconds: float | None


class DepthSeries(Repeatable[list[Depth]], frozen=True):
    since: datetime
    step: int
    queue: str | None = None


class ErrorsOfHour(msgspec.Struct, frozen=True):
    at: datetime
    attempts: int
    jobs: int


class ErrorGroup(msgspec.Struct, frozen=True):
    """Errors of a kind whose messages differ by numbers, ids and quoted values alone. `attempts` ended so, and `jobs`
    were given up; `example` is the last of them; `trend` has each hour in which there were any.

    ```python
    for group in app.errors.list():
        print(group.kind, group.message, group.attempts, group.jobs, group.last_at, group.example)
    ```
    """

    id: UUID
    kind: str
    queue: str
    type: str | None
    message: str
    attempts: int
    jobs: int
    first_at: datetime
    last_at: datetime
    example: UUID | None
    trend: Sequence[ErrorsOfHour]


class ErrorGroups(Repeatable[list[ErrorGroup]], frozen=True):
    since: datetime
    kind: str | None = None
    limit: int = 50

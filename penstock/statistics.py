"""The past in figures: throughput, waiting and running times, depth, and errors that are alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.engine.commands import (
    Depth,
    DepthSeries,
    ErrorGroup,
    ErrorGroups,
    StatisticsSeries,
    SummedRuns,
)
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Since = datetime | timedelta
"""A moment, or how long ago."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: the mean, and what half, 95 and 99 of a hundred stayed below, to about a fifth. None of no runs."""

    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Runs:
    """What ended within a step: `failed` were given up, `retried` failed and are tried again. `waited` is the time from
    enqueueing to the first run, delays included.

    ```python
    from datetime import timedelta

    for runs in app.statistics.series(since=timedelta(hours=6), step=300):
        print(runs.at, runs.succeeded, runs.failed, runs.ran.p95)
    ```
    """

    at: datetime
    succeeded: int
    failed: int
    retried: int
    cancelled: int
    waited: Times
    ran: Times


class Statistics:
    """`app.statistics`: what workers have reported, ten seconds old at most. Minutes are kept for two days, hours for
    two weeks (`statistics_kept` in the table penstock.settings).

    ```python
    last_hour = app.statistics.series(queue="mail")
    print(sum(runs.failed for runs in last_hour))
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def series(
        self, queue: str | None = None, *, kind: str | None = None, since: Since = HOUR, step: int = 60
    ) -> Sequence[Runs]:
        """Every step of so many seconds from `since` until now: of all queues, or of one, or of a kind."""
        return [_runs(each) for each in self._engine.run(StatisticsSeries(_moment(since), step, queue, kind))]

    async def aseries(
        self, queue: str | None = None, *, kind: str | None = None, since: Since = HOUR, step: int = 60
    ) -> Sequence[Runs]:
        return [_runs(each) for each in await self._engine.arun(StatisticsSeries(_moment(since), step, queue, kind))]

    def by_queue(self, *, since: Since = HOUR, step: int = 60) -> dict[str, Sequence[Runs]]:
        """The same for each queue by itself, of those that had any."""
        return _by_queue(self._engine.run(StatisticsSeries(_moment(since), step, each=True)))

    async def aby_queue(self, *, since: Since = HOUR, step: int = 60) -> dict[str, Sequence[Runs]]:
        return _by_queue(await self._engine.arun(StatisticsSeries(_moment(since), step, each=True)))

    def depth(self, queue: str | None = None, *, since: Since = HOUR, step: int = 60) -> Sequence[Depth]:
        """How much there was to do, of all queues or of one, noted once a minute; steps without a note are left out."""
        return self._engine.run(DepthSeries(_moment(since), _checked_step(step), queue))

    async def adepth(self, queue: str | None = None, *, since: Since = HOUR, step: int = 60) -> Sequence[Depth]:
        return await self._engine.arun(DepthSeries(_moment(since), _checked_step(step), queue))


class Errors:
    """`app.errors`: what attempts failed with, those that are alike as one group.

    ```python
    from datetime import timedelta

    worst = app.errors.list(since=timedelta(days=7))
    ```
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, *, kind: str | None = None, since: Since = DAY, limit: int = 50) -> Sequence[ErrorGroup]:
        """Groups of errors, those with most attempts first; half a minute old at most."""
        return self._engine.run(ErrorGroups(_moment(since), kind, limit))

    async def alist(self, *, kind: str | None = None, since: Since = DAY, limit: int = 50) -> Sequence[ErrorGroup]:
        return await self._engine.arun(ErrorGroups(_moment(since), kind, limit))


def percentile(buckets: Sequence[int], share: float) -> float | None:
    """Seconds that so large a share of a histogram stays below; evenly spread within its bucket."""
    total = sum(buckets)
    if total == 0:
        return None
    wanted = share * total
    below = 0
    for place, count in enumerate(buckets):
        if below + count >= wanted and count:
            lowest = 0.0 if place == 0 else 2.0 ** (place - 1)
            return (lowest + (2.0**place - lowest) * (wanted - below) / count) / 1000
        below += count
    return None


def _times(buckets: Sequence[int], seconds: float) -> Times:
    total = sum(buckets)
    mean = seconds / total if total else None
    return Times(mean, percentile(buckets, 0.5), percentile(buckets, 0.95), percentile(buckets, 0.99))


def _runs(summed: SummedRuns) -> Runs:
    return Runs(
        summed.at, summed.succeeded, summed.failed, summed.retried, summed.cancelled,
        _times(summed.waited, summed.waited_seconds), _times(summed.ran, summed.ran_seconds),
    )  # fmt: skip


def _by_queue(summed: Sequence[SummedRuns]) -> dict[str, Sequence[Runs]]:
    found: dict[str, list[Runs]] = {}
    for each in summed:
        found.setdefault(each.queue, []).append(_runs(each))
    return dict(found)


def _moment(since: Since) -> datetime:
    moment = datetime.now(UTC) - since if isinstance(since, timedelta) else since
    if not isinstance(moment, datetime) or not moment.tzinfo:
        raise InvalidInput("since", f"must be a timedelta, or a datetime with a time zone, not {since!r}")
    return moment


def _checked_step(step: int) -> int:
    if not isinstance(step, int) or step < 60:
        raise InvalidInput("step", f"must be a number of seconds from 60 on, not {step!r}")
    return step

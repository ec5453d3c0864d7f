"""What ended over time, as charts: pure functions over what workers have reported."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypedDict

from penstock.engine.commands import DepthSeries, StatisticsSeries, SummedRuns
from penstock.errors import InvalidInput
from penstock.server.dashboard.page import Look
from penstock.statistics import percentile


class Span(NamedTuple):
    """How far back a chart goes, and in which steps."""

    label: str
    length: timedelta
    step: int


SPANS = {
    "1h": Span("hour", timedelta(hours=1), 60),
    "6h": Span("6 hours", timedelta(hours=6), 300),
    "24h": Span("24 hours", timedelta(days=1), 900),
    "7d": Span("7 days", timedelta(days=7), 3600),
}
GOOD_FOR = 10.0
"""Seconds: workers report no more often."""


class Series(TypedDict):
    """As JSON, for the script that draws it."""

    name: str
    tone: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """As ui.html draws it."""

    title: str
    kind: str
    unit: str
    times: Sequence[str]
    series: Sequence[Series]


async def steps_of(look: Look, queue: str | None = None) -> tuple[str, Sequence[SummedRuns]]:
    """The span that the address names, and its steps."""
    name = look.query.get("over") or "1h"
    if name not in SPANS:
        raise InvalidInput("over", f"must be one of {', '.join(SPANS)}, not {name!r}")
    span = SPANS[name]
    # to the minute, so that pages which show the same ask the same
    since = datetime.now(UTC).replace(second=0, microsecond=0) - span.length
    return name, await look.run(StatisticsSeries(since, span.step, queue), good_for=GOOD_FOR)


def charts_of(name: str, steps: Sequence[SummedRuns]) -> list[Chart]:
    step = SPANS[name].step
    # the last is not over yet, and would look like a fall
    whole = steps[:-1] if any(_ended(each) for each in steps[:-1]) else steps
    times = [f"{each.at.astimezone(UTC):%Y-%m-%d %H:%M}" for each in whole]

    def values(of: Callable[[SummedRuns], float | None]) -> list[float | None]:
        return [None if (value := of(each)) is None else round(value, 4) for each in whole]

    return [
        Chart("Runs a minute", "area", "", times, [
            _series("succeeded", "accent", values(lambda each: 60 * each.succeeded / step)),
        ]),
        Chart("How long", "line", "s", times, [
            _series("waited p95", "scheduled", values(lambda each: percentile(each.waited, 0.95))),
            _series("ran p95", "running", values(lambda each: percentile(each.ran, 0.95))),
            _series("ran p50", "soft", values(lambda each: percentile(each.ran, 0.5))),
        ]),
        Chart("Failures", "bars", "", times, [
            _series("given up", "failed", values(lambda each: each.failed)),
            _series("tried again", "paused", values(lambda each: each.retried)),
        ]),
    ]  # fmt: skip


async def depth_of(look: Look, queue: str) -> Chart:
    """How much there was to do, noted once a minute."""
    span = SPANS[look.query.get("over") or "1h"]
    since = datetime.now(UTC).replace(second=0, microsecond=0) - span.length
    steps = await look.run(DepthSeries(since, span.step, queue), good_for=GOOD_FOR)
    times = [f"{each.at.astimezone(UTC):%Y-%m-%d %H:%M}" for each in steps]
    return Chart("To do", "area", "", times, [
        _series("ready", "accent", [each.ready for each in steps]),
        _series("running", "running", [each.running for each in steps]),
    ])  # fmt: skip


def _series(name: str, tone: str, values: Sequence[float | None]) -> Series:
    return {"name": name, "tone": tone, "values": values}


def _ended(step: SummedRuns) -> int:
    return step.succeeded + step.failed + step.retried + step.cancelled

"""Errors that are alike, together: how many, since when, and whether there are more of them or fewer."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from penstock.engine import commands
from penstock.engine.commands import ErrorGroup
from penstock.errors import InvalidInput
from penstock.server.dashboard.charts import SPANS
from penstock.server.dashboard.page import Contents, Look, Section

section = Section()

ON_A_PAGE = 100
GOOD_FOR = 10.0
HOUR = timedelta(hours=1)
_SPANS = {name: SPANS[name] for name in ("24h", "7d")}


class Bar(NamedTuple):
    """Of a small drawing 100 wide and 24 high."""

    x: float
    width: float
    height: float
    told: str


class ErrorRow(NamedTuple):
    group: ErrorGroup
    bars: Sequence[Bar]
    told: str
    """The drawing in words."""


@section.page("/errors", "Errors", icon="errors")
async def errors(look: Look) -> Contents:
    over = look.query.get("over") or "24h"
    if over not in _SPANS:
        raise InvalidInput("over", f"must be one of {', '.join(_SPANS)}, not {over!r}")
    kind = look.text("kind")
    now = datetime.now(UTC)
    # to the hour, as they are counted
    since = now.replace(minute=0, second=0, microsecond=0) - _SPANS[over].length
    groups = await look.run(commands.ErrorGroups(since, kind, ON_A_PAGE), good_for=GOOD_FOR)
    return {
        "rows": [row_of(group, since, now) for group in groups],
        "over": over,
        "spans": _SPANS,
        "kind": kind,
        "most": len(groups) == ON_A_PAGE,
    }


def row_of(group: ErrorGroup, since: datetime, now: datetime) -> ErrorRow:
    """With each hour from then until now as a bar, the tallest as high as the drawing."""
    hours = int((now - since) / HOUR) + 1
    counts = [0] * hours
    for each in group.trend:
        place = int((each.at - since) / HOUR)
        if 0 <= place < hours:
            counts[place] += each.attempts
    most, width = max(counts, default=0), 100 / hours
    bars = [
        Bar(round(place * width, 2), round(width * 0.8, 2), round(max(2, 24 * count / most), 1),
            f"{since + place * HOUR:%m-%d %H:%M}: {count}")
        for place, count in enumerate(counts) if count
    ]  # fmt: skip
    recent, before = sum(counts[-hours // 4 :]), sum(counts[: -hours // 4])
    return ErrorRow(group, bars, f"{recent} in the last quarter of the time, {before} before")

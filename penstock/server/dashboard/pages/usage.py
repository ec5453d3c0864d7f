"""Usage: what each organisation has run, by kind and day."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from penstock.engine import commands
from penstock.engine.commands import Usage
from penstock.server.dashboard.page import Context, Look, Section

section = Section()

DAYS = 30
_MOST = 200


class Sum(NamedTuple):
    name: str
    runs: int
    seconds: float
    failures: int
    bytes: int


@section.page("/usage", "Usage", icon="usage")
async def usage(look: Look) -> Context:
    org = look.query.get("org") or None
    found = await look.run(commands.ListUsage(org))
    last = max((each.day for each in found), default=None)
    recent = [each for each in found if last is not None and each.day > last - timedelta(days=DAYS)]
    days = sorted({each.day for each in recent})
    return {
        "org": org,
        "days": DAYS,
        "orgs": _sums(recent, lambda each: each.org)[:_MOST],
        "kinds": _sums(recent, lambda each: each.kind)[:_MOST],
        "times": [day.isoformat() for day in days],
        "series": _series(recent, days),
    }


def _sums(usage: Iterable[Usage], by: Callable[[Usage], str]) -> list[Sum]:
    """Whoever ran longest first."""
    sums: dict[str, Sum] = {}
    for each in usage:
        name = by(each)
        so_far = sums.get(name, Sum(name, 0, 0.0, 0, 0))
        sums[name] = Sum(
            name, so_far.runs + each.runs, so_far.seconds + each.seconds, so_far.failures + each.failures,
            so_far.bytes + each.bytes,
        )  # fmt: skip
    return sorted(sums.values(), key=lambda each: (-each.seconds, each.name))


def _series(usage: Iterable[Usage], days: Sequence[date]) -> list[dict[str, object]]:
    runs, failures = dict.fromkeys(days, 0), dict.fromkeys(days, 0)
    for each in usage:
        runs[each.day] += each.runs
        failures[each.day] += each.failures
    return [
        {"name": "runs", "tone": "running", "values": list(runs.values())},
        {"name": "failures", "tone": "failed", "values": list(failures.values())},
    ]

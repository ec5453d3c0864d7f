"""Usage: what each organisation has run, by kind and day."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from penstock.engine import commands
from penstock.engine.commands import UsageSum
from penstock.server.dashboard.page import Contents, Look, Section

section = Section()

DAYS = 30
MOST = 200
"""Organisations and kinds that sum_usage gives."""


@section.page("/usage", "Usage", icon="usage")
async def usage(look: Look) -> Contents:
    org = look.text("org")
    since = datetime.now(UTC).date() - timedelta(days=DAYS - 1)
    sums = await look.run(commands.SumUsage(since, org))
    days = [each for each in sums if each.by == "day"]
    return {
        "org": org,
        "days": DAYS,
        "most": MOST,
        "orgs": [each for each in sums if each.by == "org"],
        "kinds": [each for each in sums if each.by == "kind"],
        "times": [each.name for each in days],
        "series": _series(days),
    }


def _series(days: Sequence[UsageSum]) -> list[dict[str, object]]:
    return [
        {"name": "runs", "tone": "running", "values": [each.runs for each in days]},
        {"name": "failures", "tone": "failed", "values": [each.failures for each in days]},
    ]

"""No page of the dashboard counts by reading jobs or history from end to end."""

from datetime import datetime, timedelta
from typing import Any

from penstock.engine import commands
from penstock.engine.commands import Command
from tests.sql.crowd_rows import NOON
from tests.sql.explain import Explained

NOW = datetime.fromisoformat(NOON)
PAGES: tuple[Command[Any], ...] = (
    commands.QueueOverview(),
    commands.Workers(),
    commands.StatisticsSeries(NOW - timedelta(hours=1), 60, None),
    commands.ErrorGroups(NOW - timedelta(days=1), None, 100),
    commands.SumUsage(NOW.date() - timedelta(days=30), None),
    commands.Approvals(None, 51),
    commands.EventsOverview(),
    commands.PreviewOperation("cancel", {"queue": "busy"}),
    commands.PreviewOperation("purge", {"state": "succeeded"}),
)


def test_no_page_counts_by_reading_all_jobs(explained: Explained) -> None:
    for command in PAGES:
        with explained.recording() as recorded:
            for _ in range(2):
                explained.run(command)
        assert recorded, command
        for plan in recorded:
            for scan in plan.scans_of("jobs", "history"):
                assert "Seq" not in scan.how, f"{command} reads all of {scan.partition} in\n{plan}"

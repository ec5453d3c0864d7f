"""Errors that are alike, on a page."""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from penstock import Penstock
from penstock.engine import commands
from penstock.engine.commands import ErrorGroup, ErrorsOfHour
from penstock.server.dashboard.pages.errors import row_of
from tests.server.dashboard.browsing import Browser

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)


def test_each_hour_is_a_bar_and_the_tallest_is_as_high_as_the_drawing() -> None:
    since = NOW.replace(minute=0) - timedelta(hours=3)
    trend = [ErrorsOfHour(since, 5, 1), ErrorsOfHour(since + timedelta(hours=3), 10, 0), ErrorsOfHour(NOW, 0, 0)]
    trend.append(ErrorsOfHour(since - timedelta(hours=9), 99, 9))
    group = ErrorGroup(uuid4(), "send", "mail", None, "refused", 15, 1, since, NOW, None, trend)
    row = row_of(group, since, NOW)
    assert [(bar.x, bar.height) for bar in row.bars] == [(0, 12), (75, 24)]
    assert row.told == "10 in the last quarter of the time, 5 before"


async def test_what_failed_alike_is_one_line_with_an_example(operator: Browser, app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def send(n: int) -> None:
        raise ConnectionError(f"mx{n}: refused postgresql://ada:s3cret@db <b>x</b>")

    jobs = await send.aenqueue_many([{"n": n} for n in range(3)])
    await app.atick()
    await app.engine.arun(commands.Maintain())
    text = (await operator.get("/errors")).text
    assert "refused" in text
    assert "s3cret" not in text
    assert "<b>x</b>" not in text
    assert text.count('data-key="') == 1
    example = re.search(r'href="(/jobs/[0-9a-f-]{36})"', text)
    assert example
    assert example[1].rpartition("/")[2] in {str(job.id) for job in jobs}
    assert 'href="/errors?over=7d&amp;kind=send"' in (await operator.get("/errors?kind=send")).text
    assert (await operator.get("/errors?kind=other&over=7d")).text.count('data-key="') == 0
    assert (await operator.get("/errors?over=ever")).status_code == 422

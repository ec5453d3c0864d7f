"""Many schedules in the database beside a few: a look of the worker that leads, the ticks of one minute, a page."""

import time
from datetime import UTC, datetime, timedelta

from bench.goals import Goal
from bench.sides import Side, Sides
from penstock.engine import commands
from penstock.engine.postgres.render import render
from penstock.server.dashboard.pages.schedules import ON_A_PAGE
from penstock.worker.cron import fire_due

DUE = 100
"""Whose tick has come, at each look that fires."""
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)
GOALS = (
    Goal("schedules_idle_ms", "a look that finds nothing due, in ms", at_most=100.0, form=".1f"),
    Goal("schedules_fire_ratio", f"a look that fires {DUE}", at_most=3.0),
    Goal("schedules_page_ratio", "a page of them", at_most=2.0),
    Goal("schedules_next_ratio", "the next runs of one", at_most=1.5),
)


def fill(side: Side) -> None:
    side.run(
        "with made as (insert into penstock.schedules"
        "  (name, cron, tz, kind, args, catch_up, options, source, next_tick, created_at)"
        " select 'schedule ' || lpad(n::text, 9, '0'), '0 8 * * *', 'Europe/Berlin', 'noop', '{}', 'one',"
        "        jsonb_build_object('queue', 'cron'), 'database', %s, now()"
        "   from generate_series(1, %s) as n returning name)"
        " select count(*) from made",
        FUTURE, side.size,
    )  # fmt: skip
    side.connection.execute("vacuum analyze penstock.schedules")


async def look(side: Side, due: int) -> float:
    """Ours and the server's milliseconds of CPU of a round that finds so many due."""
    missed = datetime.now(UTC).replace(hour=7, minute=0, second=0, microsecond=0) - timedelta(days=1)
    side.run(
        "with due as (update penstock.schedules set next_tick = %s, last_tick = null where name = any(array("
        "  select name from penstock.schedules order by md5(name) limit %s)) returning name) select count(*) from due",
        missed, due,
    )  # fmt: skip
    before = side.server_cpu()
    began = time.process_time()
    fired = await fire_due(side.app.engine, [], database=True)
    took = time.process_time() - began + side.server_cpu() - before
    assert fired == due, (fired, due)
    side.run(
        "with past as (update penstock.schedules set next_tick = %s returning 1) select count(*) from past", FUTURE
    )
    side.connection.execute("vacuum penstock.schedules")
    return took * 1000


def page(side: Side) -> float:
    asked = render(commands.ListSchedules(after=f"schedule {side.size // 2:09}", most=ON_A_PAGE + 1))
    return side.cost(asked.text, *asked.params)


def next_runs(side: Side) -> float:
    began = time.process_time()
    side.app.schedules.next_runs(f"schedule {side.size // 2:09}")
    return (time.process_time() - began) * 1000


async def measure(both: Sides) -> dict[str, dict[str, float]]:
    for side in (both.small, both.large):
        fill(side)
    return {
        "idle": await both.acompare(lambda side: look(side, 0), 3),
        "fire": await both.acompare(lambda side: look(side, DUE), 3),
        "page": both.compare(page), "next": both.compare(next_runs),
    }  # fmt: skip

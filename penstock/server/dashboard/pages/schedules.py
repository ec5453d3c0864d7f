"""Schedules: when each runs next, and what came of the last time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from penstock.cron import RecordedSchedule, next_tick
from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section

section = Section()

AHEAD = 3
"""Ticks that are shown."""
ON_A_PAGE = 50


class ScheduleRow(NamedTuple):
    schedule: RecordedSchedule
    ticks: Sequence[datetime]


@section.page("/schedules", "Schedules", icon="schedules")
async def schedules(look: Look) -> Contents:
    after = look.text("after") or ""
    recorded = await look.run(commands.ListSchedules(after=after, most=ON_A_PAGE + 1))
    shown = recorded.schedules[:ON_A_PAGE]
    more = shown[-1].name if len(recorded.schedules) > ON_A_PAGE else None
    return {"rows": [ScheduleRow(each, _ticks(each, recorded.now)) for each in shown], "after": after, "more": more}


def _ticks(schedule: RecordedSchedule, now: datetime) -> list[datetime]:
    if schedule.paused:
        return []
    ticks: list[datetime] = []
    try:
        while len(ticks) < AHEAD:
            ticks.append(next_tick(schedule.cron, schedule.tz, ticks[-1] if ticks else now))
    except InvalidInput:
        # one that never comes again
        pass
    return ticks


@section.action("/schedules/run")
async def run(look: Look, form: Form) -> Done:
    handle = await look.operator.arun_schedule(form["name"])
    return Done(f"A job of {form['name']} was enqueued.", f"/jobs/{handle.id}")


@section.action("/schedules/pause")
async def pause(look: Look, form: Form) -> Done:
    await look.operator.apause_schedule(form["name"])
    return Done(f"{form['name']} is paused.", "/schedules")


@section.action("/schedules/resume")
async def resume(look: Look, form: Form) -> Done:
    await look.operator.aresume_schedule(form["name"])
    return Done(f"{form['name']} goes on.", "/schedules")

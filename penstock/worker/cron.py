"""Fires schedules: those of the code in every worker that has them, those of the database in the one that leads."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from penstock.cron import RecordedSchedule, Schedule, due_ticks, next_tick
from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.errors import DatabaseUnavailable, PenstockError

log = logging.getLogger("penstock.worker")

_LOOK_EVERY = 30.0
"""Seconds until a change of the database's schedules is seen by the worker that leads, and until a new leader acts."""

_SHORTEST = 0.05
"""Seconds: where our clock is a little ahead of the database's, do not ask again and again."""

_LONGEST = 3600.0
"""Seconds: a machine that slept does not notice that its clock stood still."""


class Cron(Loop):
    """Sleeps until the next tick. Without schedules and without the lead it never asks the database for anything.

    The row in the database is what is fired, the code's only what is recorded there when a worker starts: while old and
    new workers run side by side, both fire the newest definition, and one job comes of each tick.
    """

    name = "cron"

    def __init__(self, engine: Engine, code: Sequence[Schedule], leads: Callable[[], bool]) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._code = code
        self._leads = leads

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        await record_schedules(self._engine, self._code)
        look_at = loop.time() if self._code else math.inf
        while True:
            if self._leads() or loop.time() >= look_at:
                look_at = loop.time() + await self._fire()
            await asyncio.sleep(min(max(look_at - loop.time(), _SHORTEST), _LOOK_EVERY))

    async def _fire(self) -> float:
        """Fires what is due; seconds until the next tick."""
        _, seconds = await _fire(self._engine, self._code, database=self._leads())
        return min(seconds, _LONGEST) if self._code else seconds


async def fire_due(engine: Engine, code: Sequence[Schedule], *, database: bool) -> int:
    """One round for whoever does not stay: records the code's schedules, fires what is due. How many jobs it made."""
    if not code and not database:
        return 0
    await record_schedules(engine, code)
    fired, _ = await _fire(engine, code, database=database)
    return fired


async def record_schedules(engine: Engine, code: Sequence[Schedule]) -> None:
    """Writes the code's schedules into the database, those that are not there as they are here."""
    if not code:
        return
    recorded = await engine.arun(commands.ListSchedules([schedule.name for schedule in code]))
    known = {each.name: each for each in recorded.schedules if each.source == "code"}
    for schedule in code:
        if schedule.name not in known or not known[schedule.name].defines(schedule):
            following = next_tick(schedule.cron, schedule.tz, recorded.now)
            await engine.arun(commands.SetSchedule.of(schedule, "code", following))


async def _fire(engine: Engine, code: Sequence[Schedule], *, database: bool) -> tuple[int, float]:
    names = [schedule.name for schedule in code]
    recorded = await engine.arun(commands.ListSchedules(names, database=database))
    now = recorded.now
    fired = 0
    # the code's own ticks too: a schedule that is paused or removed may be back by then
    upcoming = [next_tick(schedule.cron, schedule.tz, now) for schedule in code]
    for schedule in recorded.schedules:
        try:
            following = next_tick(schedule.cron, schedule.tz, now)
            upcoming.append(following)
            if not schedule.paused:
                fired += await _fire_one(engine, schedule, now, following)
        except DatabaseUnavailable:
            raise
        except PenstockError as error:
            # what plain SQL may have written must not keep the other schedules from their ticks
            log.warning("schedule %s cannot be fired: %s", schedule.name, error)
    return fired, (min(upcoming) - now).total_seconds() if upcoming else math.inf


async def _fire_one(engine: Engine, schedule: RecordedSchedule, now: datetime, following: datetime) -> int:
    since = schedule.next_tick
    if since is not None and since > now:
        return 0
    ticks = due_ticks(schedule, since - timedelta(microseconds=1), now) if since else []
    if not ticks:
        await engine.arun(commands.PlanSchedule(schedule.name, following))
    jobs = [
        await engine.arun(commands.FireSchedule(schedule.name, tick, then))
        for tick, then in zip(ticks, [*ticks[1:], following], strict=False)
    ]
    return sum(job is not None for job in jobs)

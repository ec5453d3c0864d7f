"""Fires schedules: those of the code in every worker that has them, those of the database in the one that leads."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import repeat

from penstock.cron import RecordedSchedule, Schedule, due_ticks, next_tick
from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.errors import DatabaseReadOnly, DatabaseUnavailable, NotMigrated, PenstockError

log = logging.getLogger("penstock.worker")

_LOOK_EVERY = 30.0
"""Seconds until a change of the database's schedules is seen by the worker that leads, and until a new leader acts."""

_SHORTEST = 0.05
"""Seconds: where our clock is a little ahead of the database's, do not ask again and again."""

_AT_ONCE = 500
"""Schedules of one look, and ticks of one statement."""

_LONGEST = 3600.0
"""Seconds: a machine that slept does not notice that its clock stood still."""

_OF_ALL = (DatabaseUnavailable, DatabaseReadOnly, NotMigrated)
"""What meets every schedule alike."""


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
        recorded = False
        look_at = loop.time() if self._code else math.inf
        while True:
            if self._leads() or loop.time() >= look_at:
                recorded = recorded or await record_schedules(self._engine, self._code)
                look_at = loop.time() + await self._fire()
            await asyncio.sleep(min(max(look_at - loop.time(), _SHORTEST), _LOOK_EVERY))

    async def _fire(self) -> float:
        """Fires what is due; seconds until the next tick."""
        _, seconds = await fire(self._engine, self._code, database=self._leads())
        return min(seconds, _LONGEST) if self._code else seconds


async def fire_due(engine: Engine, code: Sequence[Schedule], *, database: bool) -> int:
    """One round for whoever does not stay: records the code's schedules, fires what is due. How many jobs it made."""
    if not code and not database:
        return 0
    await record_schedules(engine, code)
    fired, _ = await fire(engine, code, database=database)
    return fired


async def record_schedules(engine: Engine, code: Sequence[Schedule]) -> bool:
    """Writes the code's schedules into the database, those that are not there as they are here. Whether all are."""
    if not code:
        return True
    all_are = True
    recorded = await engine.arun(commands.ListSchedules([schedule.name for schedule in code]))
    known = {each.name: each for each in recorded.schedules if each.source == "code"}
    for schedule in code:
        if schedule.name not in known or not known[schedule.name].defines(schedule):
            following = next_tick(schedule.cron, schedule.tz, recorded.now)
            try:
                await engine.arun(commands.SetSchedule.of(schedule, "code", following))
            except _OF_ALL:
                raise
            except _of_one(engine) as error:
                _cannot("recorded", schedule.name, error)
                all_are = False
    return all_are


async def fire(engine: Engine, code: Sequence[Schedule], *, database: bool) -> tuple[int, float]:
    """Fires what is due. How many jobs it made, and the seconds until the next tick."""
    names = [schedule.name for schedule in code]
    fired, after = 0, ""
    upcoming: list[datetime] = []
    while True:
        # what is due alone: a hundred thousand that are not took seconds to read and to work out
        due = await engine.arun(commands.DueSchedules(names, database=database, after=after, most=_AT_ONCE))
        if not after:
            # the code's own ticks too: a schedule that is paused or removed may be back by then
            upcoming = [next_tick(schedule.cron, schedule.tz, due.now) for schedule in code]
        if due.next is not None:
            upcoming.append(due.next)
        fired += await _fire_these(engine, due.schedules, due.now, upcoming)
        if len(due.schedules) < _AT_ONCE:
            return fired, (min(upcoming) - due.now).total_seconds() if upcoming else math.inf
        after = due.schedules[-1].name


async def _fire_these(
    engine: Engine, schedules: Sequence[RecordedSchedule], now: datetime, upcoming: list[datetime]
) -> int:
    """Fires what is due of these, adds the tick after it to those that are to come, and tells how many jobs it made."""
    ticks: list[commands.Tick] = []
    plans: dict[str, datetime] = {}
    for schedule in schedules:
        try:
            following = next_tick(schedule.cron, schedule.tz, now)
            since = schedule.next_tick
            due = due_ticks(schedule, since - timedelta(microseconds=1), now) if since else []
        except PenstockError as error:
            _cannot("fired", schedule.name, error)
            continue
        upcoming.append(following)
        if due:
            ticks += map(commands.Tick, repeat(schedule.name), due, [*due[1:], following])
        else:
            plans[schedule.name] = following
        await asyncio.sleep(0)  # a tick takes as long to work out as a job to run
    if plans:
        await engine.arun(commands.PlanSchedules(list(plans), list(plans.values())))
    return sum([await _fire_ticks(engine, ticks[n : n + _AT_ONCE]) for n in range(0, len(ticks), _AT_ONCE)])


async def _fire_ticks(engine: Engine, ticks: Sequence[commands.Tick]) -> int:
    """All at once; where one of them cannot be, each by itself."""
    try:
        return sum(job is not None for job in await engine.arun(commands.FireSchedules(ticks)))
    except _OF_ALL:
        raise
    except _of_one(engine) as error:
        if len(ticks) > 1:
            return sum([await _fire_ticks(engine, [tick]) for tick in ticks])
        _cannot("fired", ticks[0].name, error)
        return 0


def _of_one(engine: Engine) -> tuple[type[Exception], ...]:
    """What may meet a single schedule, where it is none of _OF_ALL."""
    return (PenstockError, *engine.faults.unstorable)


def _cannot(what: str, name: str, error: Exception) -> None:
    """What plain SQL may have written, or code that is newer than the schema, must not keep the other schedules from
    their ticks."""
    log.warning("schedule %s cannot be %s: %s", name, what, " ".join(str(error).split()))

"""Schedules: their definitions, and firing their ticks."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from penstock.cron import RecordedSchedule, Schedule, Source
from penstock.engine.call import Call, Row, first, nothing
from penstock.engine.calls.text import from_json, to_json


def list_schedules(
    names: Sequence[str] | None = None, *, database: bool = False
) -> Call[tuple[datetime, list[RecordedSchedule]]]:
    """The engine's time, and the schedules of these names, or all; with `database` also those that no code defines."""
    return Call(
        """select now, name, cron, kind, args::text, tz, catch_up, options::text, source, paused, last_tick, next_tick,
                  last_job, created_at
             from penstock.clock() as now
             left join penstock.schedules
               on %s::text[] is null or name = any(%s::text[]) or %s and source = 'database'
            order by name""",
        [names and list(names), names and list(names), database],
        lambda rows: (rows[0][0], [_read(row) for row in rows if row[1] is not None]),
        repeatable=True,
    )


def _read(row: Row) -> RecordedSchedule:
    _, name, cron, kind, args, tz, catch_up, options, source, paused, last_tick, next_tick, last_job, created_at = row
    return RecordedSchedule(
        name=name, cron=cron, kind=kind, args=from_json(args), tz=tz, catch_up=catch_up, options=from_json(options),
        source=source, paused=paused, last_tick=last_tick, next_tick=next_tick, last_job=last_job,
        created_at=created_at,
    )  # fmt: skip


def set_schedule(schedule: Schedule, source: Source, next_tick: datetime) -> Call[None]:
    return Call(
        "select penstock.set_schedule(%s, %s, %s, %s::text::jsonb, %s, %s, %s::text::jsonb, %s, %s)",
        [
            schedule.name, schedule.cron, schedule.kind, to_json(schedule.args), schedule.tz, schedule.catch_up,
            to_json(schedule.options), source, next_tick,
        ],
        nothing,
        repeatable=True,
    )  # fmt: skip


def fire_schedule(name: str, tick: datetime, next_tick: datetime) -> Call[UUID | None]:
    """The tick's job; None when somebody else was first, or it is not to be."""
    return Call("select penstock.fire_schedule(%s, %s, %s)", [name, tick, next_tick], first, repeatable=True)


def plan_schedule(name: str, next_tick: datetime) -> Call[None]:
    return Call("select penstock.plan_schedule(%s, %s)", [name, next_tick], nothing, repeatable=True)


def run_schedule(name: str) -> Call[UUID]:
    return Call("select penstock.run_schedule(%s)", [name], first)


def pause_schedule(name: str) -> Call[None]:
    return Call("select penstock.pause_schedule(%s)", [name], nothing, repeatable=True)


def resume_schedule(name: str, next_tick: datetime) -> Call[None]:
    return Call("select penstock.resume_schedule(%s, %s)", [name, next_tick], nothing, repeatable=True)


def remove_schedule(name: str) -> Call[bool]:
    return Call("select penstock.remove_schedule(%s)", [name], first, repeatable=True)

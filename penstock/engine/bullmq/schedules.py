"""Schedules are BullMQ's job schedulers: each has its next job in the queue, delayed, and whoever takes that job adds
the one after it. So nothing needs to be fired, and a Node worker keeps our schedules going as we keep its."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from bullmq.job_scheduler import JobScheduler

from penstock.cron import RecordedSchedule
from penstock.engine import commands as c
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.enqueue import options_of
from penstock.engine.bullmq.queues import known_queues, meet
from penstock.engine.bullmq.record import Record, decode, moment
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot
from penstock.job import NewJob

_ABOUT = "ps:schedules"
"""In a queue: what we said of its schedulers, by their names."""


async def set_schedule(session: Session, asked: c.SetSchedule) -> None:
    if asked.catch_up != "one":
        raise EngineCannot(
            "catch_up", f"schedule {asked.name!r}: BullMQ knows catch_up='one' alone, the job that is late runs once"
        )
    options = dict(asked.options)
    queue = options.pop("queue", None) or "default"
    await remove_schedule(session, asked.name)
    await meet(session, [queue])
    job = NewJob(kind=asked.kind, queue=queue, **_of_job(options))
    opts = options_of(job)
    del opts["jobId"]
    about = {"args": asked.args, "options": asked.options, "source": asked.source, "catch_up": asked.catch_up,
             "created_at": datetime.now(UTC)}  # fmt: skip
    await session.one(plain("HSET", session.keys(queue)[_ABOUT], asked.name, msgspec.json.encode(about)))
    await JobScheduler(session.queue(queue)).upsertJobScheduler(
        asked.name, {"pattern": asked.cron, "tz": asked.tz}, asked.kind, dict(asked.args), opts
    )


def _of_job(options: dict[str, Any]) -> dict[str, Any]:
    known = ("priority", "max_attempts", "max_snoozes", "owner", "org", "limit_key", "unique_key", "options")
    return {name: value for name, value in options.items() if name in known}


async def list_schedules(session: Session, asked: c.ListSchedules) -> c.RecordedSchedules:
    found = []
    for queue in await known_queues(session):
        about = await session.one(plain("HGETALL", session.keys(queue)[_ABOUT]))
        for name, text in about.items():
            told = msgspec.json.decode(text)
            wanted = asked.names is None or name in asked.names or (asked.database and told["source"] == "database")
            if wanted and (record := await _recorded(session, queue, name, told)) is not None:
                found.append(record)
    return c.RecordedSchedules(datetime.now(UTC), sorted(found, key=lambda each: each.name))


async def _recorded(session: Session, queue: str, name: str, told: dict[str, Any]) -> RecordedSchedule | None:
    scheduler = await JobScheduler(session.queue(queue)).getScheduler(name)
    if scheduler is None:
        return None
    following = scheduler.get("next")
    return RecordedSchedule(
        name=name, cron=scheduler["pattern"], kind=scheduler["name"], args=told["args"],
        tz=scheduler.get("tz") or "UTC", catch_up=told["catch_up"], options=told["options"], source=told["source"],
        paused=False, last_tick=None,
        next_tick=moment(following) if following else None, last_job=None,
        created_at=datetime.fromisoformat(told["created_at"]),
    )  # fmt: skip


async def remove_schedule(session: Session, name: str) -> bool:
    removed = False
    for queue in await known_queues(session):
        if await session.one(plain("HDEL", session.keys(queue)[_ABOUT], name)):
            await JobScheduler(session.queue(queue)).removeJobScheduler(name)
            removed = True
    return removed


async def go_on(session: Session, record: Record) -> None:
    """The scheduler's next job, when its last one was taken, as every worker of BullMQ does."""
    await JobScheduler(session.queue(record.queue)).upsertJobScheduler(
        record.fields["rjk"], record.opts.get("repeat"), record.kind, decode(record.fields.get("data"), {}),
        record.opts, override=False, producer_id=record.id,
    )  # fmt: skip

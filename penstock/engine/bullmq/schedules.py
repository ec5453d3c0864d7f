"""Schedules are BullMQ's job schedulers: each has its next job in the queue, delayed, and whoever takes that job adds
the one after it. So nothing needs to be fired, and a Node worker keeps our schedules going as we keep its."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from bullmq.job_scheduler import JobScheduler

from penstock.cron import CatchUp, RecordedSchedule, Source
from penstock.engine import commands as c
from penstock.engine.bullmq.calls import now_ms, plain
from penstock.engine.bullmq.enqueue import OURS, enqueue, options_of, refuse
from penstock.engine.bullmq.queues import known_queues, meet
from penstock.engine.bullmq.record import Record, decode, moment, number
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot, InvalidInput
from penstock.job import NewJob

_ABOUT = "ps:schedules"
"""In a queue: what we said of its schedulers, by their names. A paused one is there alone."""

_LAST = "ps:schedules:last"
"""And beside it the last tick of each, and that tick's job, as far as a worker of ours took it."""

_LONGEST = 1e13
"""Milliseconds that a job may wait, as elsewhere: somebody else may have written more."""


class _About(msgspec.Struct, frozen=True):
    """A schedule as it was set up."""

    cron: str
    kind: str
    tz: str
    args: dict[str, Any]
    options: dict[str, Any]
    source: Source
    catch_up: CatchUp
    created_at: datetime
    paused: bool = False

    def job(self, queue: str) -> NewJob:
        known = {"priority", "max_attempts", "delay", "quota", *OURS}
        options = {name: value for name, value in self.options.items() if name in known}
        return NewJob(kind=self.kind, args=msgspec.json.encode(self.args), queue=queue, **options)


_decode = msgspec.json.Decoder(_About).decode


async def set_schedule(session: Session, asked: c.SetSchedule) -> None:
    if asked.catch_up != "one":
        raise EngineCannot(
            "catch_up", f"schedule {asked.name!r}: BullMQ knows catch_up='one' alone, the job that is late runs once"
        )
    queue = asked.options.get("queue") or "default"
    before = await _find(session, asked.name)
    if before is not None and (before[1].source, asked.source) == ("code", "database"):
        raise InvalidInput("name", f"{asked.name} is a schedule of the code; change it there, or take another name")
    about = _About(
        asked.cron, asked.kind, asked.tz, dict(asked.args), dict(asked.options), asked.source, "one",
        before[1].created_at if before else datetime.now(UTC), bool(before and before[1].paused),
    )  # fmt: skip
    refuse([about.job(queue)])
    if before is not None and before[0] != queue:
        await remove_schedule(session, asked.name)
    await meet(session, [queue])
    await _write(session, queue, asked.name, about)


async def _write(session: Session, queue: str, name: str, about: _About) -> None:
    """And the scheduler follows from it."""
    await session.one(plain("HSET", session.keys(queue)[_ABOUT], name, msgspec.json.encode(about)))
    scheduler = JobScheduler(session.queue(queue))
    if about.paused:
        await scheduler.removeJobScheduler(name)
        return
    job = about.job(queue)
    opts = options_of(replace(job, delay=None))
    del opts["jobId"]
    if job.delay:
        opts["penstock"]["delay"] = job.delay
    await scheduler.upsertJobScheduler(name, {"pattern": about.cron, "tz": about.tz}, about.kind, about.args, opts)


async def _find(session: Session, name: str) -> tuple[str, _About] | None:
    """Its queue, and what was said of it."""
    queues = await known_queues(session)
    found = await session.many([plain("HGET", session.keys(queue)[_ABOUT], name) for queue in queues])
    return next(((queue, _decode(text)) for queue, text in zip(queues, found, strict=True) if text), None)


async def list_schedules(session: Session, asked: c.ListSchedules) -> c.RecordedSchedules:
    found = []
    for queue in await known_queues(session):
        keys = session.keys(queue)
        said, last = await session.many([plain("HGETALL", keys[_ABOUT]), plain("HGETALL", keys[_LAST])])
        for name, text in said.items():
            about = _decode(text)
            if (asked.names is None or name in asked.names) and name > asked.after:
                following = await session.one(plain("ZSCORE", keys["repeat"], name))
                found.append(_recorded(name, about, following, last.get(name)))
    return c.RecordedSchedules(datetime.now(UTC), sorted(found, key=lambda each: each.name)[: asked.most])


async def none_due(*_: object) -> c.SchedulesDue:
    return c.SchedulesDue(datetime.now(UTC), [])


def _recorded(name: str, about: _About, following: str | None, last: str | None) -> RecordedSchedule:
    tick, _, job = (last or "").partition(" ")
    return RecordedSchedule(
        name=name, cron=about.cron, kind=about.kind, args=about.args, tz=about.tz, catch_up=about.catch_up,
        options=about.options, source=about.source, paused=about.paused, last_tick=moment(tick) if tick else None,
        next_tick=moment(following) if following is not None else None, last_job=UUID(job) if job else None,
        created_at=about.created_at,
    )  # fmt: skip


async def pause_schedule(session: Session, name: str, *, paused: bool) -> None:
    """The job of its next tick is taken back with it; a resumed one goes on with the first tick from now."""
    queue, about = await _known(session, name)
    if about.paused != paused:
        await _write(session, queue, name, msgspec.structs.replace(about, paused=paused))


async def run_schedule(session: Session, name: str) -> UUID:
    queue, about = await _known(session, name)
    [enqueued] = await enqueue(session, [about.job(queue)])
    key = session.keys(queue)[_LAST]
    tick = (await session.one(plain("HGET", key, name)) or "").partition(" ")[0]
    await session.one(plain("HSET", key, name, f"{tick} {enqueued.id}"))
    return enqueued.id


async def _known(session: Session, name: str) -> tuple[str, _About]:
    found = await _find(session, name)
    if found is None:
        raise InvalidInput("name", f"there is no schedule {name!r}")
    return found


async def remove_schedule(session: Session, name: str) -> bool:
    removed = False
    for queue in await known_queues(session):
        keys = session.keys(queue)
        if await session.one(plain("HDEL", keys[_ABOUT], name)):
            await session.one(plain("HDEL", keys[_LAST], name))
            await JobScheduler(session.queue(queue)).removeJobScheduler(name)
            removed = True
    return removed


def put_off_ms(record: Record) -> int:
    """How long the job of a tick is still to wait that comes later than its tick: BullMQ's delay is until that. One
    that is here before its tick was wanted at once."""
    delay = 1000 * number(record.about.get("delay"))
    if "rjk" not in record.fields or not 0 < delay < _LONGEST:
        return 0
    ms = number(record.opts.get("prevMillis")) + delay - now_ms()
    return int(ms) if 0 < ms <= delay else 0


async def go_on(session: Session, record: Record) -> None:
    """The scheduler's next job, when its last one was taken, as every worker of BullMQ does."""
    name, tick = record.fields["rjk"], record.opts.get("prevMillis")
    await JobScheduler(session.queue(record.queue)).upsertJobScheduler(
        name, record.opts.get("repeat"), record.kind, decode(record.fields.get("data"), {}),
        record.opts, override=False, producer_id=record.id,
    )  # fmt: skip
    if tick is not None and record.ours is not None:
        await session.one(plain("HSET", session.keys(record.queue)[_LAST], name, f"{tick} {record.uuid}"))

"""Looking at jobs."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, index
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.hands import Hands, HeldJob
from penstock.engine.bullmq.leases import workers
from penstock.engine.bullmq.names import uuid_of
from penstock.engine.bullmq.queues import known_queues
from penstock.engine.bullmq.record import STEP, Record, decode, moment, record_of
from penstock.engine.bullmq.rollup import jobs_below, progress_of
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot, LeaseLost
from penstock.job import Held, Job, JobState

_PLACES: dict[str, JobState] = {
    "completed": JobState.SUCCEEDED, "failed": JobState.FAILED, "delayed": JobState.SCHEDULED,
    "active": JobState.RUNNING, "wait": JobState.READY, "paused": JobState.READY, "prioritized": JobState.READY,
    "waiting-children": JobState.BLOCKED,
}  # fmt: skip
_LISTS = ("active", "wait", "paused")
_MOST = 10_000
"""Jobs of one place that a list looks through: Redis has no index over what jobs say."""

_AT_ONCE = 1000
_SAME = ("queue", "state", "kind", "owner", "org")
_FILTERS = (*_SAME, "ids", "parent", "created_before")


Seen = tuple[Record, Job]


async def get_job(session: Session, id: UUID) -> Job | None:
    """A flow with how far its jobs are."""
    seen = await _look_at(session, id)
    return None if seen is None else await _told(session, seen)


async def bare_job(session: Session, id: UUID) -> Job | None:
    """A flow as if it had no jobs: for whoever only waits for its end."""
    seen = await _look_at(session, id)
    return None if seen is None else seen[1]


async def _look_at(session: Session, id: UUID) -> Seen | None:
    found = (await index.places(session, [id])).get(id)
    if found is None:
        return None
    keys, own = found
    fields, place, pending = await session.many(
        [plain("HGETALL", keys[own]), calls.state_of(keys, own), plain("SCARD", f"{keys[own]}:dependencies")]
    )
    record = record_of(keys.queue, own, fields)
    return (record, record.job(place, int(pending))) if fields else None


async def _told(session: Session, seen: Seen) -> Job:
    record, job = seen
    return replace(job, progress=await progress_of(session, record)) if record.about.get("rollup") else job


async def list_jobs(session: Session, filter: Mapping[str, Any], before: UUID | None, limit: int) -> list[Job]:
    """Newest first."""
    found = await find_jobs(session, filter, _MOST)
    if before is not None:
        edge = await _look_at(session, before)
        found = [seen for seen in found if edge is not None and _newest(seen) < _newest(edge)]
    return [await _told(session, seen) for seen in found[:limit]]


async def search_jobs(session: Session, asked: c.SearchJobs) -> c.SearchPage:
    jobs = await list_jobs(session, asked.filter, asked.before, asked.limit + 1)
    more = len(jobs) > asked.limit
    return c.SearchPage(jobs[: asked.limit], jobs[asked.limit - 1].id if more else None, None)


async def find_jobs(session: Session, filter: Mapping[str, Any], most: int | None = None) -> list[Seen]:
    """All that fit, newest first; of each place of a queue at most so many are looked at."""
    if unknown := [name for name, value in filter.items() if name not in _FILTERS and value is not None]:
        raise EngineCannot("search", f"jobs on BullMQ cannot be listed by {unknown[0]}: list by {', '.join(_FILTERS)}")
    named = _several(filter.get("ids"))
    if filter.get("parent") is not None:
        below = [id for flow in _several(filter["parent"]) for id in await _members(session, flow)]
        named = below if filter.get("ids") is None else [id for id in named if id in below]
    if filter.get("ids") is not None or filter.get("parent") is not None:
        looked = await asyncio.gather(*(_look_at(session, id) for id in dict.fromkeys(named)))
        found = [seen for seen in looked if seen is not None]
    else:
        queues = _several(filter.get("queue")) or await known_queues(session)
        states = _several(filter.get("state"))
        found = [seen for queue in queues for seen in await _jobs_of(session, queue, states, most)]
    same = {name: values for name in _SAME if (values := _several(filter.get(name)))}
    fitting = [seen for seen in found if all(getattr(seen[1], name) in values for name, values in same.items())]
    if (before := filter.get("created_before")) is not None:
        fitting = [seen for seen in fitting if seen[1].created_at < before]
    return sorted(fitting, key=_newest, reverse=True)


async def _members(session: Session, flow: UUID) -> list[UUID]:
    found = (await index.records(session, [flow])).get(flow)
    return [] if found is None else [each.uuid for each in await jobs_below(session, found) if each.flow == flow]


def _newest(seen: Seen) -> tuple[datetime, UUID]:
    return seen[1].created_at, seen[1].id


async def _jobs_of(session: Session, queue: str, states: Sequence[str], most: int | None) -> list[Seen]:
    keys = session.keys(queue)
    places = [place for place, state in _PLACES.items() if not states or state in states or
              (place == "failed" and JobState.CANCELLED in states)]  # fmt: skip
    first = 0 if most is None else -most
    ranges = [plain("LRANGE" if place in _LISTS else "ZRANGE", keys[place], first, -1) for place in places]
    found = [(place, id) for place, ids in zip(places, await session.many(ranges), strict=True) for id in ids]
    seen: list[Seen] = []
    for start in range(0, len(found), _AT_ONCE):
        part = found[start : start + _AT_ONCE]
        hashes = await session.many([plain("HGETALL", keys[id]) for _, id in part])
        for (place, id), fields in zip(part, hashes, strict=True):
            if fields:
                record = record_of(queue, id, fields)
                seen.append((record, record.job("waiting" if place in ("wait", "paused") else place)))
        # whoever sees their ids may ask for them by these
        await session.many(index.note(session, [record for record, _ in seen[-len(part) :]]))
    return seen


def _several(given: Any) -> list[Any]:
    """A condition is one value, or any of several."""
    return [] if given is None else list(given) if isinstance(given, list | tuple | set) else [given]


async def held_or_lost(session: Session, hands: Hands, lease: Any, job: Held) -> HeldJob:
    found = (await hands.find(session, lease, [job])).get(job.id)
    if found is None:
        raise LeaseLost(f"job {job.id} is not this lease's")
    return found


async def outputs(session: Session, hands: Hands, asked: c.Outputs) -> list[c.Earlier]:
    """Of the jobs right before it, in the order they were enqueued."""
    held = await held_or_lost(session, hands, asked.lease, Held(asked.id, asked.claims))
    key = session.keys(held.queue)[held.id]
    done, ignored = await session.many([plain("HGETALL", f"{key}:processed"), plain("HGETALL", f"{key}:failed")])
    children = {**dict.fromkeys(ignored), **done}
    hashes = await session.many([plain("HGETALL", child) for child in children])
    earlier = []
    for (child, value), fields in zip(children.items(), hashes, strict=True):
        queue, id = session.names.place_of(child)
        record = Record(queue, id, fields)
        state = JobState.SUCCEEDED if child in done else record.state("failed")
        earlier.append(
            c.Earlier(
                uuid_of(queue, id), (record.about.get("options") or {}).get("name"), record.kind,
                record.about.get("phase"), state, decode(record.args_json, {}), decode(value),
            )
        )  # fmt: skip
    return sorted(earlier, key=lambda each: each.id)


async def remember_step(session: Session, hands: Hands, asked: c.RememberStep) -> bool:
    held = (await hands.find(session, asked.lease, [Held(asked.id, asked.claims)])).get(asked.id)
    if held is None:
        return False
    step = {"name": asked.name, "output": asked.output, "kind": asked.kind, "number": asked.number,
            "version": asked.version, "at": time.time_ns()}  # fmt: skip
    call = calls.remember(
        session.keys(held.queue), held.id, held.token, f"{STEP}{asked.name}", msgspec.json.encode(step)
    )
    return bool(await session.one(call))


async def recall_steps(session: Session, hands: Hands, asked: c.RecallSteps) -> list[c.Step]:
    held = await held_or_lost(session, hands, asked.lease, Held(asked.id, asked.claims))
    fields: dict[str, str] = await session.one(plain("HGETALL", session.keys(held.queue)[held.id]))
    steps = [msgspec.json.decode(text) for name, text in fields.items() if name.startswith(STEP)]
    return [
        c.Step(each["name"], each["output"], each["kind"], each["number"], each["version"])
        for each in sorted(steps, key=lambda each: each["at"])
    ]


async def list_workers(session: Session, hands: Hands, job: UUID | None) -> list[c.LiveWorker]:
    living = []
    for lease, about in await workers(session):
        held = await hands.of(session, lease)
        if job is not None and job not in held:
            continue
        hashes = await session.many([plain("HGETALL", session.keys(each.queue)[each.id]) for each in held.values()])
        records = [record_of(each.queue, each.id, fields) for each, fields in zip(held.values(), hashes, strict=True)]
        living.append(
            c.LiveWorker(
                lease=lease, worker=about["worker"], host=about["host"] or None, pid=int(about["pid"]) or None,
                queues=msgspec.json.decode(about["queues"]), started_at=moment(about["started_at"]),
                heard_at=moment(about["heard_at"]), running=[_running(each) for each in records if each.fields],
                memory=_number(about, "memory", int), load=_number(about, "load", float),
                slots=_number(about, "slots", int),
            )
        )  # fmt: skip
    return living


def _number(about: Mapping[str, str], name: str, kind: Any) -> Any:
    return kind(about[name]) if name in about else None


def _running(record: Record) -> c.RunningJob:
    job = record.job("active")
    since = job.started_at or job.created_at
    seconds = max(0.0, calls.now_ms() / 1000 - since.timestamp())
    return c.RunningJob(job.id, job.kind, job.queue, job.attempt, since, seconds, job.cancel_requested)

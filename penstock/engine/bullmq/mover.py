"""Moving jobs out of BullMQ and in. What is held is active under a lock of the move's own: no worker takes it, and none
finds it stalled."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import Addition, now_ms, plain
from penstock.engine.bullmq.enqueue import OURS, existing, options_of, refuse
from penstock.engine.bullmq.names import QueueKeys, as_v7, from_bullmq
from penstock.engine.bullmq.portal import Portal
from penstock.engine.bullmq.queues import meet
from penstock.engine.bullmq.record import ERRORS, SNOOZES, Record, moment, record_of
from penstock.engine.bullmq.session import Session
from penstock.engine.mover import CHUNK, MovedJob, Stays
from penstock.job import NewJob

_TOKEN = "penstock:move"  # noqa: S105 - of a lock
_LOCK = 7 * 24 * 3600 * 1000
"""Milliseconds in which a move that was interrupted must be taken up again."""

_REMEMBERED = 8 * 24 * 3600
"""Seconds, longer than that: what was moved here may have ended, and been purged, before the move goes on."""

_PLACES = ("wait", "paused", "prioritized", "delayed")
_OF_FLOW = ("parentKey", "defa")
"""Fields of jobs that stay, as the next of a scheduler does: they would come over without what they belong to."""

_CHILDREN = ("processed", "failed", "unsuccessful")
"""Beside a job that has waited for others: what has become of them. It would come over without."""

_RUN_AT = "ps:run_at"


class BullmqMover:
    def __init__(self, session: Callable[[], Session], portal: Portal) -> None:
        self._session = session
        self._portal = portal
        self._passed: Counter[str] = Counter()
        """By the key of a list: jobs at its front that stay."""
        self._own: dict[UUID, str] = {}
        """What those are called in their queue that are called otherwise elsewhere."""

    def waiting(self, queue: str) -> int:
        return self._portal.run(self._waiting(queue))

    def staying(self, queue: str) -> Mapping[Stays, int]:
        return self._portal.run(self._staying(queue))

    def hold(self, queue: str, limit: int) -> Sequence[MovedJob]:
        return self._portal.run(self._hold(queue, limit))

    def take_in(self, queue: str, jobs: Sequence[MovedJob]) -> None:
        self._portal.run(self._take_in(queue, jobs))

    def let_go(self, queue: str, ids: Sequence[UUID]) -> None:
        self._portal.run(self._let_go(queue, ids))

    async def _waiting(self, queue: str) -> int:
        keys = self._session().keys(queue)
        lists, sets = ("wait", "paused", "active"), ("delayed", "prioritized", "waiting-children")
        counts = [plain("LLEN", keys[place]) for place in lists] + [plain("ZCARD", keys[place]) for place in sets]
        return sum(map(int, await self._session().many(counts)))

    async def _staying(self, queue: str) -> Mapping[Stays, int]:
        session, keys = self._session(), self._session().keys(queue)
        counts = [plain("LLEN", keys["active"]), plain("ZCARD", keys["waiting-children"])]
        running, waiting = map(int, await session.many(counts))
        stay = Counter({Stays.RUNNING: running, Stays.FLOW: waiting})
        for place in _PLACES:
            self._passed.clear()
            while page := await self._page(keys, place, CHUNK):
                stay.update((await self._why_they_stay(keys, page)).values())
                self._passed[keys[place]] += len(page)
        return {why: stay[why] for why in Stays if stay[why]}

    async def _why_they_stay(self, keys: QueueKeys, ids: Sequence[str]) -> dict[str, Stays]:
        """Of these; `NEW` of those that need not. None of one that is gone."""
        said = await self._session().many([plain("HMGET", keys[id], "name", "rjk", *_OF_FLOW) for id in ids])
        parts = [plain("EXISTS", *(f"{keys[id]}:{part}" for part in _CHILDREN)) for id in ids]
        had_children = await self._session().many(parts)
        return {
            id: Stays.SCHEDULE if schedule else Stays.FLOW if any(of_flow) or children else Stays.NEW
            for id, (name, schedule, *of_flow), children in zip(ids, said, had_children, strict=True)
            if name is not None
        }

    async def _hold(self, queue: str, limit: int) -> list[MovedJob]:
        held = await self._held(queue)
        if not held:
            await self._put_aside(queue, limit)
            held = await self._held(queue)
        if not held:
            # where workers have taken of those that were passed, others have moved up to their places
            self._passed.clear()
            await self._put_aside(queue, limit)
            held = await self._held(queue)
        moved = [_moved(record) for record in held]
        self._own = {each.job.id: record.id for each, record in zip(moved, held, strict=True)}
        return moved

    async def _held(self, queue: str) -> list[Record]:
        session, keys = self._session(), self._session().keys(queue)
        active = await session.one(plain("LRANGE", keys["active"], 0, -1))
        locks = await session.many([plain("GET", keys.lock(id)) for id in active])
        ids = [id for id, lock in zip(active, locks, strict=True) if lock == _TOKEN]
        records = await self._records(queue, ids)
        # the first to be held is last in the list
        return records[::-1]

    async def _records(self, queue: str, ids: Sequence[str]) -> list[Record]:
        keys = self._session().keys(queue)
        hashes = await self._session().many([plain("HGETALL", keys[id]) for id in ids])
        return [record_of(queue, id, fields) for id, fields in zip(ids, hashes, strict=True) if fields]

    async def _put_aside(self, queue: str, limit: int) -> None:
        keys = self._session().keys(queue)
        for place in _PLACES:
            while limit > 0 and (page := await self._page(keys, place, limit)):
                why = await self._why_they_stay(keys, page)
                free = [id for id in page if why.get(id) is Stays.NEW]
                await self._session().many([calls.take_this(keys, id, _TOKEN, _LOCK, due=_RUN_AT) for id in free])
                limit -= len(free)
                self._passed[keys[place]] += len(page) - len(free)

    async def _page(self, keys: QueueKeys, place: str, limit: int) -> list[str]:
        """The next of a list, those that are to run first before the others."""
        passed = self._passed[keys[place]]
        if place in ("wait", "paused"):
            ids: list[str] = await self._session().one(plain("LRANGE", keys[place], -passed - limit, -passed - 1))
            return ids[::-1]
        found: list[str] = await self._session().one(plain("ZRANGE", keys[place], passed, passed + limit - 1))
        return found

    async def _take_in(self, queue: str, jobs: Sequence[MovedJob]) -> None:
        session, keys = self._session(), self._session().keys(queue)
        # quotas are counted nowhere here: what has one comes over without
        plain_jobs = [replace(each.job, quota=None) for each in jobs]
        refuse(plain_jobs)
        await meet(session, [queue])
        there = {job.id for job in await existing(session, plain_jobs)} | await self._moved_in(keys, plain_jobs)
        for moved, job in zip(jobs, plain_jobs, strict=True):
            if job.id not in there and not await self._add(keys, moved, job):
                # its unique key is another's here: it comes without, for both were enqueued
                await self._add(keys, moved, replace(job, unique_key=None))

    async def _moved_in(self, keys: QueueKeys, jobs: Sequence[NewJob]) -> set[UUID]:
        """Of these the ones that have come before, whatever has become of them."""
        looks = [plain("EXISTS", calls.moved_key(keys, str(job.id))) for job in jobs]
        return {job.id for job, came in zip(jobs, await self._session().many(looks), strict=True) if came}

    async def _add(self, keys: QueueKeys, moved: MovedJob, job: NewJob) -> bool:
        """False when its unique key stands for another job."""
        id, created = str(job.id), int(moved.created_at.timestamp() * 1000)
        opts = options_of(job)
        if "delay" in opts:
            opts["delay"] += now_ms() - created
        steps = [Addition(keys, id, job.kind, job.args, opts, created).call()]
        errors = msgspec.json.encode(moved.errors).decode() if moved.errors else None
        had = {"atm": moved.attempt, SNOOZES: moved.snoozes, ERRORS: errors}
        steps += [calls.carry_on(keys, id, name, said) for name, said in had.items() if said]
        steps.append(calls.note_moved(keys, id, _REMEMBERED))
        added, *_ = await self._session().many(steps, together=True)
        return bool(added == id)

    async def _let_go(self, queue: str, ids: Sequence[UUID]) -> None:
        session, keys = self._session(), self._session().keys(queue)
        for id in (self._own.get(each, str(each)) for each in ids):
            if await session.one(plain("GET", keys.lock(id))) == _TOKEN:
                # and the note that it has come: it may come back
                gone = plain("DEL", keys.lock(id), calls.moved_key(keys, id))
                await session.many([gone, calls.remove(keys, id)], together=True)


def _moved(record: Record) -> MovedJob:
    run_at = record.fields.get(_RUN_AT)
    created_at = moment(record.fields.get("timestamp") or 0)
    id = as_v7(record.uuid, int(created_at.timestamp() * 1000))
    ours: dict[str, Any] = {name: record.about.get(name) for name in OURS if name != "rollup"}
    job = NewJob(
        id=id, kind=record.kind, queue=record.queue, args=record.args_json.encode(),
        priority=from_bullmq(int(record.fields.get("priority") or 0)), run_at=moment(run_at) if run_at else None,
        max_attempts=record.max_attempts, **ours,
    )  # fmt: skip
    return MovedJob(job, record.attempts_made(), record.snoozes, created_at, [*_errors(record)])


def _errors(record: Record) -> Iterator[dict[str, Any]]:
    """As a database takes them: whoever may write to Redis may write anything there."""
    for error in record.errors:
        if isinstance(error, dict):
            said = {name: told for name, told in error.items() if isinstance(told, str | int | float)}
            yield {name: told.replace("\0", "") if isinstance(told, str) else told for name, told in said.items()}

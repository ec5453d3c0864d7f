"""Moving jobs out of BullMQ and in. What is held waits as if for children, of which it has none: no worker takes it,
and no limit counts it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
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
from penstock.engine.mover import CHUNK, MovedJob, Stays, log
from penstock.errors import EngineCannot
from penstock.job import NewJob

_REMEMBERED = 8 * 24 * 3600
"""Seconds in which a move that was interrupted must be taken up again: what was moved here may have ended, and been
purged, before it goes on."""

_PLACES = ("wait", "paused", "prioritized", "delayed")
_OF_FLOW = ("parentKey", "defa")
"""Fields of jobs that stay, as the next of a scheduler does: they would come over without what they belong to."""

_CHILDREN = ("processed", "failed", "unsuccessful")
"""Beside a job that has waited for others: what has become of them. It would come over without."""

_HELD = "ps:moving"
"""The list of what is held, and a field of each: where it was, and its score there."""

_UNREADABLE = (ValueError, TypeError, AttributeError, OverflowError)
"""What is raised where somebody else has written what a job has elsewhere."""


class BullmqMover:
    refusals: tuple[type[Exception], ...] = (EngineCannot, *_UNREADABLE)

    def __init__(self, session: Callable[[], Session], portal: Portal) -> None:
        self._session = session
        self._portal = portal
        self._passed: Counter[str] = Counter()
        """By the key of a list: jobs at its front that stay."""
        self._own: dict[UUID, str] = {}
        """What those are called in their queue that are called otherwise elsewhere."""
        self._refused: set[str] = set()

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

    def give_back(self, queue: str, ids: Sequence[UUID]) -> None:
        self._portal.run(self._give_back(queue, [self._own[id] for id in ids]))

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
            id: Stays.SCHEDULE
            if schedule
            else Stays.FLOW
            if any(of_flow) or children
            else Stays.REFUSED
            if id in self._refused
            else Stays.NEW
            for id, (name, schedule, *of_flow), children in zip(ids, said, had_children, strict=True)
            if name is not None
        }

    async def _hold(self, queue: str, limit: int) -> list[MovedJob]:
        if held := await self._held(queue):
            return held
        # twice: where workers have taken of those that were passed, others have moved up to their places
        for _ in range(2):
            while await self._put_aside(queue, limit):
                if held := await self._held(queue):
                    return held
            self._passed.clear()
        return []

    async def _held(self, queue: str) -> list[MovedJob]:
        """In the order in which they were put aside. What is no job of ours goes back."""
        session, key = self._session(), self._session().keys(queue)[_HELD]
        ids = await session.one(plain("LRANGE", key, 0, -1))
        records = await self._records(queue, ids)
        held = {}
        for id in ids:
            record = records.get(id)
            if record is None or "finishedOn" in record.fields:
                # somebody has cancelled it meanwhile
                await session.one(plain("LREM", key, 0, id))
                continue
            try:
                held[id] = _moved(record)
            except _UNREADABLE as error:
                log.warning("job %s stays: %s", record.uuid, error)
                await self._give_back(queue, [id])
        self._own = {moved.job.id: id for id, moved in held.items()}
        return list(held.values())

    async def _records(self, queue: str, ids: Sequence[str]) -> dict[str, Record]:
        keys = self._session().keys(queue)
        hashes = await self._session().many([plain("HGETALL", keys[id]) for id in ids])
        return {id: record_of(queue, id, fields) for id, fields in zip(ids, hashes, strict=True) if fields}

    async def _put_aside(self, queue: str, limit: int) -> int:
        """How many."""
        keys, aside = self._session().keys(queue), 0
        for place in _PLACES:
            while aside < limit and (page := await self._page(keys, place, limit - aside)):
                why = await self._why_they_stay(keys, page)
                free = [id for id in page if why.get(id) is Stays.NEW]
                aside += sum(await self._session().many([calls.put_aside(keys, place, id, _HELD) for id in free]))
                self._passed[keys[place]] += len(page) - len(free)
        return aside

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
        for id in (self._own[each] for each in ids):
            # and the note that it has come: it may come back
            gone = [plain("LREM", keys[_HELD], 0, id), plain("DEL", calls.moved_key(keys, id))]
            await session.many([calls.remove(keys, id), *gone], together=True)

    async def _give_back(self, queue: str, ids: Sequence[str]) -> None:
        self._refused.update(ids)
        keys = self._session().keys(queue)
        await self._session().many([calls.put_back(keys, id, _HELD) for id in ids])


def _moved(record: Record) -> MovedJob:
    created_at = moment(record.fields.get("timestamp") or 0)
    id = as_v7(record.uuid, int(created_at.timestamp() * 1000))
    ours: dict[str, Any] = {name: record.about.get(name) for name in OURS if name != "rollup"}
    job = NewJob(
        id=id, kind=record.kind, queue=record.queue, args=record.args_json.encode(),
        priority=from_bullmq(int(record.fields.get("priority") or 0)), run_at=_run_at(record),
        max_attempts=record.max_attempts, **ours,
    )  # fmt: skip
    return MovedJob(job, record.attempts_made(), record.snoozes, created_at, [*_errors(record)])


def _run_at(record: Record) -> datetime | None:
    place, _, score = record.fields[_HELD].partition(" ")
    # of BullMQ's scores of delayed jobs there are 4096 in a millisecond
    return moment(int(score) // 4096) if place == "delayed" else None


def _errors(record: Record) -> Iterator[dict[str, Any]]:
    """As a database takes them: whoever may write to Redis may write anything there."""
    for error in record.errors:
        if isinstance(error, dict):
            said = {name: told for name, told in error.items() if isinstance(told, str | int | float)}
            yield {name: told.replace("\0", "") if isinstance(told, str) else told for name, told in said.items()}

"""Requests of workers whose answer is kept back until there is something to tell. A client that leaves meanwhile is
given nothing: what it would have run is for others."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.requests import Request

from penstock.engine import commands
from penstock.engine.http.sent import Beat, Beaten, ClaimOrWait
from penstock.engine.postgres.engine import PostgresEngine
from penstock.errors import LeaseLost
from penstock.job import ClaimedJob, Lease
from penstock.server.work.waiting import Poll, WaitingWorkers

_FIRST_LOOK = 0.25
_LAST_LOOK = 1.0
"""Seconds between looks where notifications do not arrive."""

_EXTEND = 1 / 3
"""Of the lease's length: so often is it extended while its worker waits."""


@asynccontextmanager
async def _while_connected(request: Request, poll: Poll) -> AsyncIterator[None]:
    """Notices when the client leaves."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        poll.gone = True
        poll.tell()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


class _Looks:
    """When to look without having been told to: never, where notifications arrive."""

    def __init__(self, workers: WaitingWorkers, wait: float) -> None:
        self._workers = workers
        self._deadline = time.monotonic() + wait
        self._pause = _FIRST_LOOK

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._deadline or self._workers.closing

    def seconds(self, at_most: float = math.inf) -> float:
        left = min(at_most, self._deadline - time.monotonic())
        if self._workers.listening:
            return left
        pause, self._pause = self._pause, min(2 * self._pause, _LAST_LOOK)
        return min(left, pause)


async def beat(engine: PostgresEngine, workers: WaitingWorkers, request: Request, asked: Beat) -> Beaten:
    """Extends the lease; answers when there is work in the queues asked about, a job to stop, or the time is over."""
    lease, told = asked.lease, set(asked.told)
    with workers.polling(lease) as poll:
        async with _while_connected(request, poll):
            extended = await engine.arun(commands.Heartbeat(lease))
            if asked.queues and extended.alive:
                new, _ = await workers.register(lease, asked.queues)
                if new and await workers.has_work(asked.queues):
                    poll.woken = True
            looks = _Looks(workers, asked.wait)
            while extended.alive and not (set(extended.cancelling) - told or poll.woken or poll.gone or looks.over):
                await poll.something(looks.seconds())
                # what is told while the database is asked must outlast the answer, which may be older
                news, poll.cancelled = poll.cancelled - told, set()
                if news or not workers.listening:
                    extended = await engine.arun(commands.Heartbeat(lease))
                if asked.queues and not workers.listening and await workers.has_work(asked.queues):
                    poll.woken = True
        if poll.gone:
            await workers.lose_sight(lease)
        return Beaten(extended.alive, extended.cancelling, extended.seconds, wake=poll.woken)


async def claim(
    engine: PostgresEngine, workers: WaitingWorkers, request: Request, asked: ClaimOrWait
) -> Sequence[ClaimedJob]:
    """Claims jobs, and waits for some when there are none. Raises LeaseLost."""
    lease = asked.lease
    jobs = await _claim_now(engine, asked)
    if not jobs and asked.wait > 0:
        jobs = await _wait_for_jobs(engine, workers, request, asked)
    elif jobs and await request.is_disconnected():
        await engine.arun(commands.Release(lease, [job.held for job in jobs]))
        jobs = []
    return jobs


async def _claim_now(engine: PostgresEngine, asked: ClaimOrWait) -> list[ClaimedJob]:
    return await engine.arun(
        commands.Claim(
            asked.lease, asked.queue, asked.limit, asked.priorities, asked.turns, asked.ids, asked.kinds, asked.owner
        )
    )


async def _wait_for_jobs(
    engine: PostgresEngine, workers: WaitingWorkers, request: Request, asked: ClaimOrWait
) -> list[ClaimedJob]:
    lease = asked.lease
    jobs: list[ClaimedJob] = []
    try:
        with workers.polling(lease) as poll:
            try:
                async with _while_connected(request, poll):
                    jobs = await _claim_or_wait(engine, workers, asked, poll)
            finally:
                await workers.unregister(lease, [asked.queue])
    finally:
        # no longer among those who are told, so that what it is told from here on goes to another by itself
        await _pass_on(engine, asked, poll, len(jobs))
    if poll.gone and jobs:
        await engine.arun(commands.Release(lease, [job.held for job in jobs]))
        jobs = []
    return jobs


async def _claim_or_wait(
    engine: PostgresEngine, workers: WaitingWorkers, asked: ClaimOrWait, poll: Poll
) -> list[ClaimedJob]:
    lease = asked.lease
    looks = _Looks(workers, asked.wait)
    extend_at = time.monotonic() + await _extend(engine, lease)
    _, again = await workers.register(lease, [asked.queue])
    while not poll.gone:
        poll.woken = False
        jobs = await _claim_now(engine, asked)
        if jobs or looks.over:
            return jobs
        while not (poll.woken or poll.gone or looks.over):
            await poll.something(looks.seconds(min(extend_at - time.monotonic(), again or math.inf)))
            if time.monotonic() >= extend_at and not poll.gone:
                extend_at = time.monotonic() + await _extend(engine, lease)
            elif again or not workers.listening:
                break
    return []


async def _extend(engine: PostgresEngine, lease: Lease) -> float:
    """In how many seconds to do it again."""
    extended = await engine.arun(commands.Heartbeat(lease))
    if not extended.alive:
        raise LeaseLost(f"lease {lease} is gone: open a new one")
    return (extended.seconds or 30.0) * _EXTEND


async def _pass_on(engine: PostgresEngine, asked: ClaimOrWait, poll: Poll, claimed: int) -> None:
    """It may have been told of work that it did not take or will not look for: others may have a slot."""
    left = poll.wakes - claimed if claimed == asked.limit else 0
    left = max(left, int(poll.woken or poll.gone))
    if left > 0:
        await engine.arun(commands.Wake(asked.queue, left))

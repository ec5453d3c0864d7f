"""Waiting for a job to end: woken by a NOTIFY about the job, with a slow poll beneath in case none can arrive."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from psycopg import sql

from penstock.engine.commands import Channels, GetChannels, GetJob, Watch
from penstock.engine.postgres.drivers import AsyncPsycopg, Psycopg, arun_one, arun_script, run_one, run_script
from penstock.engine.postgres.statement import Script
from penstock.job import Job

if TYPE_CHECKING:
    from penstock.engine.postgres.engine import PostgresEngine

_FIRST_LOOK_AGAIN = 0.05
_LAST_LOOK_AGAIN = 2.0


def _look(id: UUID) -> Script[Job | None]:
    """The job, watched unless it has ended."""
    yield Watch(id)
    job: Job | None = yield GetJob(id)
    return job


def _pauses(timeout: float | None, id: UUID) -> Iterator[float]:
    """How long to listen before each next look, until time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_LOOK_AGAIN
    while True:
        left = pause if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"job {id} has not ended within {timeout} s")
        yield min(pause, left)
        pause = min(pause * 2, _LAST_LOOK_AGAIN)


def _listen(channels: Channels) -> sql.Composed:
    return sql.SQL("listen {}").format(sql.Identifier(channels.job))


def _ended(job: Job | None) -> bool:
    return job is None or job.state.final


def wait_until_final(engine: "PostgresEngine", id: UUID, timeout: float | None) -> Job | None:
    """The job once it has ended; None when there is no such job."""
    job = engine.run(GetJob(id))
    if _ended(job):
        return job
    # a connection of its own: notifications arrive whenever they like; nothing prepared, for a pooler may stand between
    with engine.pools.sync().open() as connection:
        connection.prepare_threshold = None
        runner = Psycopg(connection, engine.schema)
        connection.execute(_listen(run_one(runner, GetChannels(), engine.schema)))
        for pause in _pauses(timeout, id):
            job = run_script(runner, _look(id), engine.schema)
            if _ended(job):
                break
            for notification in connection.notifies(timeout=pause):
                if str(id) in notification.payload:
                    break
    return job


async def await_until_final(engine: "PostgresEngine", id: UUID, timeout: float | None) -> Job | None:  # noqa: ASYNC109 - the twin
    job = await engine.arun(GetJob(id))
    if _ended(job):
        return job
    # a connection of its own: notifications arrive whenever they like; nothing prepared, for a pooler may stand between
    async with await (await engine.pools.of_this_loop()).open() as connection:
        connection.prepare_threshold = None
        runner = AsyncPsycopg(connection, engine.schema)
        await connection.execute(_listen(await arun_one(runner, GetChannels(), engine.schema)))
        for pause in _pauses(timeout, id):
            job = await arun_script(runner, _look(id), engine.schema)
            if _ended(job):
                break
            async for notification in connection.notifies(timeout=pause):
                if str(id) in notification.payload:
                    break
    return job

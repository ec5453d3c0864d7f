"""Waiting for a job to end: woken by the events of its queue, with a slow look beneath."""

import asyncio
import time
from typing import Any
from uuid import UUID

from penstock.engine.bullmq import index, looks
from penstock.engine.bullmq.session import Session
from penstock.job import Job

_LOOK_AGAIN = 2.0
_PAUSE = 0.2
_ENDS = ("completed", "failed", "removed")


async def until_final(
    session: Session,
    id: UUID,
    timeout: float | None,  # noqa: ASYNC109 - the twin of wait()
    lost: tuple[type[Exception], ...],
) -> Job | None:
    """The job once it has ended; None when there is no such job. That Redis is away is waited out."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            job = await looks.bare_job(session, id)
            if job is not None and not job.state.final:
                await _listen(session, id, deadline)
            return await looks.get_job(session, id)
        except TimeoutError as error:
            if error.errno is None and deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"job {id} has not ended within {timeout} s") from None
        except lost:
            if deadline is not None and time.monotonic() >= deadline:
                raise
        await asyncio.sleep(_PAUSE)


async def _listen(session: Session, id: UUID, deadline: float | None) -> None:
    keys, own = (await index.places(session, [id]))[id]
    client: Any = session.connect(timeout=_LOOK_AGAIN + 10)
    try:
        newest = await client.xrevrange(keys["events"], count=1)
        last = newest[0][0] if newest else "0-0"
        job = await looks.bare_job(session, id)
        while job is not None and not job.state.final:
            left = _LOOK_AGAIN if deadline is None else min(_LOOK_AGAIN, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError
            told = await client.xread({keys["events"]: last}, block=max(int(left * 1000), 1))
            ended = not told
            for _, events in told or ():
                last = events[-1][0]
                ended = any(event.get("jobId") == own and event.get("event") in _ENDS for _, event in events)
            if ended:
                job = await looks.bare_job(session, id)
    finally:
        await client.aclose()

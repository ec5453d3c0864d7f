"""Waiting for a job to end: woken by the events of its queue, with a slow look beneath."""

import time
from uuid import UUID

from penstock.engine.bullmq import index, looks
from penstock.engine.bullmq.session import Session
from penstock.job import Job

_LOOK_AGAIN = 2.0
_ENDS = ("completed", "failed", "removed")


async def until_final(session: Session, id: UUID, timeout: float | None) -> Job | None:  # noqa: ASYNC109
    """The job once it has ended; None when there is no such job."""
    deadline = None if timeout is None else time.monotonic() + timeout
    job = await looks.get_job(session, id)
    if job is None or job.state.final:
        return job
    keys, own = (await index.places(session, [id]))[id]
    client = session.connect(timeout=_LOOK_AGAIN + 10)
    try:
        newest = await client.xrevrange(keys["events"], count=1)
        last = newest[0][0] if newest else "0-0"
        job = await looks.get_job(session, id)
        while job is not None and not job.state.final:
            left = _LOOK_AGAIN if deadline is None else min(_LOOK_AGAIN, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"job {id} has not ended within {timeout} s")
            told = await client.xread({keys["events"]: last}, block=max(int(left * 1000), 1))
            for _, events in told or ():
                last = events[-1][0]
                if not any(event.get("jobId") == own and event.get("event") in _ENDS for _, event in events):
                    break
            else:
                job = await looks.get_job(session, id)
        return job
    finally:
        await client.aclose()

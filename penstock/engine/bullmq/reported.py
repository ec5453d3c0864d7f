"""Reports that are made again because their answer was lost, as reported_before.sql knows them: the job has no later
claim, and the error that the report left."""

from collections.abc import Collection, Mapping
from uuid import UUID

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, index
from penstock.engine.bullmq.session import Session
from penstock.job import Held, JobState

_BECAME = (JobState.FAILED, JobState.CANCELLED, JobState.SCHEDULED, JobState.READY)


async def reported_before(
    session: Session, refused: Collection[Held], errors: Mapping[UUID, str] | str
) -> list[c.Became]:
    """What became of these; `errors` are what theirs begin with."""
    if not refused:
        return []
    became = []
    records = await index.records(session, [job.id for job in refused])
    for job in refused:
        record = records.get(job.id)
        if record is None or record.claims != job.claims or not record.errors:
            continue
        last, made = record.errors[-1], record.attempts_made()
        text = errors if isinstance(errors, str) else errors[job.id]
        if str(last.get("error")).startswith(text) and last.get("attempt", made) == made:
            place = await session.one(calls.state_of(session.keys(record.queue), record.id))
            now = record.job(place)
            if now.state in _BECAME:
                became.append(c.Became(job.id, now.state, None if now.state.final else now.run_at))
    return became


async def completed_before(session: Session, job: Held) -> bool:
    record = (await index.records(session, [job.id])).get(job.id)
    return record is not None and record.claims == job.claims and {"finishedOn", "returnvalue"} <= record.fields.keys()

"""A completion and the jobs that follow from it. Redis has no transaction over several queues, so it is an order that
can be repeated: the jobs are added first, by ids of their own, and once they are there the job is completed. One that
is there already was added before, by a request whose answer was lost."""

from penstock.engine import commands as c
from penstock.engine.bullmq import enqueue, outcomes
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.hands import Hands
from penstock.engine.bullmq.reported import completed_before
from penstock.engine.bullmq.session import Session


async def complete_and_enqueue(session: Session, hands: Hands, asked: c.CompleteAndEnqueue) -> bool:
    held = (await hands.find(session, asked.lease, [asked.job])).get(asked.job.id)
    if held is None or await session.one(plain("GET", session.keys(held.queue).lock(held.id))) != held.token:
        return await completed_before(session, asked.job)
    await enqueue.enqueue(session, asked.enqueue)
    if asked.progress is not None:
        said = c.Reported(asked.job.id, asked.job.claims, asked.progress)
        await outcomes.report_progress(session, hands, c.ReportProgress(asked.lease, [said]))
    return not await outcomes.complete(session, hands, c.Complete(asked.lease, [asked.job]))

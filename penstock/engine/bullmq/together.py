"""A completion and the jobs that follow from it, in one transaction. A cluster has none over several queues; there it
is an order that can be repeated. The jobs are added first, by ids of their own, and once they are there the job is
completed; one that is there already was added before, by a request whose answer was lost."""

from penstock.engine import commands as c
from penstock.engine.bullmq import enqueue, outcomes
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.hands import Hands
from penstock.engine.bullmq.reported import completed_before
from penstock.engine.bullmq.session import Session
from penstock.errors import LeaseLost


async def complete_and_enqueue(session: Session, hands: Hands, asked: c.CompleteAndEnqueue) -> bool:
    job = asked.job
    held = (await hands.find(session, asked.lease, [job])).get(job.id)
    if held is None:
        return await completed_before(session, job)
    lock = session.keys(held.queue).lock(held.id)
    if await session.one(plain("GET", lock)) != held.token:
        return await completed_before(session, job)
    if session.names.cluster:
        await enqueue.enqueue(session, asked.enqueue)
    if asked.progress is not None:
        said = c.Reported(job.id, job.claims, asked.progress)
        await outcomes.report_progress(session, hands, c.ReportProgress(asked.lease, [said]))
    if session.names.cluster:
        return not await outcomes.complete(session, hands, c.Complete(asked.lease, [job]))
    additions, _ = await enqueue.additions_of(session, asked.enqueue)
    done = {job.id: (held, outcomes.finish(session, held, failed=False, said=bytes(job.output)))}
    first = [each.call() for each in additions]
    try:
        return bool(await outcomes.settle(session, hands, asked.lease, done, first, (lock, held.token)))
    except LeaseLost:
        return False

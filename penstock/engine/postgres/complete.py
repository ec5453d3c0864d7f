"""Completing one job together with what belongs to it, in one transaction."""

from penstock.engine.commands import Complete, CompleteAndEnqueue, Reported, ReportProgress
from penstock.engine.postgres.enqueue import enqueue
from penstock.engine.postgres.statement import Script


def complete_and_enqueue(command: CompleteAndEnqueue) -> Script[bool]:
    """Enqueues further jobs and completes this one, its last report written before; False when it is no longer the
    lease's, and nothing may commit."""
    job = command.job
    if command.enqueue:
        yield from enqueue(command.enqueue)
    if command.progress is not None:
        yield ReportProgress(command.lease, [Reported(job.id, job.claims, command.progress)])
    refused = yield Complete(command.lease, [job])
    return not refused

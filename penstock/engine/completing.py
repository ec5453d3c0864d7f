"""Completing one job together with what belongs to it, in the caller's transaction."""

from collections.abc import Sequence

from penstock.engine import calls
from penstock.engine.call import Script
from penstock.engine.calls.arrays import InHand
from penstock.engine.enqueueing import enqueue
from penstock.job import Lease, NewJob


def complete_with(lease: Lease, job: InHand, output: bytes | None, further: Sequence[NewJob]) -> Script[bool]:
    """Enqueues further jobs and completes this one; False when it is no longer the lease's, and nothing may commit."""
    if further:
        yield from enqueue(further)
    refused = yield calls.complete(lease, [job], [output])
    return not refused

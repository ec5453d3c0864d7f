"""Completing one job together with what belongs to it, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.engine import calls
from penstock.engine.call import Script
from penstock.engine.postgres.arrays import InHand
from penstock.engine.postgres.enqueue import enqueue
from penstock.job import Lease, NewJob


def complete_with(
    lease: Lease, job: InHand, output: bytes | None, further: Sequence[NewJob], report: Mapping[str, Any] | None = None
) -> Script[bool]:
    """Enqueues further jobs and completes this one, its last report written before; False when it is no longer the
    lease's, and nothing may commit."""
    if further:
        yield from enqueue(further)
    if report:
        yield calls.report_progress(lease, [job], [report])
    refused = yield calls.complete(lease, [job], [output])
    return not refused

"""The commands that a worker sends over HTTP, to `POST /api/work/` and the command's name. Each has an example of what
is sent and what it gives, for the API's description."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.commands import Claim, Extended
from penstock.engine.commands.command import Command, LeaseId
from penstock.job import Name

LONGEST_WAIT = 30.0
"""Seconds that an answer may be kept back until there is something to tell. Proxies give up after 60."""

Wait = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]


class Beaten(Extended, frozen=True):
    """What an ExtendLease gives, and whether one of the queues asked about has work."""

    wake: bool = False


class Beat(Command[Beaten], frozen=True):
    """Keep the lease, and hear what there is to hear. With `wait` the answer is kept back until a job of the worker's
    is to be stopped that it was not `told` of, one of `queues` has work, or so many seconds are over: one such request
    after another is all that an idle worker needs to send."""

    lease: LeaseId
    wait: Wait = 0
    queues: Annotated[Sequence[Name], msgspec.Meta(max_length=1000)] = []
    told: Annotated[Sequence[UUID], msgspec.Meta(max_length=10_000)] = []


class ClaimOrWait(Claim, frozen=True):
    """Claim jobs, best first. With `wait` it waits for one when there is none, so many seconds, and keeps the lease
    meanwhile. If the answer does not reach you, say so by release-unknown."""

    wait: Wait = 0


def path_of(kind: type[Command[Any]]) -> str:
    name = {Beat: "Heartbeat", ClaimOrWait: "Claim"}.get(kind, kind.__name__)
    return "/api/work/" + re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


_JOB = "01990000-7a10-7c55-9d3e-5b1f0c2a4e01"
_OTHER = "01990000-7a10-7c55-9d3e-5b1f0c2a4e02"
_AT = "2026-01-31T09:00:42Z"
_HELD = {"id": _JOB, "claims": 1}
_LEASE = {"lease": 17}
_MINE = {"lease": 17, **_HELD}
_BECAME = [{"id": _JOB, "state": "scheduled", "run_at": _AT}]

SENT: Mapping[type[Command[Any]], tuple[Any, Any] | None] = {
    c.OpenLease: ({"worker": "gpu-1:4711", "queues": ["default"], "host": "gpu-1", "pid": 4711}, 17),
    Beat: (
        {"lease": 17, "wait": 25, "queues": ["default"]},
        {"alive": True, "cancelling": [], "seconds": 30, "leads": False, "wake": True},
    ),
    c.CloseLease: (_LEASE, 2),
    c.ExpireLease: (_LEASE, 2),
    c.WaitForWork: ({"lease": 17, "queues": ["default"]}, None),
    c.StopWaiting: (_LEASE, None),
    c.Wake: ({"queue": "default", "jobs": 1}, None),
    c.Backlog: (
        {"queues": ["default"]}, [{"queue": "default", "ready": 120, "running": 20, "oldest_ready_seconds": 14.2}]
    ),
    c.Claim: None,  # which ClaimOrWait is more than
    ClaimOrWait: (
        {"lease": 17, "queue": "default", "limit": 5, "wait": 25},
        [
            {
                "id": _JOB, "kind": "export_pdf", "priority": 0, "turn": 0, "attempt": 1, "max_attempts": 5,
                "claims": 1, "snoozes": 0, "owner": "alice", "org": None, "parent": None, "created_at": _AT,
                "args": {"document_id": "d1"}, "options": None,
            }
        ],
    ),
    c.ReleaseUnknown: ({"lease": 17, "known": [_JOB]}, [_OTHER]),
    c.ReportProgress: (
        {"lease": 17, "jobs": [{**_HELD, "progress": {"percent": 40, "message": "page 4", "done": 4, "total": 10}}]},
        [{"id": _JOB, "cancel_requested": False}],
    ),
    c.Complete: ({"lease": 17, "jobs": [{**_HELD, "output": {"pages": 3}}]}, []),
    c.CompleteAndEnqueue: (
        {"lease": 17, "job": {**_HELD, "output": {"pages": 3}}, "enqueue": [{"kind": "announce"}]}, True
    ),
    c.Fail: (
        {"lease": 17, "jobs": [{**_HELD, "error": {"error": "the provider did not answer", "type": "TimeoutError"}}]},
        _BECAME,
    ),
    c.Snooze: ({"lease": 17, "jobs": [{**_HELD, "seconds": 30}]}, _BECAME),
    c.Park: ({"lease": 17, "jobs": [{**_HELD, "reason": "this worker has no handler of kind 'rotate'"}]}, _BECAME),
    c.Release: ({"lease": 17, "jobs": [_HELD]}, [_JOB]),
    c.ReportStatistics: (
        {"lease": 17, "memory": 81_000_000, "load": 0.4, "slots": 20,
         "runs": [{"queue": "exports", "kind": "export_pdf", "succeeded": 12, "failed": 1, "ran": [0, 0, 9, 4],
                   "ran_seconds": 0.04}],
         "errors": [{"kind": "export_pdf", "queue": "exports", "message": "timed out after <number> s",
                     "type": "Timeout", "attempts": 1, "jobs": 1, "example": _JOB}]},
        None,
    ),
    c.StopCancelled: ({"lease": 17, "jobs": [_HELD], "reason": "cancelled by its owner"}, [_JOB]),
    c.RememberStep: ({**_MINE, "name": "fetch", "output": {"rows": 3}}, True),
    c.RecallSteps: (_MINE, [{"name": "fetch", "output": {"rows": 3}}]),
    c.Suspend: (
        {**_MINE, "step": {"name": "sleep", "kind": "sleep", "number": 1, "seconds": 3600}},
        {"state": "scheduled", "run_at": "2026-01-31T13:00:00Z"},
    ),
    c.Outputs: (
        _MINE,
        [
            {
                "id": _OTHER, "name": "transcribe", "kind": "transcribe", "phase": "text", "state": "succeeded",
                "args": {"document_id": "d1"}, "output": {"words": 1200},
            }
        ],
    ),
}  # fmt: skip

"""Commands and their results on the way between a worker and the server: the same values, as JSON. A command goes to
`POST /api/work/` and its name, and what it gives comes back as {"result": …}."""

import dataclasses
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.commands import Claim, CompleteAndEnqueue, Completed, Extended, Progress
from penstock.engine.commands.command import MOST_JOBS, Command, LeaseId, result_of
from penstock.job import ClaimedJob, Name, NewJob

R = TypeVar("R")

LONGEST_WAIT = 30.0
"""Seconds that an answer may be kept back until there is something to tell. Proxies give up after 60."""

_BYTES_AT_ONCE = 512 * 1024
"""Of a request's body: what is said of more jobs is several requests."""
_FOREVER = 1e9
"""Seconds. JSON knows no infinity."""

Wait = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]

_encode = msgspec.json.Encoder().encode


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


SENT: tuple[type[Command[Any]], ...] = (
    c.OpenLease, Beat, c.CloseLease, c.ExpireLease, c.WaitForWork, c.StopWaiting, c.Wake, c.Backlog, c.Claim,
    ClaimOrWait, c.ReleaseUnknown, c.ReportProgress, c.Complete, c.CompleteAndEnqueue, c.Fail, c.Snooze, c.Park,
    c.Release, c.StopCancelled, c.RememberStep, c.RecallSteps, c.Suspend, c.Outputs, c.ReportStatistics,
)  # fmt: skip
"""What a worker needs."""


def path_of(kind: type[Command[Any]]) -> str:
    name = {Beat: "Heartbeat", ClaimOrWait: "Claim"}.get(kind, kind.__name__)
    return "/api/work/" + re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


# Jobs carry JSON that neither end takes apart.

HeldJob = msgspec.defstruct(
    "HeldJob",
    [(name, msgspec.Raw if name in ("args", "options") else hint) for name, hint in ClaimedJob.__annotations__.items()],
)
"""A ClaimedJob, its arguments and options as Postgres wrote them."""


def held_job(job: ClaimedJob) -> Any:
    *others, args, options = (getattr(job, name) for name in ClaimedJob.__struct_fields__)
    return HeldJob(*others, msgspec.Raw(args.encode()), msgspec.Raw((options or "null").encode()))


def claimed_job(job: Any) -> ClaimedJob:
    *others, args, options = (getattr(job, name) for name in ClaimedJob.__struct_fields__)
    text = bytes(options).decode()
    values: Any = (*others, bytes(args).decode(), None if text == "null" else text)
    return ClaimedJob(*values)


def _further(field: "dataclasses.Field[Any]") -> tuple[Any, ...]:
    hint = {"args": msgspec.Raw, "id": UUID | None, "quota": str | bool | None}.get(field.name, field.type)
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return field.name, hint
    if field.name == "args":
        return field.name, hint, msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))
    return field.name, hint, None if field.name == "id" else field.default


FurtherJob = msgspec.defstruct(
    "FurtherJob", [_further(field) for field in dataclasses.fields(NewJob)], kw_only=True, forbid_unknown_fields=True
)
"""A NewJob, its arguments as any JSON."""


class CompletionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A CompleteAndEnqueue."""

    lease: LeaseId
    job: Completed
    enqueue: Annotated[list[FurtherJob], msgspec.Meta(max_length=100_000)] = []  # type: ignore[valid-type]
    progress: Progress | None = None


# Requests.


def bodies(command: Command[Any]) -> list[bytes]:
    """What is sent: one request, or several for a command about many jobs."""
    if isinstance(command, CompleteAndEnqueue):
        further = [job.to_json() for job in command.enqueue]
        said = {"lease": command.lease, "job": command.job, "enqueue": further, "progress": command.progress}
        return [_encode(said)]
    jobs = getattr(command, "jobs", None)
    if not isinstance(jobs, Sequence):
        return [_encode(command)]
    others = {name: getattr(command, name) for name in command.__struct_fields__ if name != "jobs"}
    head = _encode(others)[:-1] + b',"jobs":['
    return [head + b",".join(part) + b"]}" for part in _parts(jobs)]


def _parts(jobs: Sequence[object]) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    size = 0
    for job in jobs:
        encoded = _encode(job)
        if parts[-1] and (size + len(encoded) > _BYTES_AT_ONCE or len(parts[-1]) == MOST_JOBS):
            parts.append([])
            size = 0
        parts[-1].append(encoded)
        size += len(encoded)
    return parts


# Results.


def encoded(result: object) -> bytes:
    """The answer to a command."""
    if isinstance(result, list) and result and isinstance(result[0], ClaimedJob):
        result = [held_job(job) for job in result]
    return _encode({"result": _FOREVER if result == math.inf else result})


def decoded(kind: type[Command[R]], answers: Sequence[bytes]) -> R:
    """What a command gives, by the answers to its requests. Of what is none: MsgspecError."""
    try:
        results = [_decoder(kind)(answer).result for answer in answers]
    except RecursionError:
        raise msgspec.DecodeError("the answer is nested too deeply") from None
    if issubclass(kind, Claim):
        results = [[claimed_job(job) for job in result] for result in results]
    if len(results) > 1:
        results = [[each for result in results for each in result]]
    result: Any = results[0]
    return math.inf if result == _FOREVER and isinstance(result, float) else result  # type: ignore[return-value]


@cache
def _decoder(kind: type[Command[Any]]) -> Any:
    gives = list[HeldJob] if issubclass(kind, Claim) else result_of(kind)  # type: ignore[valid-type]
    field = ("result", gives) if issubclass(kind, Claim) else ("result", gives, None)
    return msgspec.json.Decoder(msgspec.defstruct("Answer", [field])).decode

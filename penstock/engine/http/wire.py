"""Commands and their results on the way between a worker and the server: the same values, as JSON. What a
command gives comes back as {"result": …}."""

import dataclasses
import math
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec

from penstock.engine.commands import Claim, CompleteAndEnqueue, Completed, Progress
from penstock.engine.commands.command import MOST_JOBS, Command, LeaseId, result_of
from penstock.job import ClaimedJob, NewJob

R = TypeVar("R")

_BYTES_AT_ONCE = 512 * 1024
"""Of a request's body: what is said of more jobs is several requests."""
_FOREVER = 1e9
"""Seconds. JSON knows no infinity."""

_encode = msgspec.json.Encoder().encode

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

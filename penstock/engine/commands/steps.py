"""What a job remembers of its steps, and how it waits. All of it goes over HTTP, too."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from penstock.engine.commands.command import Claims, LeaseId, Repeatable
from penstock.engine.commands.work import Progress
from penstock.job import JobState, Number, Seconds

StepName = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]+$")]
StepNumber = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class RememberStep(Repeatable[bool], frozen=True):
    """Remember the result of a step: a later attempt gets it, and does not repeat the step."""

    lease: LeaseId
    id: UUID
    claims: Claims
    name: StepName
    output: msgspec.Raw
    kind: Annotated[str, msgspec.Meta(pattern="^(step|call)$")] = "step"
    number: StepNumber | None = None
    """Which of the handler's steps it is; None for one that runs beside others."""
    version: Number | None = None
    """The handler's."""


class Step(msgspec.Struct, frozen=True):
    """What an earlier run did, or waits for."""

    name: str
    output: Any
    kind: str = "step"
    number: int | None = None
    version: int | None = None
    waits: bool = False
    """What it waits for is not there yet."""


class RecallSteps(Repeatable[list[Step]], frozen=True):
    """The steps that earlier attempts took, for the job's holder."""

    lease: LeaseId
    id: UUID
    claims: Claims


MOST_CALLS = 10_000
"""Jobs that a step may call."""


class WaitingStep(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A step that waits: for a time, for the jobs it calls, for an event."""

    name: StepName
    kind: Annotated[str, msgspec.Meta(pattern="^(sleep|call|event|approval)$")]
    number: StepNumber | None = None
    version: Number | None = None
    seconds: Seconds | None = None
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    ids: Sequence[UUID] | None = None
    event: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]+$")] | None = None
    key: Annotated[str, msgspec.Meta(max_length=500, pattern="^[^\\x00]*$")] | None = None
    timeout: Seconds | None = None
    about: Any = None
    """For whoever answers."""


class SuspendedJob(msgspec.Struct, frozen=True):
    """What became of a job that was to wait. With an output it need not, and still runs."""

    state: JobState
    run_at: datetime | None = None
    output: Any = None


class Suspend(Repeatable[SuspendedJob | None], frozen=True):
    """Leave the worker until what the job waits for is there, at no cost of an attempt. None when it is no longer the
    lease's, which it is not after the first time either: it may be sent again."""

    lease: LeaseId
    id: UUID
    claims: Claims
    step: WaitingStep
    calls: Annotated[Sequence[Mapping[str, Any]], msgspec.Meta(max_length=MOST_CALLS)] | None = None
    """The jobs that it calls, as `enqueue_jobs` takes them."""
    progress: Progress | None = None

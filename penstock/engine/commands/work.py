"""What a worker does. All of it goes over HTTP, too."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from penstock.engine.commands.command import MOST_JOBS, Claims, Command, LeaseId, Many, Repeatable
from penstock.job import ClaimedJob, Held, JobState, Lease, Name, NewJob, Number, Seconds

NULL = msgspec.Raw(b"null")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Buckets = Annotated[list[Count], msgspec.Meta(max_length=25)]
Duration = Annotated[float, msgspec.Meta(ge=0, le=1e12)]

# Leases.


class OpenLease(Repeatable[Lease], frozen=True):
    """Come to work. A lease is the right to hold jobs, for `seconds` after it was last heard of."""

    worker: Annotated[Name, msgspec.Meta(description="Tells this worker from others.", examples=["gpu-1:4711"])]
    seconds: Annotated[float, msgspec.Meta(ge=0.1, le=86_400)] | None = None
    queues: Annotated[Sequence[Name], msgspec.Meta(max_length=1000)] = []
    host: Name | None = None
    pid: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None
    kinds: Annotated[Sequence[Name], msgspec.Meta(max_length=10_000)] | None = None
    """What it has handlers of: jobs that were parked for want of such a worker are ready at once."""


class Extended(msgspec.Struct, frozen=True):
    """Whether the lease is still ours, which of its jobs somebody wants stopped, its length, whether it leads."""

    alive: bool
    cancelling: Sequence[UUID]
    seconds: float | None = None
    leads: bool = False


class ExtendLease(Repeatable[Extended], frozen=True):
    """Keep the lease, and hear which jobs are to be stopped."""

    lease: LeaseId


class Heartbeat(Repeatable[Extended], frozen=True):
    """The same for a worker that never leads."""

    lease: LeaseId


class ExpireLease(Repeatable[int], frozen=True):
    """Take back the jobs of a worker that is known to be dead, their attempt counted; how many."""

    lease: LeaseId


class CloseLease(Repeatable[int], frozen=True):
    """Leave: what the lease still holds goes back; how many jobs that were."""

    lease: LeaseId


# Finding work.


class Claim(Command[list[ClaimedJob]], frozen=True):
    """Claim jobs, best first. If the answer does not reach you, say so by release-unknown."""

    lease: LeaseId
    queue: Name
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_JOBS)] = 1
    priorities: Annotated[Sequence[Number], msgspec.Meta(max_length=100)] = []
    """Where to go on, by a Cursor: for each of these priorities from which (turn, id). Empty for a look everywhere."""
    turns: Annotated[
        Sequence[Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]], msgspec.Meta(max_length=100)
    ] = []
    ids: Annotated[Sequence[UUID], msgspec.Meta(max_length=100)] = []
    kinds: Annotated[Sequence[Name], msgspec.Meta(min_length=1, max_length=1000)] | None = None
    owner: Name | None = None


class ReleaseUnknown(Repeatable[list[UUID]], frozen=True):
    """Give back what the lease holds besides these jobs: an answer was lost. Those claimed less than so many seconds
    ago are left alone."""

    lease: LeaseId
    known: Annotated[Sequence[UUID], msgspec.Meta(max_length=100_000)]
    seconds: Seconds = 0


class WaitForWork(Command[float | None], frozen=True):
    """Ask to be woken for queues. In how many seconds to look again all the same, if a rate holds: infinity for a rate
    and no job yet. Claim once more after this: a job may have come just before."""

    lease: LeaseId
    queues: Annotated[Sequence[Name], msgspec.Meta(min_length=1, max_length=1000)]


class WaitForHand(WaitForWork, frozen=True):
    """The same for whoever listens itself: on the connection that does, or with that one's `backend`; `direct` when it
    also takes the jobs it is handed."""

    direct: bool = False
    backend: int | None = None


class StopWaiting(Repeatable[None], frozen=True):
    """Ask not to be woken: for these queues, or for any."""

    lease: LeaseId
    queues: Annotated[Sequence[Name], msgspec.Meta(max_length=1000)] | None = None


class LoseSight(Repeatable[int], frozen=True):
    """Whoever listens for this worker has not heard of it: what it was told of goes to others. How many queues."""

    lease: LeaseId
    backend: int


class Wake(Repeatable[None], frozen=True):
    """Tell other workers of work."""

    queue: Name
    jobs: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1


# What became of jobs.


class Completed(Held, frozen=True, gc=False):
    output: msgspec.Raw = msgspec.field(default_factory=lambda: NULL)


class Complete(Command[list[UUID]], frozen=True):
    """Jobs are done; the ids refused because they are no longer the lease's."""

    lease: LeaseId
    jobs: Annotated[Sequence[Completed], Many]


class Progress(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    message: str | None = None
    phase: str | None = None
    done: float | None = None
    total: float | None = None


class CompleteAndEnqueue(Repeatable[bool], frozen=True):
    """One job is done, and others are to follow: both happen, or neither. False when it is no longer the lease's. May
    be repeated: the jobs have their ids."""

    lease: LeaseId
    job: Completed
    enqueue: Annotated[Sequence[NewJob], msgspec.Meta(max_length=100_000)]
    progress: Progress | None = None
    """Its last words."""


class Reported(Held, frozen=True):
    progress: Progress


class Wanted(msgspec.Struct, frozen=True):
    """A job whose report was accepted, and whether somebody wants it stopped."""

    id: UUID
    cancel_requested: bool


class ReportProgress(Repeatable[list[Wanted]], frozen=True):
    """Say how far jobs are."""

    lease: LeaseId
    jobs: Annotated[Sequence[Reported], Many]


class Became(msgspec.Struct, frozen=True):
    """What became of a job that was accepted, and when it runs again."""

    id: UUID
    state: JobState
    run_at: datetime | None


class AttemptError(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What went wrong, for people; with `retry_in` it is tried again in so many seconds, whatever its backoff."""

    error: str
    type: str | None = None
    traceback: str | None = None
    retry_in: Seconds | None = None
    final: bool = False


class FailedAttempt(Held, frozen=True):
    error: AttemptError


class Fail(Command[list[Became]], frozen=True):
    """Attempts have failed."""

    lease: LeaseId
    jobs: Annotated[Sequence[FailedAttempt], Many]


class Snoozing(Held, frozen=True, gc=False):
    seconds: Seconds


class Snooze(Command[list[Became]], frozen=True):
    """Look again later, at no cost of an attempt."""

    lease: LeaseId
    jobs: Annotated[Sequence[Snoozing], Many]


class Unknown(Held, frozen=True, gc=False):
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=8000)] = "this worker does not know it"


class Park(Command[list[Became]], frozen=True):
    """Put jobs aside that this worker has no handler for, or none that takes their arguments, at no cost of an attempt:
    a worker that names the kind when it comes to work gets them at once, and others when some time has passed."""

    lease: LeaseId
    jobs: Annotated[Sequence[Unknown], Many]


class Release(Command[list[UUID]], frozen=True):
    """Give jobs back unfinished, at no cost of an attempt; the ids that were the lease's."""

    lease: LeaseId
    jobs: Annotated[Sequence[Held], Many]


class StopCancelled(Command[list[UUID]], frozen=True):
    """Jobs were stopped as asked; the ids that were the lease's."""

    lease: LeaseId
    jobs: Annotated[Sequence[Held], Many]
    reason: Annotated[str, msgspec.Meta(min_length=1)] = "cancelled"


# What belongs to one job.


class Earlier(msgspec.Struct, frozen=True):
    """A job that this one waited for.

    ```python
    @app.job
    async def publish(ctx: Context) -> list[str]:
        return [each.output for each in await ctx.outputs() if each.state is JobState.SUCCEEDED]
    ```
    """

    id: UUID
    name: str | None
    kind: str
    phase: str | None
    state: JobState
    args: dict[str, Any]
    output: Any


class Outputs(Repeatable[list[Earlier]], frozen=True):
    """What came of the jobs this one waited for, in the order they were enqueued; for the job's holder."""

    lease: LeaseId
    id: UUID
    claims: Claims


class Holds(Repeatable[bool], frozen=True):
    """Whether the lease holds the job by this very claim."""

    lease: LeaseId
    id: UUID
    claims: Claims


class QueueBacklog(msgspec.Struct, frozen=True):
    """What a queue that is not paused has at hand; `ready` is counted no further than asked for."""

    queue: str
    ready: int
    running: int
    oldest_ready_seconds: float | None


class Backlog(Repeatable[list[QueueBacklog]], frozen=True):
    """What queues have at hand."""

    queues: Annotated[Sequence[Name], msgspec.Meta(min_length=1, max_length=1000)]
    most: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 10_000


class EndedRuns(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Runs of a queue and kind that have ended, and how long they waited and took: so many below 1 ms, below 2 ms,
    below 4 ms and so on."""

    queue: Name
    kind: Name
    succeeded: Count = 0
    failed: Count = 0
    """Given up."""
    retried: Count = 0
    """Failed, and to be tried again."""
    cancelled: Count = 0
    waited: Buckets = []
    """Of first runs, from their enqueueing on."""
    ran: Buckets = []
    waited_seconds: Duration = 0.0
    ran_seconds: Duration = 0.0


class AlikeErrors(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Attempts of a kind that failed with messages that differ by numbers, ids and quoted values alone."""

    kind: Name
    queue: Name
    message: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]+$")]
    attempts: Count
    jobs: Count
    """Of these the ones that were given up."""
    example: UUID
    type: Annotated[str, msgspec.Meta(max_length=500, pattern="^[^\\x00]*$")] | None = None


class ReportStatistics(Repeatable[None], frozen=True):
    """Say what has ended since the last time, every ten seconds or so, and how the worker is."""

    lease: LeaseId
    runs: Annotated[list[EndedRuns], msgspec.Meta(max_length=MOST_JOBS)] = msgspec.field(default_factory=list)
    errors: Annotated[list[AlikeErrors], msgspec.Meta(max_length=MOST_JOBS)] = msgspec.field(default_factory=list)
    memory: Annotated[int, msgspec.Meta(ge=0, le=2**53, description="Bytes.")] | None = None
    load: Annotated[float, msgspec.Meta(ge=0, le=1e6, description="Of one processor.")] | None = None
    slots: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None

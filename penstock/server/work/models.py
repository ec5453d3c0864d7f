"""What workers over HTTP say, checked, and what they are answered, documented. The answers are written by
`penstock.engine.http.messages`."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from penstock.engine.http.messages import LONGEST_WAIT, MOST_JOBS
from penstock.job import JobState
from penstock.server.http.models import Moment, Numeric, Request, Shape, Text, YesOrNo

LeaseNumber = Annotated[int, Field(ge=0, le=2**53, description="The worker's lease.", examples=[17]), Numeric]
Claims = Annotated[
    int,
    Field(ge=0, le=2**31 - 1, description="`claims` of the job as it was claimed: it fences what is said about it."),
    Numeric,
]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False), Numeric]
Number = Annotated[float, Field(allow_inf_nan=False), Numeric]
Once = AfterValidator(lambda names: list(dict.fromkeys(names)))
Queues = Annotated[list[Text], Field(max_length=1000), Once]


class OpenLease(Request):
    worker: Text = Field(description="A name that tells this worker from others.", examples=["gpu-1:4711"])
    queues: Queues = Field(default=[], description="The queues it works on.", examples=[["default"]])
    seconds: Annotated[float, Field(ge=0.1, le=86_400, allow_inf_nan=False), Numeric] | None = Field(
        default=None, description="How long a worker that is not heard of keeps its jobs. Default: 30."
    )
    kinds: Annotated[list[Text], Field(max_length=10_000)] | None = Field(
        default=None, description="What it has handlers of: jobs that were parked for want of them are ready at once."
    )
    host: Text | None = None
    pid: Annotated[int, Field(ge=0, le=2**31 - 1), Numeric] | None = None


class Heartbeat(Request):
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False), Numeric] = Field(
        default=0, description="Seconds to keep the answer back until there is something to tell."
    )
    queues: Queues = Field(default=[], description="While it waits: answer with `wake` when one of these has work.")
    told: Annotated[list[UUID], Field(max_length=10_000)] = Field(
        default=[], description="While it waits: jobs of `cancelling` that this worker knows of already."
    )


class WaitForWork(Request):
    queues: Annotated[list[Text], Field(min_length=1, max_length=1000), Once]


class Claim(Request):
    lease: LeaseNumber
    queue: Text = Field(examples=["default"])
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS), Numeric] = 1
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False), Numeric] = Field(
        default=0, description="Seconds to wait for a job when there is none."
    )
    kinds: Annotated[list[Text], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="Only jobs of these kinds."
    )


class ReleaseUnknown(Request):
    lease: LeaseNumber
    known: Annotated[list[UUID], Field(max_length=100_000)] = Field(description="The jobs this worker has in hand.")
    seconds: Seconds = Field(default=0, description="Leave jobs alone that were claimed less than so many seconds ago.")


class Wake(Request):
    queue: Text
    jobs: Annotated[int, Field(ge=1, le=100_000), Numeric] = 1


class Held(Request):
    """A job in a worker's hands."""

    id: UUID
    claims: Claims


class ProgressReport(Held):
    percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False), Numeric] | None = Field(
        default=None, examples=[40]
    )
    message: str | None = Field(default=None, examples=["page 4"])
    phase: str | None = None
    done: Number | None = None
    total: Number | None = None


class Completed(Held):
    output: Any = Field(default=None, description="Any JSON.", examples=[{"pages": 3}])


class Failure(Held):
    error: str = Field(description="What went wrong, for people.", examples=["the provider did not answer"])
    type: str | None = Field(default=None, examples=["TimeoutError"])
    traceback: str | None = None
    retry_in: Seconds | None = Field(default=None, description="Try again in so many seconds, whatever its backoff.")
    final: YesOrNo = Field(default=False, description="Do not try again.")


class Snoozed(Held):
    seconds: Seconds = Field(examples=[30])


class ParkedJob(Held):
    reason: Annotated[str, Field(min_length=1, max_length=8000)] = Field(
        default="this worker does not know it", description="What it does not know: the kind, or which argument."
    )


class CancelledJob(Held):
    reason: str = Field(default="cancelled", min_length=1)


class Batch(Request):
    """What a worker says about some of its jobs."""

    lease: LeaseNumber
    jobs: Annotated[list[Any], Field(min_length=1, max_length=MOST_JOBS)]

    @field_validator("jobs")
    @classmethod
    def _names_each_job_once(cls, jobs: list[Held]) -> list[Held]:
        if len({job.id for job in jobs}) < len(jobs):
            raise ValueError("the same id twice")
        return jobs


class ProgressBatch(Batch):
    jobs: Annotated[list[ProgressReport], Field(min_length=1, max_length=MOST_JOBS)]


class FurtherJob(Request):
    """A job to be enqueued."""

    model_config = ConfigDict(**Request.model_config, json_schema_extra={"examples": [{"kind": "announce"}]})

    kind: Text
    args: dict[str, Any] = Field(default={})
    id: UUID | None = Field(default=None, description="A UUIDv7 of your own making, so that a repetition is noticed.")
    queue: Text = "default"
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1), Numeric] = 0
    run_at: Moment | None = None
    delay: Seconds | None = None
    max_attempts: Annotated[int, Field(ge=1, le=2**31 - 1), Numeric] = 5
    max_snoozes: Annotated[int, Field(ge=0, le=2**31 - 1), Numeric] | None = None
    owner: Text | None = None
    org: Text | None = None
    # the engine takes its digest when it is long
    unique_key: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]+$")] | None = None
    limit_key: Text | None = None
    idempotency_key: Text | None = None
    idempotency_ttl: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False), Numeric] | None = None
    fingerprint: Text | None = Field(
        default=None, description="What the idempotency key is for, where that is not the job itself."
    )
    after: Annotated[list[UUID], Field(max_length=10_000)] = Field(default=[])
    parent: UUID | None = None
    weight: Annotated[float, Field(gt=0, lt=1e30, allow_inf_nan=False), Numeric] | None = None
    phase: Text | None = None
    rollup: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    quota: Text | Literal[False] | None = Field(default=None, description="False: it counts against no quota.")


class CompleteBatch(Batch):
    jobs: Annotated[list[Completed], Field(min_length=1, max_length=MOST_JOBS)]
    enqueue: Annotated[list[FurtherJob], Field(max_length=100_000)] = Field(
        default=[], description="Jobs to enqueue if, and only if, the one job that is completed here is accepted."
    )

    @field_validator("enqueue")
    @classmethod
    def _enqueues_for_one_job(cls, enqueue: list[FurtherJob], others: ValidationInfo) -> list[FurtherJob]:
        if enqueue and len(others.data.get("jobs", ())) > 1:
            raise ValueError("only with one job at a time")
        return enqueue


class FailBatch(Batch):
    jobs: Annotated[list[Failure], Field(min_length=1, max_length=MOST_JOBS)]


class SnoozeBatch(Batch):
    jobs: Annotated[list[Snoozed], Field(min_length=1, max_length=MOST_JOBS)]


class ParkBatch(Batch):
    jobs: Annotated[list[ParkedJob], Field(min_length=1, max_length=MOST_JOBS)]


class ReleaseBatch(Batch):
    jobs: Annotated[list[Held], Field(min_length=1, max_length=MOST_JOBS)]


class CancelledBatch(Batch):
    jobs: Annotated[list[CancelledJob], Field(min_length=1, max_length=MOST_JOBS)]


# Answers.


class LeaseOpened(Shape):
    lease: int = Field(examples=[17])
    seconds: float = Field(description="Send a heartbeat well before they are over.", examples=[30])


class Beaten(Shape):
    alive: bool = Field(description="False: the lease was lost, its jobs are others'. Stop them and open a new one.")
    cancelling: list[UUID] = Field(description="Jobs of yours that somebody wants stopped.")
    seconds: float | None = Field(examples=[30])
    wake: bool = Field(description="One of the queues it asked about has work.")


class WorkerWaits(Shape):
    rated: bool = Field(description="Whether a rate holds for a queue: time alone may let a job start.")
    look_in: float | None = Field(description="Look again in so many seconds, whether or not you are woken.")


class ClaimedJobShape(Shape):
    id: UUID
    kind: str
    queue: str
    priority: int
    turn: int
    attempt: int = Field(description="The first is 1.")
    max_attempts: int
    claims: int = Field(description="Say it with everything you say about the job.")
    snoozes: int
    owner: str | None
    org: str | None
    parent: UUID | None
    created_at: datetime
    args: dict[str, Any]
    options: dict[str, Any] | None


class ClaimedJobs(Shape):
    jobs: list[ClaimedJobShape]


class JobFate(Shape):
    id: UUID
    accepted: bool = Field(description="False: it is no longer this lease's, by this claim. Forget it.")
    state: JobState | None = Field(default=None, description="After fail, snooze and park: what it is now.")
    run_at: datetime | None = Field(default=None, description="After fail, snooze and park: when it runs again.")
    cancel_requested: bool | None = Field(default=None, description="After progress: somebody wants it stopped.")


class JobFates(Shape):
    """One for each job of the request, in its order."""

    jobs: list[JobFate]


class GivenBack(Shape):
    released: int = Field(description="How many jobs went back to their queues.")


class GivenBackJobs(Shape):
    released: list[UUID]


class StepAccepted(Shape):
    accepted: bool


class EarlierJob(Shape):
    id: UUID
    name: str | None
    kind: str
    phase: str | None
    state: Literal["succeeded", "failed", "cancelled"]
    args: dict[str, Any]
    output: Any


class QueueBacklog(Shape):
    queue: str
    ready: int
    running: int
    oldest_seconds: float | None

"""The API's requests and answers, for checking the ones and documenting the others."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    model_validator,
)
from pydantic.alias_generators import to_camel

Text = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00]+$")]


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("Input should be a number")
    return value


def _yes_or_no(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("Input should be true or false")
    return value


Numeric = BeforeValidator(_number)
"""In a body: as JSON tells numbers, and not true for 1 or "1". After the bounds, or OpenAPI would not tell them."""
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]


def _written_out(value: object) -> object:
    if not isinstance(value, str) or value.strip("+-.0123456789") == "":
        raise ValueError("Input should be a date and time, like 2026-01-31T12:00:00Z")
    return value


def _in_utc(moment: datetime) -> datetime:
    """Postgres refuses offsets that Python allows; and what lies outside of Python's years it could not give back."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("Input should be between the years 1 and 9999") from None


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_in_utc)]


_MOST_FIELDS = 50


class Shape(BaseModel):
    """Names are camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel)


class Request(Shape):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_many(cls, given: object) -> object:
        """Each field that is not known is an error of its own: of 80,000, three seconds of them."""
        if isinstance(given, dict) and len(given) > _MOST_FIELDS:
            raise ValueError(f"has {len(given):,} fields; there are {', '.join(map(to_camel, cls.model_fields))}")
        return given


class StartRequest(Request):
    type: Text = Field(description="The kind of job, or the name of a flow.", examples=["export_pdf"])
    params: dict[str, Any] = Field(default={}, description="Its arguments.", examples=[{"document_id": "d1"}])
    org: Text | None = Field(default=None, description="Shares the job with an organisation of yours.")
    owner: Text | None = Field(default=None, description="On whose behalf; for the service only.")
    quota: YesOrNo = Field(
        default=True, description="False: it does not count against the owner's quota; for the service only."
    )
    run_at: Moment | None = Field(default=None, description="Not before then; for the service only.")
    delay: Annotated[float, Field(ge=0), Numeric] | None = Field(
        default=None, description="Seconds until it may run; for the service only."
    )
    priority: Annotated[int, Field(ge=-32768, le=32767), Numeric] | None = Field(
        default=None, description="Within its queue, higher goes first; for the service only."
    )
    queue: Text | None = Field(default=None, description="Instead of the kind's own; for the service only.")


class BatchItem(Request):
    type: Text = Field(examples=["export_pdf"])
    params: dict[str, Any] = Field(default={}, examples=[{"document_id": "d1"}])


class BatchRequest(Request):
    jobs: Annotated[list[BatchItem], FailFast()] = Field(min_length=1, max_length=1000)
    org: Text | None = None
    owner: Text | None = Field(default=None, description="On whose behalf; for the service only.")
    quota: YesOrNo = Field(
        default=True, description="False: it does not count against the owner's quota; for the service only."
    )


class TickRequest(Request):
    limit: Annotated[int, Field(ge=1, le=1000), Numeric] = Field(default=10, description="At most so many jobs.")
    budget: Annotated[float, Field(gt=0, le=600), Numeric] = Field(
        default=25.0, description="For about so many seconds."
    )
    queues: list[Text] | None = Field(default=None, max_length=100, description="Default: the application's.")


class Started(Shape):
    id: UUID
    job_id: UUID
    status: Literal["queued"] = "queued"
    created: bool = Field(
        description="False when an unfinished job, or one of the same Idempotency-Key, stands for it."
    )


class StartedItem(Shape):
    job_id: UUID
    type: str


class StartedBatch(Shape):
    id: UUID
    batch_id: UUID
    created: bool
    jobs: list[StartedItem]


class Progress(Shape):
    percent: float = Field(ge=0, le=100, examples=[45])
    phase: str | None = Field(examples=["text"])
    docs_complete: float | None = Field(examples=[7])
    docs_total: float | None = Field(examples=[16])
    message: str | None = Field(examples=["Generating chapter: Hunger..."])
    docs_failed: float | None = Field(
        default=None, description="Of a flow: those that failed or were cancelled; left out when there are none."
    )
    retry_reason: str | None = Field(
        default=None, description="Why the attempt before this one did not succeed; left out when it is the first."
    )


class ArtifactLink(Shape):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    id: UUID
    type: str | None = Field(examples=["audio_mp3"])
    url: str | None
    duration: float | None = Field(examples=[180])


class AttemptError(Shape):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    at: datetime | None = None
    attempt: int | None = None
    error: str
    type: str | None = Field(default=None, examples=["TimeoutError"])
    traceback: str | None = None


class RunsOn(Shape):
    name: str = Field(examples=["jobs-1:4711"])
    host: str | None
    pid: int | None
    since: datetime


class JobStatus(Shape):
    id: UUID
    type: str
    status: Literal["queued", "processing", "completed", "failed", "cancelled"]
    progress: Progress
    artifacts: list[ArtifactLink]
    state: Literal["blocked", "scheduled", "ready", "running", "succeeded", "failed", "cancelled"]
    queue: str
    params: dict[str, Any]
    output: Any
    error: str | None
    attempts: int
    max_attempts: int
    cancel_requested: bool
    owner: str | None
    org: str | None
    parent_id: UUID | None
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    parked_reason: str | None = Field(
        default=None,
        description="For the service only: why it waits for another worker. Those that met it have no handler of its "
        "kind, or none that takes its arguments.",
    )
    worker: RunsOn | None = Field(
        default=None, description="For the service only, where one job is asked for and runs: which worker runs it."
    )
    errors: list[AttemptError] | None = Field(
        default=None, description="For the service only, where one job is asked for: what its attempts failed of."
    )


class JobPage(Shape):
    jobs: list[JobStatus]
    next_cursor: UUID | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class Cancelled(Shape):
    id: UUID
    message: str = Field(examples=["Job cancelled"])
    cancelled: bool = Field(description="False while its handler, which was asked to stop, has not ended.")


class Retried(Shape):
    id: UUID
    status: Literal["queued"] = "queued"


class TickedJob(Shape):
    message_id: UUID
    type: str
    success: bool
    archived: bool = Field(
        description="Done with: it succeeded or was cancelled. Otherwise it runs again, or failed for good."
    )
    state: str
    attempts: int
    seconds: float
    error: str | None = None


class Ticked(Shape):
    ok: Literal[True] = True
    success: bool = True
    message: str = Field(examples=["Queue processing completed"])
    processed_count: int
    archived_count: int
    failed_count: int
    results: list[TickedJob]


class Kind(Shape):
    type: str
    description: str | None
    params: dict[str, Any] = Field(description="JSON Schema of its params.")


class Kinds(Shape):
    kinds: list[Kind]


class Scale(Shape):
    queue: str
    paused: bool
    ready: int
    running: int
    workers: int
    oldest_seconds: float | None = Field(description="How long the job that is next in turn has waited.")
    wanted_workers: int = Field(
        description="How many workers the backlog calls for; KEDA: valueLocation=wantedWorkers."
    )


class WorkerJob(Shape):
    id: UUID
    type: str
    queue: str
    attempt: int
    since: datetime
    seconds: float
    cancel_requested: bool


class WorkerAlive(Shape):
    name: str = Field(examples=["jobs-1:4711"])
    host: str | None
    pid: int | None
    queues: list[str]
    since: datetime
    heard_at: datetime = Field(description="Its last heartbeat.")
    running: list[WorkerJob] = Field(description="The one that runs longest first.")


class WorkersAlive(Shape):
    workers: list[WorkerAlive]


class UsageRow(Shape):
    day: date
    org: str
    kind: str
    runs: int
    seconds: float
    failures: int
    bytes: int


class UsageReport(Shape):
    usage: list[UsageRow]


class Health(Shape):
    status: Literal["ok"] = "ok"


class InvalidField(Shape):
    field: str = Field(examples=["params.document_id"])
    problem: str = Field(examples=["is missing"])


class ProblemBody(Shape):
    """RFC 9457."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str
    errors: list[InvalidField] | None = None

"""The API's requests and answers, for checking the ones and documenting the others.

What a job, a worker or an artifact is called in Python it is called here too: those answers follow from the values
that are told, and only what is more or less than these is written down."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, get_type_hints
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from penstock import artifact
from penstock.app import EVENT_KEPT
from penstock.engine.commands import AskedApproval, LiveWorker, QueueScale, RunningJob, SeenJob, Usage
from penstock.errors import meant
from penstock.job import JobState
from penstock.worker.tick import TickResult
from penstock.workers import Holder

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
_LONGEST_SLIP = 50
"""Characters of a field's name that may be a slip of the pen: what is longer is compared with nothing."""


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_unknown(cls, given: object, check: ModelWrapValidatorHandler[Self]) -> Self:
        """Each field that is not known is an error of its own, of 80,000, three seconds of them; and says which one may
        have been meant, such as run_at by runAt."""
        if isinstance(given, dict) and len(given) > _MOST_FIELDS:
            raise ValueError(f"has {len(given):,} fields; there are {', '.join(cls.model_fields)}")
        try:
            return check(given)
        except ValidationError as error:
            found = error.errors(include_url=False)
            if all(each["type"] != "extra_forbidden" for each in found):
                raise
            raise ValidationError.from_exception_data(error.title, [cls._hinted(each) for each in found]) from None

    @classmethod
    def _hinted(cls, error: ErrorDetails) -> InitErrorDetails:
        problem, where = error["msg"], error["loc"]
        if error["type"] == "extra_forbidden" and len(where) == 1 and len(str(where[0])) <= _LONGEST_SLIP:
            problem += meant(str(where[0]), cls.model_fields)
        said = PydanticCustomError("refused", "{problem}", {"problem": problem})
        return InitErrorDetails(type=said, loc=where, input=error["input"])


class BatchItem(Request):
    kind: Text = Field(description="The kind of job.", examples=["export_pdf"])
    args: dict[str, Any] = Field(default={}, description="Its arguments.", examples=[{"document_id": "d1"}])
    run_at: Moment | None = Field(default=None, description="Not before then; for the service only.")
    delay: Annotated[float, Field(ge=0), Numeric] | None = Field(
        default=None, description="Seconds until it may run; for the service only."
    )
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1), Numeric] | None = Field(
        default=None, description="Within its queue, higher goes first; for the service only."
    )
    queue: Text | None = Field(default=None, description="Instead of the kind's own; for the service only.")


class StartRequest(BatchItem):
    kind: Text = Field(description="The kind of job, or the name of a flow.", examples=["export_pdf"])
    org: Text | None = Field(default=None, description="Shares the job with an organisation of yours.")
    owner: Text | None = Field(default=None, description="On whose behalf; for the service only.")
    quota: YesOrNo = Field(
        default=True, description="False: it does not count against the owner's quota; for the service only."
    )


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


ApprovalCursor = Annotated[str, Field(pattern=r"^[0-9a-f-]{36} [0-9a-f-]{36}$")]
EventText = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]


class EventRequest(Request):
    event: EventText = Field(min_length=1, description="Its name.", examples=["paid"])
    key: EventText = Field(default="", description="Which one: those who wait name the same.", examples=["order-7"])
    payload: Any = Field(default=None, description="What the job that waits is given.")
    keep: Annotated[float, Field(ge=0, le=1e9), Numeric] = Field(
        default=EVENT_KEPT, description="Seconds that it is kept when nobody waits for it yet, for the first who will."
    )


class ApprovalRequest(Request):
    approved: YesOrNo = Field(description="Whether it may go on.")
    comment: Annotated[str, Field(max_length=2000, pattern=r"^[^\x00]*$")] | None = None
    step: Text | None = Field(default=None, description="Only if that is what it asks: what you saw may be answered.")
    by: Text | None = Field(default=None, description="Who has answered; for the service only.")


class Approved(BaseModel):
    id: UUID
    step: str = Field(description="What was answered.")


class Emitted(BaseModel):
    job: UUID | None = Field(description="The job that has it; null when it is kept for the first to wait for it.")


class Started(BaseModel):
    id: UUID
    state: JobState = Field(
        description="`ready`, `scheduled` for later, or `blocked` until the jobs of its flow have ended; of one that "
        "was there before, where it is by now."
    )
    created: bool = Field(
        description="False when an unfinished job, or one of the same Idempotency-Key, stands for it."
    )


class StartedItem(BaseModel):
    id: UUID
    kind: str


class StartedBatch(BaseModel):
    id: UUID
    created: bool
    jobs: list[StartedItem]


class Progress(BaseModel):
    percent: float = Field(ge=0, le=100, examples=[45])
    phase: str | None = Field(examples=["text"])
    done: float | None = Field(examples=[7])
    total: float | None = Field(examples=[16])
    failed: float | None = Field(description="Of a flow: those that failed or were cancelled, if any.")
    message: str | None = Field(examples=["Generating chapter: Hunger..."])
    reason: str | None = Field(description="Why the attempt before this one did not succeed, if there was one.")


class ArtifactLink(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: UUID
    type: str = Field(examples=["audio_mp3"])
    name: str = Field(examples=["chapter1.mp3"])
    url: str | None
    duration: float | None = Field(examples=[180])
    size: int | None
    content_type: str


class AttemptError(BaseModel):
    model_config = ConfigDict(extra="allow")

    at: datetime | None = None
    attempt: int | None = None
    error: str
    type: str | None = Field(default=None, examples=["TimeoutError"])
    traceback: str | None = None


def _telling(name: str, told: type[object], *, without: Collection[str] = (), **instead: object) -> type[BaseModel]:
    """Tells of each field of these values, under its own name; of some something else instead, or besides."""
    fields: dict[str, Any] = {
        each: (hint, ...) for each, hint in get_type_hints(told).items() if each not in without
    } | instead
    return create_model(name, **fields)


RunsOn = _telling("RunsOn", Holder, without=("seconds", "heard_at"))

_FOR_SERVICE = "For the service only, where one job is asked for: "

Job = _telling(
    "Job",
    SeenJob,
    without=("rollup",),
    progress=(Progress, ...),
    error=(str | None, Field(description="Why it did not succeed, in words meant to be shown.")),
    artifacts=(list[ArtifactLink], Field(description="Of the job and of everything below it; none in a list.")),
    parked_reason=(
        str | None,
        Field(
            default=None,
            description="For the service only: why it waits for another worker. Those that met it have no handler of "
            "its kind, or none that takes its arguments.",
        ),
    ),
    errors=(list[AttemptError] | None, Field(default=None, description=f"{_FOR_SERVICE}what its attempts failed of.")),
    worker=(RunsOn | None, Field(default=None, description=f"{_FOR_SERVICE}which worker runs it, if one does.")),
)


class JobPage(BaseModel):
    jobs: list[Job]  # type: ignore[valid-type]
    next_cursor: UUID | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")
    searched_back_to: datetime | None = Field(
        description="For the service: how far back this page has looked. A search stops after a while, so that a page "
        "may have few jobs, or none, and others follow. Null when there is no further page."
    )


class Cancelled(BaseModel):
    id: UUID
    state: JobState
    cancel_requested: bool = Field(description="True while its handler, which was asked to stop, has not ended.")


class Retried(BaseModel):
    id: UUID
    state: JobState


TickedJob = _telling("TickedJob", TickResult)


class Ticked(BaseModel):
    ok: Literal[True] = True
    processed: int = Field(description="How many jobs were run.")
    results: list[TickedJob]  # type: ignore[valid-type]


class Kind(BaseModel):
    kind: str
    description: str | None
    args: dict[str, Any] = Field(description="JSON Schema of its arguments.")


class Kinds(BaseModel):
    kinds: list[Kind]


Scale = _telling(
    "Scale",
    QueueScale,
    queue=(str, ...),
    oldest_ready_seconds=(float | None, Field(description="How long the job that is next in turn has waited.")),
    wanted_workers=(
        int,
        Field(description="How many workers the backlog calls for; KEDA: `valueLocation: wanted_workers`."),
    ),
)


Worker = _telling(
    "Worker",
    LiveWorker,
    worker=(str, Field(description="Its name.", examples=["jobs-1:4711"])),
    heard_at=(datetime, Field(description="Its last heartbeat.")),
    running=(
        list[_telling("RunningJob", RunningJob)],  # type: ignore[misc]
        Field(description="The one that runs longest first."),
    ),
)


class Workers(BaseModel):
    workers: list[Worker]  # type: ignore[valid-type]


Asked = _telling("AskedApproval", AskedApproval, without=("cursor",))


class ApprovalPage(BaseModel):
    approvals: list[Asked]  # type: ignore[valid-type]
    next_cursor: str | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class UsageReport(BaseModel):
    usage: list[_telling("Usage", Usage)]  # type: ignore[valid-type]


Artifact = _telling(
    "Artifact",
    artifact.Artifact,
    without=("path", "state"),
    type=(str, Field(examples=["pdf"])),
    digest=(str | None, Field(description="SHA-256, in hexadecimal.")),
)


class DownloadLink(BaseModel):
    url: str = Field(examples=["/api/artifacts/01a1e011-4376-76a7-8b10-c6987fb0b9ff/file?expires=…&signature=…"])
    expires_at: datetime


class Partial(BaseModel):
    message: str = Field(examples=["not everything has succeeded yet"])
    done: int = Field(examples=[3])
    total: int = Field(examples=[5])
    jobs: list[UUID] = Field(description="Those that have succeeded.")


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class InvalidField(BaseModel):
    field: str = Field(examples=["args.document_id"])
    problem: str = Field(examples=["is missing"])


class ProblemBody(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str
    errors: list[InvalidField] | None = None

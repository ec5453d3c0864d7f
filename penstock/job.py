"""What a job is, before, during and after its run, alone or enqueued with many alike: plain values."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar, overload
from uuid import UUID

import msgspec
from uuid_utils import uuid7 as plain_uuid7
from uuid_utils.compat import uuid7

from penstock.columns import SHORT
from penstock.errors import InvalidInput

Lease = NewType("Lease", int)
R_co = TypeVar("R_co", covariant=True)


# Bounds are for what comes from elsewhere: they are checked where it is decoded.
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern="^[^\\x00]+$")]
Number = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class JobState(StrEnum):
    """Where a job is on its way. The last three are final."""

    BLOCKED = "blocked"
    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the job has ended; a retry may bring it back."""
        return self in _FINAL


_FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


def new_job_id() -> UUID:
    """A UUIDv7: in the order they were made within a process, and about so across machines."""
    return uuid7()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be enqueued. `args` is JSON that has been checked.

    ```python
    app.enqueue(greet.prepare("Ada"))  # checked by its handler
    app.enqueue(NewJob(kind="greet", args=b'{"name": "Ada"}', queue="mail", delay=60))
    ```
    """

    kind: Name
    args: bytes = b"{}"
    id: UUID = field(default_factory=new_job_id)
    queue: Name = "default"
    priority: Number = 0
    run_at: datetime | None = None
    delay: Seconds | None = None
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 5
    max_snoozes: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] | None = None
    owner: Name | None = None
    org: Name | None = None
    unique_key: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000, pattern="^[^\\x00]+$")] | None = None
    limit_key: Name | None = None
    idempotency_key: Name | None = None
    idempotency_ttl: Annotated[float, msgspec.Meta(gt=0, le=1e9)] | None = None
    fingerprint: Name | None = None
    """What the idempotency key is for, where that is not the job itself: the request, say, that it was made of."""
    after: tuple[UUID, ...] = ()
    parent: UUID | None = None
    weight: Annotated[float, msgspec.Meta(gt=0, lt=1e30)] | None = None
    phase: Name | None = None
    rollup: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    quota: str | Literal[False] | None = None
    """Which of its owner's quotas it counts against while it runs; None is its kind's, False is none."""

    def __post_init__(self) -> None:
        if self.run_at is not None:
            if not isinstance(self.run_at, datetime):
                raise InvalidInput("run_at", f"must be a datetime, not {self.run_at!r}")
            if self.run_at.tzinfo is None:
                raise InvalidInput("run_at", "needs a time zone, e.g. datetime.now(UTC) + timedelta(hours=1)")
            if self.delay is not None:
                raise InvalidInput("delay", "give either delay or run_at, not both")
        if self.delay is not None and not (isinstance(self.delay, int | float) and 0 <= self.delay < 1e10):
            raise InvalidInput("delay", f"must be between 0 and 1e10 seconds, not {self.delay!r}")
        for name, least in (("priority", -(2**31)), ("max_attempts", 1), ("max_snoozes", 0)):
            number = getattr(self, name)
            if number is None and name == "max_snoozes":
                continue
            if not isinstance(number, int) or isinstance(number, bool) or not least <= number < 2**31:
                raise InvalidInput(name, f"must be a whole number from {least} to {2**31 - 1}, not {number!r}")
        if self.weight is not None and not 0 < self.weight < 1e30:
            raise InvalidInput("weight", "must be positive")
        for name in ("kind", "queue", "owner", "org", "unique_key", "limit_key", "idempotency_key", "phase"):
            text = getattr(self, name)
            if text is None and name not in ("kind", "queue"):
                continue
            if not isinstance(text, str):
                raise InvalidInput(name, f"must be text, not {text!r}")
            if text == "" or "\x00" in text or not _is_unicode(text):
                raise InvalidInput(name, "must not be empty, contain NUL or lone surrogates")

    def to_json(self) -> dict[str, Any]:
        """The form `enqueue_jobs` reads: fields that say something."""
        document = {name: value for name in _OPTIONAL if (value := getattr(self, name)) is not None}
        document |= {"id": self.id, "kind": self.kind, "args": msgspec.Raw(self.args), "queue": self.queue}
        document |= {"priority": self.priority, "max_attempts": self.max_attempts}
        if self.after:
            document["after"] = self.after
        return document

    @property
    def plain(self) -> bool:
        """Nothing about it needs a look at other rows, so COPY may write it."""
        return _not_plain(self) == _UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedJob(NewJob, Generic[R_co]):
    """A job that a handler has prepared, which knows what its function returns."""

    function: Callable[..., R_co] | None = field(default=None, repr=False, compare=False)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


PLAIN = ("delay", *(column.name for column in SHORT))
"""The fields that the short ways of enqueueing know, COPY and `enqueue_plain`. A job that uses any other goes the long
way, so that none is forgotten."""

DEFAULTS = {each.name: each.default for each in fields(NewJob)}
"""What a field is that says nothing. Columns of the short ways have the same default: what says nothing is not sent."""

_not_plain = attrgetter(*(each.name for each in fields(NewJob) if each.name not in PLAIN))
_UNSET = tuple(default for name, default in DEFAULTS.items() if name not in PLAIN)
_OPTIONAL = tuple(name for name, default in DEFAULTS.items() if default is None)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What enqueueing gave: the job's id, and whether this call created it."""

    id: UUID
    created: bool


class Held(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A job in a worker's hands: `claims` of its claim, with the lease, fences what is said about it."""

    id: UUID
    claims: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class ClaimedJob(msgspec.Struct, frozen=True, gc=False):
    """A job a worker holds. `(lease, claims)` fences whatever it reports about it.

    A msgspec struct, because thousands a second are made: 0.2 µs each, where a frozen dataclass takes 3.

    ```python
    @app.job
    async def look(ctx: Context) -> str:
        return f"{ctx.job.kind}, claimed {ctx.job.claims} times, for {ctx.job.owner}"
    ```
    """

    id: UUID
    kind: str
    priority: int
    turn: int
    attempt: int
    max_attempts: int
    claims: int
    snoozes: int
    owner: str | None
    org: str | None
    parent: UUID | None
    created_at: datetime
    args: str
    options: str | None

    @property
    def held(self) -> Held:
        """How a report about it names this run."""
        return Held(self.id, self.claims)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything on record about a job, live or finished.

    ```python
    job = greet.enqueue("Ada").refresh()
    print(job.state, job.percent, job.last_error)  # ready 0.0 None
    ```
    """

    id: UUID
    queue: str
    kind: str
    state: JobState
    priority: int
    attempt: int
    max_attempts: int
    snoozes: int
    max_snoozes: int | None
    waiting_on: int
    parent: UUID | None
    owner: str | None
    org: str | None
    unique_key: str | None
    limit_key: str | None
    phase: str | None
    weight: float | None
    cancel_requested: bool
    args: dict[str, Any]
    progress: dict[str, Any]
    errors: list[dict[str, Any]]
    options: dict[str, Any]
    output: Any
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    parked_since: datetime | None
    parked_reason: str | None
    """Why it waits for another worker: those that met it do not know its kind or its arguments."""

    @property
    def percent(self) -> float:
        """How far it is: what its handler or its flow reported, and 100 when it has succeeded."""
        return 100.0 if self.state is JobState.SUCCEEDED else float(self.progress.get("percent", 0))

    @property
    def last_error(self) -> str | None:
        """What its last attempt that failed has said."""
        return self.errors[-1]["error"] if self.errors else None

    @property
    def shown_error(self) -> str | None:
        """The same in words meant for users."""
        return shown(self.errors[-1]) if self.errors else None

    @property
    def age_s(self) -> float:
        """Seconds since it was enqueued."""
        return (datetime.now(UTC) - self.created_at).total_seconds()


_OUT_OF_TIME = re.compile(
    r"timed out after [\d.e+-]+ s|did not end within [\d.e+-]+ s, the budget of the tick that ran it"
)


def shown(error: Mapping[str, Any]) -> str | None:
    """An attempt's error in words for users, as the database's `penstock.shown` has it: of an exception only that there
    was one, for its text may hold SQL, paths or secrets. That of a time that is over holds none."""
    text: str | None = error.get("error")
    if "traceback" in error:
        return text if _OUT_OF_TIME.fullmatch(text or "") else "it failed by an internal error"
    if error.get("type") == "Parked":
        return "no worker could run it"
    if text and text.startswith("worker ") and text.endswith(" was lost: its lease ran out"):
        return "its worker was lost"
    return text


@dataclass(frozen=True, slots=True)
class Bulk:
    """Many jobs alike but for their arguments."""

    template: NewJob
    args: Sequence[bytes]
    # as bytes: a UUID object costs another 2 µs a job
    ids: Sequence[bytes]

    @classmethod
    def of(cls, template: NewJob, args: Sequence[bytes]) -> "Bulk":
        return cls(template, args, [plain_uuid7().bytes for _ in args])

    def jobs(self) -> list[NewJob]:
        return [
            replace(self.template, id=UUID(bytes=id), args=args) for id, args in zip(self.ids, self.args, strict=True)
        ]


class AllCreated(Sequence[Enqueued]):
    """What COPY gave: every job is new. Made into objects as they are looked at."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Enqueued: ...
    @overload
    def __getitem__(self, index: slice) -> "AllCreated": ...
    def __getitem__(self, index: int | slice) -> "Enqueued | AllCreated":
        if isinstance(index, slice):
            return AllCreated(self._ids[index])
        return Enqueued(UUID(bytes=self._ids[index]), True)


Work = Sequence[NewJob] | Bulk


def ids_of(work: Work) -> Sequence[bytes]:
    return work.ids if isinstance(work, Bulk) else [job.id.bytes for job in work]

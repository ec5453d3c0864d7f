"""Looking at jobs and changing their course: for the application, and for users on their own behalf."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from penstock.artifact import Artifact
from penstock.engine.commands.command import Command, Repeatable
from penstock.job import Enqueued, Job, JobState, NewJob


class GetJob(Repeatable[Job | None], frozen=True):
    id: UUID


class ListJobs(Repeatable[list[Job]], frozen=True):
    filter: Mapping[str, Any]
    before: UUID | None
    limit: int


class SearchPage(msgspec.Struct, frozen=True):
    """Jobs, newest first, as far as the search came: pass `next` as `before` to go on. None when it came to the end.

    ```python
    page = app.jobs.search(error="timed out")
    while page.next and len(page.jobs) < 50:
        print("searched back to", page.searched_back_to)
        page = app.jobs.search(error="timed out", before=page.next)
    ```
    """

    jobs: list[Job]
    next: UUID | None
    searched_back_to: datetime | None


class SearchJobs(Repeatable[SearchPage], frozen=True):
    filter: Mapping[str, Any]
    before: UUID | None = None
    limit: int = 50


class Watch(Repeatable[bool], frozen=True):
    """Asks for notifications about a job; False when it is finished or unknown."""

    id: UUID


class Cancel(Repeatable[list[UUID]], frozen=True):
    ids: Sequence[UUID]
    reason: str = "cancelled"


class Retry(Command[list[UUID]], frozen=True):
    ids: Sequence[UUID]
    queue: str | None = None


class RetryWhere(Command[list[UUID]], frozen=True):
    filter: Mapping[str, Any]
    queue: str | None = None


class PurgeWhere(Repeatable[int], frozen=True):
    filter: Mapping[str, Any]


class TreeJob(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    state: JobState


class TakenStep(msgspec.Struct, frozen=True):
    """A step of a job: done, or it `waits` for what it is about. Of a call, the first of the jobs it called. While it
    waits for an event, `output` is which; for a person, what they were asked."""

    name: str
    output: Any
    done_at: datetime
    kind: str
    waits: bool
    until: datetime | None
    jobs: Sequence["TreeJob"] | None

    @property
    def awaited(self) -> str:
        """What it waits for, for people; `until` comes after it, where there is one."""
        match self.kind:
            case "sleep":
                return "sleeps until"
            case "approval":
                told = f"waits for a person: {self.output['question']}"
            case "event":
                told = f"waits for {self.output['event']} {self.output['key']}".rstrip()
            case _:
                return f"waits for the jobs it called ({self.name})"
        return f"{told}, at most until" if self.until else told


class StepsOf(Repeatable[list[TakenStep]], frozen=True):
    """What a job has remembered of itself and waits for, in its order."""

    job: UUID


class Approve(Command[str], frozen=True):
    """Answer what a job asks, whoever was asked; a line of the audit says so. The step that was answered."""

    job: UUID
    approved: bool
    who: str
    comment: str | None = None
    step: str | None = None


class ApproveMine(Command[str | None], frozen=True):
    """The same by the job's owner, where the owner is asked. None when there is no such job of theirs."""

    job: UUID
    approved: bool
    comment: str | None = None
    step: str | None = None


class TakeCallback(Command[bool], frozen=True):
    """What a provider has called back with. False when it was taken before, or the job is over."""

    job: UUID
    step: str
    event: str
    payload: msgspec.Raw


class AskedApproval(msgspec.Struct, frozen=True):
    """What a job asks, and nobody has answered yet."""

    job: UUID
    kind: str
    queue: str
    owner: str | None
    org: str | None
    step: str
    question: str
    details: Any
    by: str
    """Who may answer besides operators and the service: `owner`, or nobody (`operator`)."""
    since: datetime
    until: datetime | None
    cursor: str


class Approvals(Repeatable[list[AskedApproval]], frozen=True):
    """What waits for a person, jobs that came first before others."""

    after: str | None = None
    limit: int = 50


class AskedOfJob(Repeatable[AskedApproval | None], frozen=True):
    """What a job asks of people."""

    job: UUID


class AskedOfMine(Repeatable[AskedApproval | None], frozen=True):
    """What a user's own job asks of them."""

    job: UUID


class EventsAt(msgspec.Struct, frozen=True):
    """How many jobs wait for an event, and how many of it are kept for whoever comes to wait; counted to 1,000."""

    event: str
    key: str
    waiting: int
    kept: int
    since: datetime
    """The oldest of them."""


class EventsOverview(Repeatable[list[EventsAt]], frozen=True):
    """By event and key, so many of them, and so many keys of one event."""

    limit: int = 100
    keys: int = 20


class JobTree(Repeatable[list[TreeJob]], frozen=True):
    """A job and everything below it."""

    job: UUID


class FlowJob(msgspec.Struct, frozen=True):
    """A job in its flow. `calls`: it has called those below it itself."""

    id: UUID
    parent: UUID | None
    kind: str
    phase: str | None
    name: str | None
    state: JobState
    percent: float
    calls: bool
    waits_for: Sequence[UUID]


class FlowJobs(Repeatable[list[FlowJob]], frozen=True):
    """A flow and the jobs below it, from the top."""

    job: UUID
    limit: int = 1000


# As their owners see them. A user's commands run under their role, where the database decides what there is to see.


class SeenJob(msgspec.Struct, frozen=True, kw_only=True):
    """`error` is why it did not succeed, in words meant to be shown."""

    id: UUID
    queue: str
    kind: str
    state: JobState
    priority: int
    attempt: int
    max_attempts: int
    parent: UUID | None
    owner: str | None
    org: str | None
    cancel_requested: bool
    args: dict[str, Any]
    progress: dict[str, Any]
    rollup: dict[str, Any] | None
    output: Any
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    artifacts: Sequence[Artifact] | None = None
    """Those of the job and of everything below it; None when they were not asked for."""
    parked_reason: str | None = None
    """For the service only: why it waits for another worker."""
    errors: Sequence[dict[str, Any]] | None = None
    """For the service only, where one job was asked for: each failed attempt's error, with its traceback."""


class SeeJob(Repeatable[SeenJob | None], frozen=True):
    id: UUID


class SeeWholeJob(Repeatable[SeenJob | None], frozen=True):
    """With the errors of its attempts, which whoever watches a job need not carry around."""

    id: UUID


class SeeMyJob(Repeatable[SeenJob | None], frozen=True):
    id: UUID


class SeeJobs(Repeatable[list[SeenJob]], frozen=True):
    filter: Mapping[str, Any]
    before: UUID | None
    limit: int


class SeenPage(msgspec.Struct, frozen=True):
    """As a SearchPage."""

    jobs: list[SeenJob]
    next: UUID | None
    searched_back_to: datetime | None


class SearchSeenJobs(Repeatable[SeenPage], frozen=True):
    filter: Mapping[str, Any]
    before: UUID | None = None
    limit: int = 50


class SeeMyJobs(Repeatable[list[SeenJob]], frozen=True):
    filter: Mapping[str, Any]
    before: UUID | None
    limit: int


class Start(Command[Enqueued], frozen=True):
    """A job of the caller's own; `args` is JSON that has been checked."""

    kind: str
    args: msgspec.Raw
    org: str | None = None
    idempotency_key: str | None = None


class StartEach(Command[list[Enqueued]], frozen=True):
    """Jobs of the caller's own, all or none, by their arguments, which are as those of Start."""

    kind: str
    args: Sequence[msgspec.Raw]
    org: str | None = None


class StartBatch(Command[list[Enqueued]], frozen=True):
    """The batch, then its jobs in their order; each is given as {"kind": …, "args": …}."""

    jobs: Sequence[Mapping[str, Any]]
    org: str | None = None
    idempotency_key: str | None = None


class StartFor(Command[list[Enqueued]], frozen=True):
    """On a user's behalf and against their quota. `by_user`: the idempotency key is the user's own."""

    owner: str
    quota: str | None
    jobs: Sequence[NewJob]
    by_user: bool = False


class CancelMine(Repeatable[bool | None], frozen=True):
    """None when the caller has no such job, False when it had ended already."""

    id: UUID


class RetryMine(Command[bool | None], frozen=True):
    """None when the caller has no such job, False when there is nothing to retry."""

    id: UUID

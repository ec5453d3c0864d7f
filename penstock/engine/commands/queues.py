"""Queues, schedules, kinds, quotas, workers, and what happens by itself."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from penstock.cron import RecordedSchedule, Schedule, Source
from penstock.engine.commands.command import Command, LeaseId, Repeatable
from penstock.job import ClaimedJob


class Queue(msgspec.Struct, frozen=True):
    """A queue as it is now. `settings` holds what was set; a queue that was never set up has none.

    ```python
    for queue in app.queues.list():
        print(queue.name, queue.ready, queue.running, queue.oldest_ready_seconds)
    ```
    """

    name: str
    paused: bool
    settings: dict[str, Any]
    blocked: int
    scheduled: int
    ready: int
    running: int
    oldest_ready_seconds: float | None
    exact: bool = True
    """False when counting stopped at the number that was asked for: there may be more jobs."""

    @classmethod
    def idle(cls, name: str) -> "Queue":
        """A queue that is empty and was never set up."""
        return cls(name, False, {}, 0, 0, 0, 0, None)


class QueueStats(Repeatable[list[Queue]], frozen=True):
    pass


class QueueOverview(Repeatable[list[Queue]], frozen=True):
    """The same, jobs counted no further than so many."""

    most: int = 10_000


class ParkedCount(msgspec.Struct, frozen=True):
    """Jobs of a queue and kind that wait for a worker which knows them, and why the first of them does."""

    queue: str
    kind: str
    jobs: int
    since: datetime
    reason: str


class ParkedJobs(Repeatable[list[ParkedCount]], frozen=True):
    pass


class QueueScale(msgspec.Struct, frozen=True):
    """What an autoscaler asks about a queue; a paused one shows nothing to do."""

    paused: bool
    ready: int
    running: int
    oldest_ready_seconds: float | None
    workers: int


class ScaleOf(Repeatable[QueueScale], frozen=True):
    queue: str


class SetQueue(Repeatable[None], frozen=True):
    name: str
    settings: Mapping[str, Any]


class DeclareQueues(Repeatable[None], frozen=True):
    """What the code says of its queues: changes them where it says something else than the last time."""

    queues: Mapping[str, Mapping[str, Any]]


class DeadCount(msgspec.Struct, frozen=True):
    queue: str
    jobs: int
    exact: bool


class DeadJobs(Repeatable[list[DeadCount]], frozen=True):
    """How many jobs on record were given up, by queue, counted no further than `most` of each."""

    most: int = 1000


class EndedCount(msgspec.Struct, frozen=True):
    queue: str
    succeeded: int
    failed: int
    retried: int
    cancelled: int


class EndedJobs(Repeatable[list[EndedCount]], frozen=True):
    """How many runs of each queue ended how, ever."""


class Total(msgspec.Struct, frozen=True):
    """Runs, seconds, failures and bytes of a kind, ever."""

    kind: str
    runs: int
    seconds: float
    failures: int
    bytes: int


class Totals(Repeatable[list[Total]], frozen=True):
    pass


class CountWorkers(Repeatable[int], frozen=True):
    """How many have a lease."""


class Usage(msgspec.Struct, frozen=True):
    """The sums of one day (UTC). `org` is empty for jobs that belong to none.

    ```python
    for usage in app.usage.list(org="acme"):
        print(usage.day, usage.kind, usage.runs, usage.seconds)
    ```
    """

    day: date
    org: str
    kind: str
    runs: int
    seconds: float
    failures: int
    bytes: int


class ListUsage(Repeatable[list[Usage]], frozen=True):
    org: str | None = None
    since: date | None = None


class UsageSum(msgspec.Struct, frozen=True):
    """What a day, an organisation or a kind has used; whoever ran longest first, and days in their order."""

    by: Literal["day", "org", "kind"]
    name: str
    runs: int
    seconds: float
    failures: int
    bytes: int


class SumUsage(Repeatable[list[UsageSum]], frozen=True):
    since: date
    org: str | None = None


# Schedules.


class RecordedSchedules(msgspec.Struct, frozen=True):
    """The engine's time, and what is on record."""

    now: datetime
    schedules: Sequence[RecordedSchedule]


class ListSchedules(Repeatable[RecordedSchedules], frozen=True):
    """The schedules of these names, or all; by name, past one name and no more than so many."""

    names: Sequence[str] | None = None
    after: str = ""
    most: int | None = None


class SchedulesDue(RecordedSchedules, frozen=True):
    """Those whose time has come, and when the next of the others is due."""

    next: datetime | None = None


class DueSchedules(Repeatable[SchedulesDue], frozen=True):
    """Of the schedules of these names, with `database` also of those that no code defines, the ones whose time has come
    or was never worked out; by name, past one name and no more than so many."""

    names: Sequence[str]
    database: bool = False
    after: str = ""
    most: int = 500


class SetSchedule(Repeatable[None], frozen=True):
    name: str
    cron: str
    kind: str
    args: Mapping[str, Any]
    tz: str
    catch_up: str
    options: Mapping[str, Any]
    source: Source
    next: datetime

    @classmethod
    def of(cls, schedule: Schedule, source: Source, next: datetime) -> "SetSchedule":
        return cls(
            schedule.name, schedule.cron, schedule.kind, schedule.args, schedule.tz, schedule.catch_up,
            schedule.options, source, next,
        )  # fmt: skip


class Tick(msgspec.Struct, frozen=True):
    """A tick of a schedule, and the one after it."""

    name: str
    at: datetime
    next: datetime


class FireSchedules(Repeatable[list[UUID | None]], frozen=True):
    """The job of each tick; None when somebody else was first, or it is not to be."""

    ticks: Sequence[Tick]


class PlanSchedules(Repeatable[None], frozen=True):
    """The next tick of each schedule that has none, or whose ticks until then are passed over."""

    names: Sequence[str]
    next: Sequence[datetime]


class RunSchedule(Command[UUID], frozen=True):
    name: str


class PauseSchedule(Repeatable[None], frozen=True):
    name: str


class ResumeSchedule(Repeatable[None], frozen=True):
    name: str
    next: datetime


class RemoveSchedule(Repeatable[bool], frozen=True):
    name: str


# Kinds and quotas.


class DeclareKinds(Repeatable[None], frozen=True):
    """Opens these kinds to users, and closes the others that are known."""

    kinds: Sequence[Mapping[str, Any]]
    known: Sequence[str]


class KnownKinds(Repeatable[list[str]], frozen=True):
    """Those that somebody is known to run: that workers have handlers of, that an application has declared, that have
    run before. None while a worker is there that does not say what it runs."""


class SetQuota(Repeatable[None], frozen=True):
    name: str
    limits: Mapping[str, int | None]


# Who works, and on what.


class RunningJob(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    queue: str
    attempt: int
    since: datetime
    seconds: float
    cancel_requested: bool


class LiveWorker(msgspec.Struct, frozen=True):
    """`heard_at` is its last heartbeat; `running` has the job first that runs longest. What it has not said is None."""

    lease: int
    worker: str
    host: str | None
    pid: int | None
    queues: Sequence[str]
    started_at: datetime
    heard_at: datetime
    running: Sequence[RunningJob]
    memory: int | None = None
    """Bytes that its process has."""
    load: float | None = None
    """Of one processor, how much it used of late."""
    slots: int | None = None
    """How many jobs it runs at once."""


class Workers(Repeatable[list[LiveWorker]], frozen=True):
    """All of them, or the one that runs this job."""

    job: UUID | None = None


def with_served(queues: Iterable[Queue], workers: Iterable[LiveWorker]) -> list[Queue]:
    """By name, those too that somebody serves and that are empty just now."""
    found = {queue.name: queue for queue in queues}
    served = {name for worker in workers for name in worker.queues}
    return [found.get(name) or Queue.idle(name) for name in sorted({*found, *served})]


# What happens by itself.


class Promote(Repeatable[int], frozen=True):
    limit: int = 1000


class NextRunAt(Repeatable[datetime | None], frozen=True):
    pass


class Reclaim(Repeatable[int], frozen=True):
    everywhere: bool = False


class Maintain(Repeatable[dict[str, int] | None], frozen=True):
    pass


class Tended(msgspec.Struct, frozen=True):
    leads: bool
    due_in: float | None
    operating: bool = False
    """Whether an operation over many jobs is under way."""
    lost: bool = False
    """Whether there are jobs for TakeLost."""


class Tend(Command[Tended], frozen=True):
    lease: LeaseId


class LostJob(msgspec.Struct, frozen=True):
    """A job that was given up because its worker was lost with the last attempt, or a flow because of its jobs."""

    job: ClaimedJob
    queue: str
    flow_failed: str | None = None
    """Why, if it is a flow that has failed without a run of its own."""


class TakeLost(Command[list[LostJob]], frozen=True):
    """Those that nobody was told of; whoever takes them tells."""

    limit: int = 100


class Channels(msgspec.Struct, frozen=True):
    """Where notifications are sent."""

    wake: str
    hand: str
    cancel: str
    job: str


class GetChannels(Repeatable[Channels], frozen=True):
    pass

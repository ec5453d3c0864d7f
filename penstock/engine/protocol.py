"""What Penstock asks of an engine. Handlers, workers and users' objects know this and no driver; a further engine is
one more folder beside `postgres`, `http` and `bullmq`, held by the conformance suite (tests/conformance)."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from penstock.engine.commands import CompleteAndEnqueue, Extended
from penstock.engine.commands.command import Command
from penstock.engine.faults import Faults, Outage
from penstock.engine.mover import Mover
from penstock.job import ClaimedJob, Enqueued, Job, Lease, Work
from penstock.keeper import Keeper

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can do. Code asks for these, never which engine it has. Each engine states all of them: one that
    is added is nobody's who did not say so."""

    transactions: bool
    """ctx.transaction(): a connection whose writes are committed with the job's completion. And jobs that are enqueued
    in a transaction of the caller's: connection=, or penstock.enqueue() in SQL."""
    leads: bool
    """Its workers do what happens by itself: due jobs, lost leases, schedules, history. Else somebody else does."""
    database: bool
    """There is SQL behind it: the server, its dashboard, jobs that move to another queue, operations that go on in the
    background."""
    users: bool
    """Users start and see jobs of their own, and no others."""
    artifacts: bool
    """Files of jobs: ctx.artifact()."""
    durable_waits: bool
    """ctx.sleep, ctx.call, ctx.wait_for and approvals: a job that leaves its worker and comes back."""
    search: bool
    """Jobs found by what they say: arguments, errors, parents, however long ago."""
    statistics: bool
    """How many runs ended how, how long they took, groups of errors, usage."""
    quotas: bool
    """How much of an owner's may run."""
    key_limits: bool
    """max_running_per_key, rate_per_key and fair_by of a queue."""
    queue_settings: bool
    """lease_length and keep of a queue."""
    catch_up: bool
    """catch_up="none" and "all" of a schedule; "one" is for every engine."""
    idempotency_keys: bool
    """idempotency_key: the same request twice is one job."""
    claim_by_kind: bool
    """A worker may take jobs of some kinds alone out of a queue."""
    after_existing: bool
    """A job may wait for jobs that were enqueued before it, and several may wait for the same one."""


class Transaction(Protocol):
    """Committed when it is said, with a job's completion for instance, or not at all."""

    connection: Any

    def run(self, command: Command[R], /) -> R: ...
    def commit(self) -> None: ...

    def complete(self, command: CompleteAndEnqueue, /) -> bool:
        """Completes the job and commits; rolls back, and False, when the job is no longer the lease's."""
        ...

    def cut(self) -> None:
        """Ends the connection at once, from any thread: nothing on it can be committed any more."""
        ...


class AsyncTransaction(Protocol):
    connection: Any

    async def run(self, command: Command[R], /) -> R: ...
    async def commit(self) -> None: ...
    async def complete(self, command: CompleteAndEnqueue, /) -> bool: ...
    def cut(self) -> None: ...


class Place(Hashable, Protocol):
    """Where an engine is: what another process needs to reach the same one. Can be pickled."""

    def engine(self) -> "Engine": ...


@dataclass(frozen=True, slots=True)
class Ears:
    """What a listener tells: of work, of a job to stop, of one that was handed to this worker, of an answer to a
    heartbeat of its own, and that something may have been missed."""

    wake: Callable[[], None]
    cancel: Callable[[UUID], None]
    hand: Callable[[str, ClaimedJob], None]
    heard: Callable[[Extended], None]
    missed: Callable[[], None]
    busy: Callable[[], bool]
    """Asked: whether the worker has jobs."""


class Hears(Protocol):
    """What keeps a lease asks of a listener."""

    heard_at: float
    """When the lease was last kept by the way (time.monotonic); 0 for a listener that does not."""

    @property
    def listening(self) -> bool:
        """Whether notifications arrive. While they do not, others poll."""
        ...

    async def run_command(self, command: Command[R], /) -> R:
        """Where it shows at the same time that the connection lives."""
        ...


class Listener(Hears, Protocol):
    """Hears of work and of cancellations."""

    lease: Lease
    connected: object
    """What a registration is worth: it ends with this."""

    async def register(self, queue: str) -> float | None:
        """Asks to be woken for a queue; in how many seconds to look again all the same, if that is known."""
        ...

    async def unregister(self, queue: str) -> None: ...
    async def unregister_all(self) -> None: ...

    async def settle(self) -> None:
        """Waits until it is known whether notifications arrive here; not long, for the engine may be away."""
        ...

    def start(self) -> None: ...
    async def stop(self) -> None: ...


class Engine(Protocol):
    """Runs commands. What it does not know, or cannot do, raises EngineCannot, which says what to do."""

    faults: Faults
    outage: Outage

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    @property
    def keeper(self) -> Keeper | None:
        """Takes the files of running jobs, where the engine has a way of its own."""
        ...

    def run(self, command: Command[R], /) -> R: ...
    async def arun(self, command: Command[R], /) -> R: ...

    def enqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        """All of it or none; on the caller's connection, if one is given, in the caller's transaction."""
        ...

    async def aenqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]: ...

    def wait(self, id: UUID, timeout: float | None) -> Job | None:
        """The job once it has ended; None when there is no such job."""
        ...

    async def await_end(self, id: UUID, timeout: float | None) -> Job | None: ...  # noqa: ASYNC109 - the twin

    def transaction(self) -> AbstractContextManager[Transaction]: ...
    def atransaction(self) -> AbstractAsyncContextManager[AsyncTransaction]: ...

    @property
    def place(self) -> Place: ...

    def of_worker(self, answer_timeout: float | None) -> "Engine":
        """The same with connections of its own, where an answer that takes longer than so many seconds is given up."""
        ...

    def listener(self, ears: Ears) -> Listener: ...

    def mover(self) -> Mover:
        """Moves jobs out of it and in."""
        ...

    async def leave_loop(self) -> None:
        """Closes what is open for the running event loop, which is about to end."""
        ...

    def close(self) -> None: ...
    async def aclose(self) -> None: ...

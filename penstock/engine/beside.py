"""Jobs in one engine and a database beside it, where files of jobs are on record. There is no transaction over both;
whoever writes to both does so in an order that can be repeated."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.commands.artifacts import UPLOAD
from penstock.engine.commands.command import Command
from penstock.engine.faults import Faults
from penstock.engine.mover import Mover
from penstock.engine.protocol import AsyncTransaction, Capabilities, Ears, Engine, Listener, Place, Transaction
from penstock.engine.script import Script, arun, run
from penstock.errors import EngineCannot, LeaseLost
from penstock.job import Enqueued, Job, Lease, Work
from penstock.keeper import Keeper

R = TypeVar("R")


def _is_kept_there(command: Command[Any]) -> bool:
    return type(command).__module__ == c.BeginArtifact.__module__


def _number(lease: int, claims: int) -> int:
    """A run's, in place of an upload's: below zero, so that it is nobody's lease there, and another with each claim."""
    return -1 - (lease << 24 | claims & 0xFFFFFF)


def _held(lease: int, job: UUID, claims: int) -> c.Holds:
    return c.Holds(Lease(lease), job, claims)


def _begin(asked: c.BeginArtifact) -> Script[c.Announced]:
    job: Job | None = yield c.GetJob(asked.job)
    if job is None or not (yield _held(asked.lease, asked.job, asked.claims)):
        raise LeaseLost(f"job {asked.job} is no longer this worker's: its artifact {asked.name} is not kept")
    said = {name: getattr(asked, name) for name in asked.__struct_fields__ if name not in ("lease", "claims")}
    number = _number(asked.lease, asked.claims)
    announced: c.Announced = yield c.AnnounceArtifact(
        **said, lease=number, claims=UPLOAD, owner=job.owner, org=job.org, kind=job.kind, quota=None
    )
    return announced


def _store(asked: c.StoreArtifact) -> Script[object]:
    """Not when the job is another worker's by now, whose file it may be. One who takes it from here on writes anew."""
    if not (yield _held(asked.lease, asked.job, asked.claims)):
        return None
    number = _number(asked.lease, asked.claims)
    return (yield c.ConfirmArtifact(number, asked.job, UPLOAD, asked.id, asked.size, asked.digest))


def _is_writing(asked: c.IsWriting) -> Script[bool]:
    held: bool = yield _held(asked.lease, asked.job, asked.claims)
    return held and (yield c.IsUploading(_number(asked.lease, asked.claims), asked.id))


def _withdraw(asked: c.WithdrawArtifact) -> Script[None]:
    yield c.WithdrawArtifact(_number(asked.lease, asked.claims), UPLOAD, asked.id)


def _abandon(asked: c.AbandonArtifact) -> Script[object]:
    return (yield c.AbandonArtifact(_number(asked.lease, asked.claims), UPLOAD, asked.path))


def _of_job(asked: c.ArtifactsOfJob) -> Script[object]:
    """The database does not know which jobs are below it."""
    tree: list[c.TreeJob] = yield c.JobTree(asked.job)
    return (yield c.ArtifactsOfJobs([job.id for job in tree]))


def _see(asked: c.SeeJob | c.SeeWholeJob) -> Script[c.SeenJob | None]:
    job: c.SeenJob | None = yield asked
    if job is None:
        return None
    return msgspec.structs.replace(job, artifacts=(yield from _of_job(c.ArtifactsOfJob(job.id))))


def _script(command: Command[Any]) -> Script[Any] | None:
    """Of a command that takes both; those which it yields take one each."""
    match command:
        case c.BeginArtifact():
            return _begin(command)
        case c.StoreArtifact():
            return _store(command)
        case c.IsWriting():
            return _is_writing(command)
        case c.WithdrawArtifact() if command.claims != UPLOAD:
            return _withdraw(command)
        case c.AbandonArtifact() if command.claims != UPLOAD:
            return _abandon(command)
        case c.ArtifactsOfJob():
            return _of_job(command)
        case c.SeeJob() | c.SeeWholeJob():
            return _see(command)
    return None


class EngineBeside:
    """`jobs` are there, and the rest in `database`, if that is `there`: which may be known later."""

    keeper: Keeper | None = None

    def __init__(self, jobs: Engine, database: Engine, there: Callable[[], bool] = lambda: True) -> None:
        self.jobs = jobs
        self.database = database
        self._there = there
        theirs, ours = database.faults, jobs.faults
        self.faults = Faults(
            passing=ours.passing + theirs.passing,
            unstorable=ours.unstorable + theirs.unstorable,
            is_lost=lambda error: ours.is_lost(error) or theirs.is_lost(error),
        )
        self.outage = jobs.outage

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.jobs.capabilities, artifacts=self._there())

    def run(self, command: Command[R], /) -> R:
        script = self._script(command)
        return self._run(command) if script is None else run(self._run, script)

    async def arun(self, command: Command[R], /) -> R:
        script = self._script(command)
        return await self._arun(command) if script is None else await arun(self._arun, script)

    def _script(self, command: Command[R]) -> Script[R] | None:
        return _script(command) if self._there() else None

    def _run(self, command: Command[R]) -> R:
        return self._for(command).run(command)

    async def _arun(self, command: Command[R]) -> R:
        return await self._for(command).arun(command)

    def _for(self, command: Command[Any]) -> Engine:
        return self.database if _is_kept_there(command) and self._there() else self.jobs

    def enqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        return self.jobs.enqueue(work, connection)

    async def aenqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        return await self.jobs.aenqueue(work, connection)

    def wait(self, id: UUID, timeout: float | None) -> Job | None:
        return self.jobs.wait(id, timeout)

    async def await_end(self, id: UUID, timeout: float | None) -> Job | None:  # noqa: ASYNC109 - the twin
        return await self.jobs.await_end(id, timeout)

    @contextmanager
    def transaction(self) -> Iterator["TransactionBeside"]:
        """The database's."""
        self._refuse_none()
        with self.database.transaction() as transaction:
            yield TransactionBeside(self, transaction)

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator["AsyncTransactionBeside"]:
        self._refuse_none()
        async with self.database.atransaction() as transaction:
            yield AsyncTransactionBeside(self, transaction)

    def _refuse_none(self) -> None:
        if not self._there():
            raise completes_nothing()

    @property
    def place(self) -> "Place":
        if not self._there():
            return self.jobs.place
        return PlaceBeside(self.jobs.place, self.database.place)

    def of_worker(self, answer_timeout: float | None) -> "EngineBeside":
        # the application's connections to the database: those of workers are cut when a slow store holds them
        return EngineBeside(self.jobs.of_worker(answer_timeout), self.database, self._there)

    def listener(self, ears: Ears) -> Listener:
        return self.jobs.listener(ears)

    def mover(self) -> Mover:
        return self.jobs.mover()

    # the database is whose it was before
    def close(self) -> None:
        self.jobs.close()

    async def leave_loop(self) -> None:
        await self.jobs.leave_loop()
        await self.database.leave_loop()

    async def aclose(self) -> None:
        await self.jobs.aclose()


class TransactionBeside:
    """What the database has to do is done when it is committed; what the jobs' engine has to do, at once."""

    def __init__(self, engine: EngineBeside, inner: Transaction) -> None:
        self._engine = engine
        self._inner = inner
        self.connection = inner.connection

    def run(self, command: Command[R], /) -> R:
        return self._inner.run(command) if _is_kept_there(command) else self._engine.run(command)

    def commit(self) -> None:
        self._inner.commit()

    # by hand: in the same words
    def complete(self, command: c.CompleteAndEnqueue, /) -> NoReturn:
        del command
        raise completes_nothing()

    def cut(self) -> None:
        self._inner.cut()


class AsyncTransactionBeside:
    def __init__(self, engine: EngineBeside, inner: AsyncTransaction) -> None:
        self._engine = engine
        self._inner = inner
        self.connection = inner.connection

    async def run(self, command: Command[R], /) -> R:
        return await self._inner.run(command) if _is_kept_there(command) else await self._engine.arun(command)

    async def commit(self) -> None:
        await self._inner.commit()

    async def complete(self, command: c.CompleteAndEnqueue, /) -> NoReturn:
        del command
        raise completes_nothing()

    def cut(self) -> None:
        self._inner.cut()


def completes_nothing() -> EngineCannot:
    return EngineCannot(
        "transactions",
        "ctx.transaction() is committed with the job's completion, and these jobs are not in that database: write in "
        "app.atransaction() before the handler returns, and let it bear being run twice",
    )


@dataclass(frozen=True, slots=True)
class PlaceBeside:
    jobs: Place
    database: Place

    def engine(self) -> EngineBeside:
        return EngineBeside(self.jobs.engine(), self.database.engine())

"""Contexts of a run without a queue: steps and outputs are kept in memory, only a transaction is real."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast
from uuid import UUID

from penstock.artifact import Artifact, ArtifactState, NewArtifact
from penstock.context import Context, Earlier, Report, SyncContext
from penstock.embedded import EmbeddedError
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExists, PenstockError
from penstock.job import ClaimedJob, JobState, Lease, NewJob
from penstock.json import encode_output, loads
from penstock.keeper import achunks_of, chunks_of
from penstock.outcome import Cancel, Fail
from penstock.replay import Asking, Replay
from penstock.storage import PutChoices, Source
from penstock.storage.job_files import checked_metadata
from penstock.wait_results import Approval, Called

if TYPE_CHECKING:
    import psycopg


class MemoryKeeper:
    """Checks like the real one, and keeps each file's bytes by its name."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def put(self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]) -> Artifact:
        del lease
        new = self._checked(job, name, choices)
        chunks = chunks_of(data)
        contents = chunks if isinstance(chunks, bytes) else b"".join(chunks)
        return self._kept(job, new, contents)

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact:
        del lease
        new = self._checked(job, name, choices)
        chunks = achunks_of(data)
        contents = chunks if isinstance(chunks, bytes) else b"".join([chunk async for chunk in chunks])
        return self._kept(job, new, contents)

    def _checked(self, job: ClaimedJob, name: str, choices: PutChoices) -> NewArtifact:
        choices["metadata"] = checked_metadata(choices.get("metadata"))
        new = NewArtifact.of(job.owner, job.id, name, org=job.org, **choices)
        if name in self._files and not new.overwrite:
            raise ArtifactExists(f"there is an artifact {new.path} already")
        return new

    def _kept(self, job: ClaimedJob, new: NewArtifact, contents: bytes) -> Artifact:
        self._files[new.name] = contents
        now = datetime.now(UTC)
        return Artifact(
            id=new.id, job=job.id, owner=job.owner, org=job.org, kind=job.kind, name=new.name, type=new.type,
            path=new.path, content_type=new.content_type, size=len(contents), duration=new.duration,
            metadata=None if new.metadata is None else dict(new.metadata), state=ArtifactState.STORED,
            created_at=now, stored_at=now,
            expires_at=None if new.expires_in is None else now + timedelta(seconds=new.expires_in),
            downloads=0, digest=hashlib.sha256(contents).hexdigest(),
        )  # fmt: skip


T = TypeVar("T")

_NO_LEASE = Lease(0)
_HELLO = commands.NextRunAt()
_NO_SERVER = ("https://penstock.invalid", "run_inline")


@dataclass(slots=True)
class Notes:
    """What a run finds, and what it leaves."""

    outputs: list[Earlier]
    steps: dict[str, Any]
    events: dict[str | tuple[str, str], list[Any]] = field(default_factory=dict)
    """Payloads by the event, or by the event and its key, in the order they are received."""
    answers: dict[str, bool | Approval] = field(default_factory=dict)
    """By the question."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    progress: list[Report] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    called: dict[UUID, NewJob] = field(default_factory=dict)

    def time(self) -> datetime:
        return self.now

    def beside_each_other(self, jobs: Iterable[NewJob]) -> Iterator[NewJob]:
        """Each begins now, and when the last one has ended it is as late as that."""
        begin = end = self.now
        for job in jobs:
            self.now = begin
            yield job
            end = max(end, self.now)
        self.now = end

    def answer(self, command: Command[Any]) -> Any:
        """What an engine would say of the job's steps."""
        match command:
            case commands.RecallSteps():
                return [commands.Step(name, output) for name, output in self.steps.items()]
            case commands.RememberStep(name=name, output=output):
                self.steps[name] = loads(bytes(output))
                return True
            case commands.Suspend(step=step):
                return self._wait(step)
            case _:
                raise NotImplementedError(f"run_inline does not know {type(command).__name__}")

    def _wait(self, step: commands.WaitingStep) -> commands.SuspendedJob | None:
        """What a job that waits finds when it comes back; None when that would never come."""
        found: dict[str, Any] = {}
        if step.kind == "sleep":
            self.now = max(self.now, step.until or self.now + timedelta(seconds=step.seconds or 0))
        elif step.kind == "approval":
            answer = self.answers.get(step.about["question"])
            if isinstance(answer, Approval):
                if step.timeout is None or answer.at <= self.now + timedelta(seconds=step.timeout):
                    found = {"payload": {"approved": answer.approved, "by": answer.by, "comment": answer.comment}}
                    found["emitted_at"] = answer.at
                    self.now = max(self.now, answer.at)
            elif answer is not None:
                found = {"payload": {"approved": answer, "by": "tester"}}
        else:
            name, key = step.event or "", step.key or ""
            kept = next((each for each in (self.events.get((name, key)), self.events.get(name)) if each), None)
            if kept:
                found = {"payload": kept.pop(0)}
        if found:
            found.setdefault("emitted_at", self.now)
        elif step.kind != "sleep":
            if step.timeout is None:
                return None
            self.now += timedelta(seconds=step.timeout)
        return commands.SuspendedJob(JobState.RUNNING, output=found)


def _came_of(job: NewJob, output: object, error: BaseException | None = None) -> dict[str, Any]:
    state, told, raised = JobState.SUCCEEDED, None, None
    if isinstance(error, Cancel):
        state, told = JobState.CANCELLED, str(error)
    elif error is not None:
        state, raised = JobState.FAILED, type(error).__name__
        told = str(error) or raised
    return {"id": str(job.id), "kind": job.kind, "state": state, "output": output, "error": told, "type": raised}


class _InlineReplay(Replay):
    """Keeps the jobs that are called, as they know their function."""

    def __init__(self, job: ClaimedJob, notes: Notes) -> None:
        super().__init__(job, _NO_LEASE, fresh=False)
        self._notes = notes

    def call(self, name: str, jobs: Sequence[NewJob], said: commands.Progress | None) -> Asking[list[Called]]:
        self._notes.called |= {job.id: job for job in jobs}
        return super().call(name, jobs, said)


class InlineContext(Context):
    _called_back_at = _NO_SERVER

    def __init__(self, job: ClaimedJob, engine: Engine, notes: Notes, run: Callable[[NewJob], Awaitable[Any]]) -> None:
        super().__init__(job, _NO_LEASE, engine, notes.progress.append, MemoryKeeper(notes.artifacts))
        self._notes = notes
        self._replay = _InlineReplay(job, notes)
        self._run = run

    @property
    def enqueued(self) -> list[NewJob]:
        return self._to_enqueue

    async def outputs(self) -> list[Earlier]:
        return list(self._notes.outputs)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["psycopg.AsyncConnection[Any]"]:
        if self._transaction is None:
            with _explained(self._engine):
                await self._engine.arun(_HELLO)
        async with super().transaction() as connection:
            yield connection

    async def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction; there is no job to complete with it."""
        del output
        async with self._held:
            if self._transaction is not None:
                await self._transaction.connection.execute("commit")
        return True

    async def now(self) -> datetime:
        return await self.step(self._replay.names.in_order("now"), self._notes.time)

    async def _ask(self, command: Command[T]) -> T:
        if isinstance(command, commands.Suspend) and command.step.kind == "call":
            called = self._notes.beside_each_other(self._notes.called[id] for id in command.step.ids or ())
            output = {"jobs": [await self._of_called(job) for job in called]}
            return cast("T", commands.SuspendedJob(JobState.RUNNING, output=output))
        return cast("T", self._notes.answer(command))

    async def _of_called(self, job: NewJob) -> dict[str, Any]:
        try:
            return _came_of(job, loads(encode_output(await self._run(job))))
        except (Exception, Cancel, Fail) as error:
            return _came_of(job, None, error)


class SyncInlineContext(SyncContext):
    _called_back_at = _NO_SERVER

    def __init__(self, job: ClaimedJob, engine: Engine, notes: Notes, run: Callable[[NewJob], Any]) -> None:
        super().__init__(job, _NO_LEASE, engine, notes.progress.append, MemoryKeeper(notes.artifacts))
        self._notes = notes
        self._replay = _InlineReplay(job, notes)
        self._run = run

    @property
    def enqueued(self) -> list[NewJob]:
        return self._to_enqueue

    def outputs(self) -> list[Earlier]:
        return list(self._notes.outputs)

    @contextmanager
    def transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        if self._transaction is None:
            with _explained(self._engine):
                self._engine.run(_HELLO)
        with super().transaction() as connection:
            yield connection

    def complete(self, output: bytes | None) -> bool:
        """Commits the handler's transaction; there is no job to complete with it."""
        del output
        with self._held:
            if self._transaction is not None:
                self._transaction.connection.execute("commit")
        return True

    def now(self) -> datetime:
        return self.step(self._replay.names.in_order("now"), self._notes.time)

    def _ask(self, command: Command[T]) -> T:
        if isinstance(command, commands.Suspend) and command.step.kind == "call":
            called = self._notes.beside_each_other(self._notes.called[id] for id in command.step.ids or ())
            output = {"jobs": [self._of_called(job) for job in called]}
            return cast("T", commands.SuspendedJob(JobState.RUNNING, output=output))
        return cast("T", self._notes.answer(command))

    def _of_called(self, job: NewJob) -> dict[str, Any]:
        try:
            return _came_of(job, loads(encode_output(self._run(job))))
        except (Exception, Cancel, Fail) as error:
            return _came_of(job, None, error)


@contextmanager
def _explained(engine: Engine) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not isinstance(error, (*engine.faults.passing, EmbeddedError)):
            raise
        raise PenstockError(
            f"ctx.transaction() needs the app's database, which cannot be reached: {error}; "
            "in a test, penstock_database.use(app) gives it one"
        ) from error

"""Contexts of a run without a queue: steps and outputs are kept in memory, only a transaction is real."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from penstock.artifact import Artifact, ArtifactState, NewArtifact
from penstock.context import Context, Earlier, Report, SyncContext
from penstock.embedded import EmbeddedError
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExists, PenstockError
from penstock.job import ClaimedJob, Lease, NewJob
from penstock.json import loads
from penstock.keeper import achunks_of, chunks_of
from penstock.replay import Replay
from penstock.storage import PutChoices, Source
from penstock.storage.job_files import checked_metadata

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


@dataclass(slots=True)
class Notes:
    """What a run finds, and what it leaves."""

    outputs: list[Earlier]
    steps: dict[str, Any]
    progress: list[Report] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)

    def answer(self, command: Command[Any]) -> Any:
        """What an engine would say of the job's steps."""
        match command:
            case commands.RecallSteps():
                return [commands.Step(name, output) for name, output in self.steps.items()]
            case commands.RememberStep(name=name, output=output):
                self.steps[name] = loads(bytes(output))
                return True
            case _:
                raise NotImplementedError(f"run_inline does not know {type(command).__name__}")


class InlineContext(Context):
    def __init__(self, job: ClaimedJob, engine: Engine, notes: Notes) -> None:
        super().__init__(job, _NO_LEASE, engine, notes.progress.append, MemoryKeeper(notes.artifacts))
        self._notes = notes
        self._replay = Replay(job, _NO_LEASE, fresh=False)

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

    async def _ask(self, command: Command[T]) -> T:
        return cast("T", self._notes.answer(command))


class SyncInlineContext(SyncContext):
    def __init__(self, job: ClaimedJob, engine: Engine, notes: Notes) -> None:
        super().__init__(job, _NO_LEASE, engine, notes.progress.append, MemoryKeeper(notes.artifacts))
        self._notes = notes
        self._replay = Replay(job, _NO_LEASE, fresh=False)

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

    def _ask(self, command: Command[T]) -> T:
        return cast("T", self._notes.answer(command))


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

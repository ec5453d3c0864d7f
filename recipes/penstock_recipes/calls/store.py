"""A call and its files: where each is, whether it is there, and what the database is told of it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

import msgspec

from penstock import Artifact, Context, Penstock
from penstock_recipes.calls.decoder import AudioFacts

if TYPE_CHECKING:
    import psycopg

Type = Literal["raw", "audio", "ogg", "transcript", "analysis"]
NAMES: Mapping[Type, str] = {
    "raw": "raw",
    "audio": "audio.flac",
    "ogg": "audio.ogg",
    "transcript": "transcript.json",
    "analysis": "analysis.json",
}
WHILE_IT_TAKES = 7 * 24 * 3600.0
"""Seconds that a file is kept which is only there to be worked on. It goes as soon as it is of no more use; this is for
what nobody came back to."""
_LOCK_TIMEOUT = "10s"


@dataclass(frozen=True, slots=True)
class Call:
    org: UUID
    id: UUID
    tries: int = 1
    """How often it was begun from the start, by an upload and by whoever asked to try again."""

    def path(self, type: Type) -> str:
        """Within the organisation's folder; the same for every attempt."""
        return f"{self.id}/{NAMES[type]}"

    def whole_path(self, type: Type) -> str:
        return f"_{self.org}/{self.path(type)}"

    @property
    def name_at_provider(self) -> str:
        """Another one each time it is begun from the start: a provider may answer with the operation that failed."""
        return f"{self.org}/{self.id}/{self.tries}.ogg"


@dataclass(frozen=True, slots=True)
class File:
    """What a stage needs to know of a stored file."""

    id: UUID
    path: str
    metadata: Mapping[str, Any] | None

    @classmethod
    def of(cls, artifact: Artifact) -> "File":
        return cls(artifact.id, artifact.path, artifact.metadata)

    @property
    def facts(self) -> AudioFacts:
        """What was noted about a file of sound when it was made."""
        return msgspec.convert(self.metadata, AudioFacts)


class Deleted(Exception):
    """The call is no more."""


class Gone(Exception):
    """A file that is needed is not there any more, and cannot be made again here; the message is for people."""


class Full(Exception):
    """An organisation keeps as much as it may; the message is for people."""


async def check_room(
    app: Penstock, org: UUID, max_org_bytes: int | None, more: int = 0, *, without: Sequence[str] = ()
) -> None:
    """Raises Full when the files of an organisation's calls take more than they may, or would; `without` those at paths
    that are about to be replaced."""
    if max_org_bytes is None:
        return
    async with app.atransaction() as connection:
        rows = await connection.execute(
            """
            select coalesce(pg_catalog.sum(size), 0)::bigint
              from penstock.artifacts_view
             where org = %s and state <> 'removing' and (expires_at is null or expires_at > pg_catalog.now())
               and type = any(%s) and pg_catalog.split_part(path, '/', 3) = any(%s) and path <> all(%s)
            """,
            [str(org), list(NAMES), list(NAMES.values()), list(without)],
        )
        [(used,)] = await rows.fetchall()
    if used + more > max_org_bytes:
        kept = f"storage: {used:,} of {max_org_bytes:,} bytes of your organisation's calls are used"
        needed = f", and {more:,} more are needed" if more else ""
        raise Full(f"{kept}{needed}; delete calls that you no longer need")


class CallFiles:
    def __init__(self, app: Penstock, max_org_bytes: int | None = None) -> None:
        self._app = app
        self._max_org_bytes = max_org_bytes

    async def look_up(
        self, org: UUID, id: UUID, *types: Type, flow: UUID | None = None
    ) -> tuple[Call, dict[Type, File]]:
        """A call, and those of these files that are there: on record, and in the store. Raises Deleted; also when the
        call knows nothing of the `flow`, because whoever enqueued it could not say so."""
        async with self._app.atransaction() as connection:
            await settled(self._app, connection, id)
            rows = await connection.execute(
                "select tries, job_id from calls.calls where id = %s and org_id = %s", [id, org]
            )
            known = await rows.fetchone()
        if known is None or flow not in (None, known[1]):
            raise Deleted
        call = Call(org, id, known[0])
        stored = await self._stored(call, types)
        return call, {type: file for type, file in stored.items() if await self._is_there(file)}

    async def is_gone(self, call: Call) -> bool:
        """Whether it was deleted, and not only about to be."""
        async with self._app.atransaction() as connection:
            await settled(self._app, connection, call.id)
            return (await connection.execute("select from calls.calls where id = %s", [call.id])).rowcount == 0

    async def is_worked_on(self, flow: UUID) -> bool:
        """Whether any job of its flow has not ended yet."""
        jobs = (await self._app.jobs.alist(parent=flow)).jobs
        last = await self._app.jobs.aget(flow)
        return any(not job.state.final for job in [*jobs, *([last] if last else [])])

    async def fetch(self, file: File, to: Path) -> Path:
        """Brings a file onto this machine, however large it is."""
        # not opened in a thread: cancelled meanwhile, nobody would have it to close
        with to.open("wb") as opened:
            async for chunk in self._app.artifacts.aopen(file.id):
                await asyncio.to_thread(opened.write, chunk)
        return to

    async def read(self, file: File) -> bytes:
        return await self._app.artifacts.aread(file.id)

    async def put(
        self,
        ctx: Context,
        call: Call,
        type: Type,
        made: Path | bytes,
        content_type: str,
        *,
        facts: AudioFacts | None = None,
        seconds: float | None = None,
        expires_in: float | None = None,
        instead_of: Type | None = None,
    ) -> File:
        """Stores what a stage has made, if there is room for it when the file that it replaces is gone."""
        without = [call.whole_path(each) for each in (type, instead_of) if each is not None]
        await check_room(self._app, call.org, self._max_org_bytes, _size_of(made), without=without)
        artifact = await ctx.artifacts.put(
            NAMES[type], made, type=type, content_type=content_type, path=call.path(type), expires_in=expires_in,
            duration=facts.seconds if facts else seconds, metadata=msgspec.to_builtins(facts) if facts else None,
        )  # fmt: skip
        return File.of(artifact)

    async def remove(self, call: Call, *types: Type) -> None:
        """Whichever of them there are, even if only on record."""
        stored = await self._stored(call, types)
        if stored:
            await self._app.artifacts.adelete(*(file.id for file in stored.values()))

    async def _stored(self, call: Call, types: Sequence[Type]) -> dict[Type, File]:
        """By their paths: a run that was killed may have stored a file and told nobody."""
        found = {type: await self._app.artifacts.afind(path=call.whole_path(type)) for type in types}
        return {type: File.of(each) for type, each in found.items() if each is not None and not each.expired}

    async def _is_there(self, file: File) -> bool:
        try:
            await self._app.artifacts.store.aopen(file.path, 0, 1)
        except FileNotFoundError:
            return False
        return True


def _size_of(made: Path | bytes) -> int:
    return len(made) if isinstance(made, bytes) else made.stat().st_size


async def record(
    app: Penstock,
    ctx: Context,
    call: Call,
    type: Type,
    file: File,
    *,
    obsolete: Type | None = None,
    seconds: float | None = None,
) -> None:
    """Tells the database of a file and of one that it has replaced: in the transaction that completes the job or, where
    jobs are elsewhere, before. Killed in between, the stage is run again and finds that it has nothing to tell."""
    own = app.engine.capabilities.transactions
    async with ctx.transaction() if own else app.atransaction() as connection:
        await _wait_no_longer(connection)
        await connection.execute(
            "delete from calls.artifacts where call_id = %s and (type = %s and artifact_id <> %s or type = %s)",
            [call.id, type, file.id, obsolete],
        )
        await connection.execute(
            """
            insert into calls.artifacts (call_id, org_id, type, artifact_id, path)
            values (%s, %s, %s, %s, %s)
                on conflict do nothing
            """,
            [call.id, call.org, type, file.id, file.path],
        )
        if seconds is not None:
            await connection.execute("update calls.calls set seconds = %s where id = %s", [seconds, call.id])


async def settled(app: Penstock, connection: "psycopg.AsyncConnection[Any]", call: UUID) -> None:
    """Where jobs are elsewhere they may be there before the transaction is committed that says so: waits for its end.
    Whoever writes the call has `lock_call`."""
    if not app.engine.capabilities.transactions:
        await _lock(connection, "pg_advisory_xact_lock_shared", call)


async def lock_call(connection: "psycopg.AsyncConnection[Any]", call: UUID) -> None:
    await _lock(connection, "pg_advisory_xact_lock", call)


async def _lock(
    connection: "psycopg.AsyncConnection[Any]",
    function: Literal["pg_advisory_xact_lock", "pg_advisory_xact_lock_shared"],
    call: UUID,
) -> None:
    await _wait_no_longer(connection)
    await connection.execute(f"select pg_catalog.{function}(pg_catalog.hashtextextended(%s, 4))", [str(call)])


async def _wait_no_longer(connection: "psycopg.AsyncConnection[Any]") -> None:
    """Who froze with a lock keeps it, and must not hold up the next one for good."""
    await connection.execute("select pg_catalog.set_config('lock_timeout', %s, true)", [_LOCK_TIMEOUT])

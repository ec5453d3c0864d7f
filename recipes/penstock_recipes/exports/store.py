"""The tables of the recipe, beyond what a route or the job itself asks of them: batches, and what has expired."""

import logging
from dataclasses import asdict, dataclass
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

import psycopg

from penstock import IdempotencyMismatch, Penstock, PenstockError
from penstock_recipes.exports.faults import SAID

if TYPE_CHECKING:
    from penstock.server import Identity, Services

log = logging.getLogger("penstock_recipes.exports")

_NAMESPACE = UUID("5f0f1d4c-3a1e-4c8e-9d53-6a5d7a8e2b10")
_PAGE = 500
_REMEMBERED = timedelta(days=30)
"""How long a batch says that its files have expired; then it is unknown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a batch: whose, by which key, and a digest of what it wants."""

    owner: str
    key: str | None
    by_service: bool
    digest: str

    @classmethod
    def of(cls, request: str, owner: str, key: str | None, *, by_service: bool) -> "Asked":
        # what the service asks for somebody, and what they ask themselves, are two things even by the same key
        return cls(owner, key, by_service, sha256(request.encode()).hexdigest())


_OF_KEY = "user_id = %(owner)s and by_service = %(by_service)s and key = %(key)s"


async def take_key(services: "Services", caller: "Identity", asked: Asked) -> UUID | None:
    """The batch that its key stands for, a day from when it was first used. Where there is none yet, the key is this
    request's from here on: who asks the same at once starts the same exports, for anything else they are refused."""
    if asked.key is None:
        return None
    async with services.acting_as(caller) as connection:
        await connection.execute(
            f"delete from exports.batch_keys where {_OF_KEY}"  # noqa: S608 - of our own words
            " and created_at < pg_catalog.now() - interval '1 day'".encode(),
            asdict(asked),
        )
        await _add_key(connection, asked)
        rows = await connection.execute(
            f"select batch, asked from exports.batch_keys where {_OF_KEY}".encode(),  # noqa: S608 - of our own words
            asdict(asked),
        )
        found: tuple[UUID | None, str] | None = await rows.fetchone()
    if found is None:  # given back this moment
        return await take_key(services, caller, asked)
    batch, digest = found
    if digest != asked.digest:
        raise IdempotencyMismatch("the Idempotency-Key was used before, for another batch")
    return batch


async def give_back_key(services: "Services", caller: "Identity", asked: Asked) -> None:
    """Nothing was started by it: it is free for another request."""
    if asked.key is not None:
        async with services.acting_as(caller) as connection:
            await connection.execute(
                f"delete from exports.batch_keys where {_OF_KEY} and batch is null".encode(),  # noqa: S608 - of our own words
                asdict(asked),
            )


async def add_batch(services: "Services", caller: "Identity", asked: Asked, jobs: list[UUID]) -> UUID:
    """The same exports are the same batch, however often they are asked for."""
    id = uuid5(_NAMESPACE, " ".join(map(str, jobs)))
    async with services.acting_as(caller) as connection:
        await _add(connection, "batches", asked, {"id": id, "jobs": jobs})
        if asked.key is not None:
            # again, if one that asked for the same at once has given it back
            await _add_key(connection, asked)
            rows = await connection.execute(
                f"update exports.batch_keys set batch = coalesce(batch, %(id)s) "  # noqa: S608 - of our own words
                f"where {_OF_KEY} returning batch".encode(),
                asdict(asked) | {"id": id},
            )
            # of two that asked at once, the first
            for (first,) in await rows.fetchall():
                return UUID(str(first))
    return id


async def _add_key(connection: psycopg.AsyncConnection[Any], asked: Asked) -> None:
    given: dict[str, object] = {"key": asked.key, "asked": asked.digest}
    if asked.by_service:
        given["by_service"] = True
    await _add(connection, "batch_keys", asked, given)


async def _add(connection: psycopg.AsyncConnection[Any], table: str, asked: Asked, given: dict[str, object]) -> None:
    if asked.by_service:  # anybody else's is their own without a word
        given = given | {"user_id": asked.owner}
    names, places = ", ".join(given), ", ".join(["%s"] * len(given))
    await connection.execute(
        f"insert into exports.{table} ({names}) values ({places}) on conflict do nothing".encode(),  # noqa: S608 - of our own words
        list(given.values()),
    )


async def jobs_of_batch(services: "Services", caller: "Identity", id: UUID) -> list[UUID]:
    """In the order they were asked for; none when there is no such batch, or it is somebody else's."""
    async with services.acting_as(caller) as connection:
        rows = await connection.execute("select jobs from exports.batches where id = %s", [id])
        found: tuple[list[UUID]] | None = await rows.fetchone()
    return found[0] if found else []


async def clean_up(app: Penstock, connection: psycopg.AsyncConnection[Any]) -> int:
    """How many exports are gone: the file first, then the line in history. A file that cannot be removed now keeps its
    line, for the next time; a removal that was begun is finished by the workers' own sweep."""
    deleted = 0
    after = UUID(int=0)
    while True:
        expired = await (
            await connection.execute(
                """
                select id, artifact_id
                  from exports.export_history
                 where expires_at <= pg_catalog.now() and id > %s
                 order by id
                 limit %s
                """,
                [after, _PAGE],
            )
        ).fetchall()
        if not expired:
            break
        after = expired[-1][0]
        for id, artifact in expired:
            if await _remove(app, artifact):
                await connection.execute("delete from exports.export_history where id = %s", [id])
                deleted += 1
    await connection.execute("delete from exports.batch_keys where created_at < pg_catalog.now() - interval '1 day'")
    await connection.execute("delete from exports.batches where created_at < pg_catalog.now() - %s", [_REMEMBERED])
    for (artifact,) in await (await connection.execute("select id from exports.unrecorded")).fetchall():
        deleted += await _remove(app, artifact)
    return deleted


async def _remove(app: Penstock, artifact: UUID) -> bool:
    try:
        await app.artifacts.adelete(artifact)
    except PenstockError as error:
        log.warning("artifact %s is not removed: %s", artifact, error)
        return False
    return True


async def last_faults(app: Penstock, jobs: list[UUID]) -> dict[UUID, str | None]:
    """Why the last attempts of exports failed, in words that their owner may read."""
    if not jobs:
        return {}
    async with app.atransaction() as connection:
        rows = await connection.execute(
            "select id, errors->-1->>'type', penstock.shown(errors) from penstock.jobs_view where id = any(%s)", [jobs]
        )
        return {id: SAID.get(str(type)) or shown for id, type, shown in await rows.fetchall()}

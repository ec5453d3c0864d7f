"""Batches as they are remembered: which exports belong to one, and which request made it."""

from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID, uuid5

from penstock import IdempotencyMismatch
from penstock.server import Identity, Services

_NAMESPACE = UUID("5f0f1d4c-3a1e-4c8e-9d53-6a5d7a8e2b10")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a batch: whose, by which key, and a digest of what it wants."""

    owner: str
    key: str | None
    digest: str

    @classmethod
    def of(cls, request: str, owner: str, key: str | None, *, by_service: bool) -> "Asked":
        # what the service asks for somebody, and what they ask themselves, are two things even by the same key
        key = None if key is None else f"{'service' if by_service else 'user'} {key}"
        return cls(owner, key, sha256(request.encode()).hexdigest())


async def earlier_batch(services: Services, caller: Identity, asked: Asked) -> UUID | None:
    """The batch that was made when this key was first used, if that was within a day."""
    if asked.key is None:
        return None
    async with services.acting_as(caller) as connection:
        rows = await connection.execute(
            """
            select id, asked
              from exports.batches
             where user_id = %s and idempotency_key = %s and created_at > now() - interval '1 day'
             order by created_at desc
             limit 1
            """,
            [asked.owner, asked.key],
        )
        found = await rows.fetchone()
    if found is not None and found[1] != asked.digest:
        raise IdempotencyMismatch("the Idempotency-Key was used before, for another batch")
    return None if found is None else UUID(str(found[0]))


async def add_batch(services: Services, caller: Identity, asked: Asked, jobs: list[UUID]) -> UUID:
    """The same exports are the same batch, however often they are asked for."""
    id = uuid5(_NAMESPACE, " ".join(map(str, jobs)))
    given: dict[str, object] = {"id": id, "jobs": jobs, "idempotency_key": asked.key, "asked": asked.digest}
    if caller.is_service:
        given["user_id"] = asked.owner
    names, places = ", ".join(given), ", ".join(["%s"] * len(given))
    async with services.acting_as(caller) as connection:
        await connection.execute(
            f"insert into exports.batches ({names}) values ({places}) on conflict do nothing".encode(),
            list(given.values()),
        )
    return id


async def jobs_of_batch(services: Services, caller: Identity, id: UUID) -> list[UUID]:
    """In the order they were asked for; none when there is no such batch, or it is somebody else's."""
    async with services.acting_as(caller) as connection:
        rows = await connection.execute("select jobs from exports.batches where id = %s", [id])
        found: tuple[list[UUID]] | None = await rows.fetchone()
    return found[0] if found else []

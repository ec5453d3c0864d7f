"""Who may do what with calls: members of their organisation everything, others nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from psycopg.rows import dict_row

from penstock import Penstock
from penstock.server import Identity, Problem, Services
from penstock_recipes.calls.shapes import COLUMNS, stage_of

if TYPE_CHECKING:
    import psycopg


def refuse_strangers(caller: Identity, org: UUID) -> None:
    if not caller.is_service and str(org) not in caller.orgs:
        raise Problem(403, "orgId: you do not belong to this organisation")


async def visible_call(services: Services, caller: Identity, id: UUID) -> dict[str, Any]:
    """The call, or 404: also when it is another organisation's."""
    found = await calls_of(services, caller, "c.id = %(id)s", {"id": id})
    if not found:
        raise Problem(404, "there is no such call, or it is not yours")
    return found[0]


async def calls_of(
    services: Services, caller: Identity, where: str, values: Mapping[str, object]
) -> Sequence[dict[str, Any]]:
    """Those that the caller may see, by a condition in SQL."""

    async def look() -> Sequence[dict[str, Any]]:
        async with services.acting_as(caller) as connection:
            return await select_calls(connection, where, values)

    found = await look()
    if services.app.engine.capabilities.database:
        return found
    found = await with_stages(services.app, caller, found)
    # what a stage has made is on record before it has ended: looked at again, nothing of it is missing
    again = {(row["id"], row["job_id"]): row for row in await look()}
    return [again.get((row["id"], row["job_id"]), row) | {"stages": row["stages"]} for row in found]


async def select_calls(
    connection: "psycopg.AsyncConnection[Any]", where: str, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as rows:
        await rows.execute(f"select {COLUMNS} from calls.calls as c where {where}".encode(), values)  # noqa: S608 - of our own words
        return await rows.fetchall()


async def with_stages(app: Penstock, caller: Identity, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Calls with their stages, where the database has no jobs to join them with."""
    if app.engine.capabilities.database:
        return rows

    async def stages(flow: UUID) -> list[dict[str, Any]]:
        last, others = await asyncio.gather(app.jobs.aget(flow), app.jobs.alist(parent=flow))
        jobs = sorted([*others.jobs, *([last] if last else [])], key=lambda job: job.id)
        return [stage_of(job, job.last_error if caller.is_service else job.shown_error) for job in jobs]

    told = await asyncio.gather(*(stages(row["job_id"]) for row in rows))
    return [row | {"stages": each} for row, each in zip(rows, told, strict=True)]

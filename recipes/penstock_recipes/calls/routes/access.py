"""Who may do what with calls: members of their organisation everything, others nothing."""

from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from penstock.server import Identity, Problem, Services
from penstock_recipes.calls.shapes import COLUMNS


def refuse_strangers(caller: Identity, org: UUID) -> None:
    if not caller.is_service and str(org) not in caller.orgs:
        raise Problem(403, "orgId: you do not belong to this organisation")


async def visible_call(services: Services, caller: Identity, id: UUID) -> dict[str, Any]:
    """The call, or 404: also when it is another organisation's."""
    async with services.acting_as(caller) as connection, connection.cursor(row_factory=dict_row) as rows:
        await rows.execute(f"select {COLUMNS} from calls.calls as c where c.id = %s".encode(), [id])  # noqa: S608 - of our own words
        found = await rows.fetchone()
    if found is None:
        raise Problem(404, "there is no such call, or it is not yours")
    return found

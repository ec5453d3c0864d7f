"""Removing what has expired, and what was never recorded."""

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from penstock import Penstock, PenstockError

log = logging.getLogger("penstock_recipes.exports")

_PAGE = 500
_REMEMBERED = timedelta(days=30)
"""How long a batch says that its files have expired; then it is unknown."""


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
                 where expires_at <= now() and id > %s
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
    await connection.execute("delete from exports.batches where created_at < now() - %s", [_REMEMBERED])
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

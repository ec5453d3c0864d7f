"""Bookmarks in the database, with the application's own rights: whose they are is asked for each time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from penstock import Penstock

COLUMNS: LiteralString = (
    "id, user_id, url, title, description, category_id, screenshot, og_image, fav_icon, meta_data, job_id, "
    "inserted_at, updated_at"
)

_LONGEST = 20_000
"""Characters of a title, a description or what was read in a picture."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """`screenshot`, `og_image` and `fav_icon` are artifacts. `page`: what the page says of itself, once somebody has
    looked; users are not shown it."""

    id: int
    user_id: str
    url: str
    title: str | None
    description: str | None
    category_id: int | None
    screenshot: UUID | None
    og_image: UUID | None
    fav_icon: UUID | None
    meta_data: dict[str, Any]
    job_id: UUID | None
    inserted_at: datetime
    updated_at: datetime
    page: dict[str, Any] | None = None


async def find(app: Penstock, id: int, user_id: str, url: str) -> Bookmark | None:
    """The bookmark, if it is that user's and of that address: the service may read any, so it has to say whose."""
    async with app.atransaction() as connection, connection.cursor(row_factory=class_row(Bookmark)) as rows:
        await rows.execute(
            f"select {COLUMNS}, page from bookmarks.bookmarks where id = %s and user_id = %s and url = %s",  # noqa: S608 - of our own words
            [id, user_id, url],
        )
        return await rows.fetchone()


async def describe(
    app: Penstock,
    bookmark: Bookmark,
    *,
    title: str | None = None,
    description: str | None = None,
    screenshot: UUID | None = None,
    og_image: UUID | None = None,
    fav_icon: UUID | None = None,
    page: Mapping[str, object] | None = None,
    meta_data: Mapping[str, object] | None = None,
) -> bool:
    """Adds what was found out. None leaves a column as it is, and takes a field of the metadata away. False when the
    bookmark has been deleted meanwhile."""
    async with app.atransaction() as connection:
        changed = await connection.execute(
            """
            update bookmarks.bookmarks
               set title = coalesce(%(title)s, title),
                   description = coalesce(%(description)s, description),
                   screenshot = coalesce(%(screenshot)s, screenshot),
                   og_image = coalesce(%(og_image)s, og_image),
                   fav_icon = coalesce(%(fav_icon)s, fav_icon),
                   page = coalesce(%(page)s, page),
                   meta_data = pg_catalog.jsonb_strip_nulls(meta_data || %(meta_data)s),
                   updated_at = pg_catalog.now()
             where id = %(id)s and user_id = %(user_id)s
            """,
            {
                "title": _storable(title),
                "description": _storable(description),
                "screenshot": screenshot,
                "og_image": og_image,
                "fav_icon": fav_icon,
                "page": None if page is None else _as_json(page),
                "meta_data": _as_json(meta_data or {}),
                "id": bookmark.id,
                "user_id": bookmark.user_id,
            },
        )
    return changed.rowcount > 0


def _as_json(fields: Mapping[str, object]) -> Jsonb:
    return Jsonb({name: _storable(value) if isinstance(value, str) else value for name, value in fields.items()})


def _storable(text: str | None) -> str | None:
    """What strangers write, as far as Postgres takes it."""
    return None if text is None else text.encode("utf-8", "replace").decode().replace("\x00", "")[:_LONGEST]


async def remove_leftovers(app: Penstock, bookmark: int | None = None) -> int:
    """Removes the files of a deleted bookmark, or of all; how many. What is interrupted is done the next time."""
    removed = 0
    while True:
        async with app.atransaction() as connection:
            rows = await connection.execute(
                """
                select artifact
                  from bookmarks.leftovers
                 where %(bookmark)s::bigint is null or bookmark_id = %(bookmark)s
                 limit 100
                """,
                {"bookmark": bookmark},
            )
            found = [artifact for (artifact,) in await rows.fetchall()]
        if not found:
            return removed
        await app.artifacts.adelete(*found)
        async with app.atransaction() as connection:
            await connection.execute("delete from bookmarks.leftovers where artifact = any(%s)", [found])
        removed += len(found)

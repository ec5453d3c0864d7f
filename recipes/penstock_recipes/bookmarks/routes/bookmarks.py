"""Bookmarks: added at once and enriched later, looked at, deleted."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query
from psycopg.rows import class_row
from starlette.responses import Response

from penstock.outbound import Guard, Refused
from penstock.server import Caller, Problem, Services, Shared, link_to, problems
from penstock_recipes.answers import Success, refused, refusing, success
from penstock_recipes.bookmarks.addresses import refuse_unfit
from penstock_recipes.bookmarks.shapes import LARGEST, PREFIX, Bookmarks, NewBookmark, StoredBookmark
from penstock_recipes.bookmarks.store import COLUMNS, Bookmark, remove_leftovers

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A second request with the same key, within a day, gets the bookmark of the first.",
    ),
]
BookmarkId = Annotated[int, Path(ge=1, le=LARGEST)]
_ADDED = ", ".join(f"(bookmark).{column}" for column in COLUMNS.split(", "))


def bookmark_routes(guard: Guard) -> APIRouter:
    router = refusing("bookmarks", PREFIX)

    @router.post(
        "/add/data",
        summary="Add a bookmark",
        description="Answers at once. A screenshot, title, picture and icon come later: look again.",
        response_model=Success[StoredBookmark],
        responses=problems(403),
    )
    async def add_bookmark(body: NewBookmark, caller: Caller, shared: Shared, key: Key = None) -> Response:
        for field in ("url", "fav_icon"):
            if (address := getattr(body, field)) is not None:
                await _check(guard, field, address)
        category = body.category_id if body.update_access else None
        added = [body.url, category, body.fav_icon, key]
        if caller.is_service:
            if body.user_id is None:
                raise refused("user_id", "whose it is to be")
            added = [body.user_id, *added]
        elif body.user_id not in (None, caller.subject):
            raise Problem(403, "only the service adds bookmarks for others")
        function = "add_for" if caller.is_service else "add"
        async with shared.acting_as(caller) as connection:
            places = ", ".join(["%s"] * len(added))
            text = f"select created, (bookmark).asked, {_ADDED} from bookmarks.{function}({places})"  # noqa: S608 - of our own words
            rows = await connection.execute(text.encode(), added)
            [(created, asked, *stored)] = await rows.fetchall()
            bookmark = Bookmark(*stored)
            if not created and asked not in (None, [body.url, category, body.fav_icon]):
                raise refused("Idempotency-Key", "was used for another bookmark")
        return success(await shown(shared, bookmark))

    @router.get("", summary="Your bookmarks, newest first", response_model=Success[Bookmarks], responses=problems())
    async def list_bookmarks(
        caller: Caller,
        shared: Shared,
        cursor: Annotated[int | None, Query(ge=1, le=LARGEST, description="`next_cursor` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> Response:
        async with shared.acting_as(caller) as connection, connection.cursor(row_factory=class_row(Bookmark)) as rows:
            await rows.execute(
                f"""
                select {COLUMNS}
                  from bookmarks.bookmarks
                 where %(cursor)s::bigint is null or id < %(cursor)s
                 order by id desc
                 limit %(limit)s
                """,  # noqa: S608 - of our own words
                {"cursor": cursor, "limit": limit + 1},
            )
            found = await rows.fetchall()
        page = [await shown(shared, bookmark) for bookmark in found[:limit]]
        return success({"bookmarks": page, "next_cursor": page[-1]["id"] if len(found) > limit else None})

    @router.get("/{id}", summary="One bookmark", response_model=Success[StoredBookmark], responses=problems(404))
    async def get_bookmark(id: BookmarkId, caller: Caller, shared: Shared) -> Response:
        async with shared.acting_as(caller) as connection, connection.cursor(row_factory=class_row(Bookmark)) as rows:
            await rows.execute(f"select {COLUMNS} from bookmarks.bookmarks where id = %s", [id])  # noqa: S608 - of our own words
            bookmark = await rows.fetchone()
        if bookmark is None:
            raise not_found()
        return success(await shown(shared, bookmark))

    @router.delete(
        "/{id}",
        status_code=204,
        summary="Delete a bookmark",
        description="With its files; what is still to be done for it is not done.",
        response_class=Response,
        responses=problems(404),
    )
    async def delete_bookmark(id: BookmarkId, caller: Caller, shared: Shared) -> Response:
        async with shared.acting_as(caller) as connection:
            deleted = await connection.execute("delete from bookmarks.bookmarks where id = %s", [id])
            if deleted.rowcount == 0:
                raise not_found()
        await remove_leftovers(shared.app, id)
        return Response(status_code=204)

    return router


async def _check(guard: Guard, field: str, address: str) -> None:
    try:
        await refuse_unfit(guard, address)
    except Refused as error:
        raise refused(field, str(error)) from None


def not_found() -> Problem:
    """One answer for what does not exist and for what is somebody else's."""
    return Problem(404, "Bookmark not found")


async def shown(services: Services, bookmark: Bookmark) -> dict[str, Any]:
    """As it is answered: with links instead of files."""
    return {
        "id": bookmark.id,
        "user_id": bookmark.user_id,
        "url": bookmark.url,
        "title": bookmark.title,
        "description": bookmark.description,
        "category_id": bookmark.category_id,
        "screenshot": await _link(services, bookmark.screenshot),
        "og_image": await _link(services, bookmark.og_image),
        "fav_icon": await _link(services, bookmark.fav_icon),
        "meta_data": bookmark.meta_data,
        "job_id": bookmark.job_id,
        "inserted_at": bookmark.inserted_at,
        "updated_at": bookmark.updated_at,
    }


async def _link(services: Services, file: UUID | None) -> str | None:
    artifact = await services.app.artifacts.aget(file) if file is not None else None
    return None if artifact is None else (await link_to(services, artifact))[0]

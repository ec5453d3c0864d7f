"""Documents: the résumés that exports are made of."""

from typing import Annotated, Any, NamedTuple
from uuid import UUID

import psycopg
from fastapi import Query
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from starlette.responses import Response

from penstock.server import Caller, Identity, Problem, Services, Shared, problems
from penstock_recipes.answers import Success, refusing, success
from penstock_recipes.exports.resume import Resume
from penstock_recipes.exports.shapes import Changes, Document, Documents, NewDocument

router = refusing("documents")

_COLUMNS = 'id, title, version, created_at as "createdAt", updated_at as "updatedAt"'


@router.post(
    "/documents",
    status_code=201,
    summary="Store a document",
    response_model=Success[Document],
    responses=problems(403),
)
async def add_document(body: NewDocument, caller: Caller, shared: Shared) -> Response:
    data = Jsonb(_as_written(body.data))
    async with shared.acting_as(caller) as connection:
        if caller.is_service:
            if body.user_id is None:
                raise Problem(400, "Invalid request: userId: whose it is to be", errors=[])
            columns, values = "title, data, user_id", [body.title, data, body.user_id]
        elif body.user_id not in (None, caller.subject):
            raise Problem(403, "only the service stores documents for others")
        else:
            columns, values = "title, data", [body.title, data]
        found = await _one(
            connection,
            f"insert into exports.documents ({columns}) values ({', '.join(['%s'] * len(values))}) "  # noqa: S608 - of our own words
            f"returning {_COLUMNS}, data",
            values,
        )
    assert found is not None
    return success(found, 201, {"Location": f"/api/v1/documents/{found['id']}"})


@router.get(
    "/documents", summary="List your documents, newest first", response_model=Success[Documents], responses=problems()
)
async def list_documents(
    caller: Caller,
    shared: Shared,
    cursor: Annotated[UUID | None, Query(description="`nextCursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    async with shared.acting_as(caller) as connection:
        found = await _all(
            connection,
            f"""
            select {_COLUMNS}
              from exports.documents
             where %(cursor)s::uuid is null
                or (created_at, id) < (select created_at, id from exports.documents where id = %(cursor)s)
             order by created_at desc, id desc
             limit %(limit)s
            """,  # noqa: S608 - of our own words
            {"cursor": cursor, "limit": limit + 1},
        )
    page = found[:limit]
    return success({"documents": page, "nextCursor": page[-1]["id"] if len(found) > limit else None})


@router.get("/documents/{id}", summary="One document", response_model=Success[Document], responses=problems(404))
async def get_document(id: UUID, caller: Caller, shared: Shared) -> Response:
    async with shared.acting_as(caller) as connection:
        return success(await visible_document(connection, id))


@router.put(
    "/documents/{id}", summary="Change a document", response_model=Success[Document], responses=problems(404, 409)
)
async def change_document(id: UUID, body: Changes, caller: Caller, shared: Shared) -> Response:
    async with shared.acting_as(caller) as connection:
        found = await _one(
            connection,
            f"""
            update exports.documents
               set title = coalesce(%(title)s, title), data = coalesce(%(data)s, data)
             where id = %(id)s and (%(version)s::int is null or version = %(version)s)
            returning {_COLUMNS}, data
            """,  # noqa: S608 - of our own words
            {
                "id": id,
                "title": body.title,
                "data": None if body.data is None else Jsonb(_as_written(body.data)),
                "version": body.version,
            },
        )
        if found is None:
            present = await visible_document(connection, id)
            raise Problem(409, f"it is version {present['version']} by now", version=present["version"])
    return success(found)


@router.delete(
    "/documents/{id}",
    status_code=204,
    summary="Delete a document",
    description="Its exports stay until they expire.",
    response_class=Response,
    responses=problems(404),
)
async def delete_document(id: UUID, caller: Caller, shared: Shared) -> Response:
    async with shared.acting_as(caller) as connection:
        deleted = await connection.execute("delete from exports.documents where id = %s", [id])
        if deleted.rowcount == 0:
            raise unknown_document()
    return Response(status_code=204)


class Known(NamedTuple):
    """Whose a document is, and how often it has been changed."""

    owner: str
    version: int


async def known_documents(services: Services, caller: Identity, ids: list[UUID]) -> dict[UUID, Known]:
    """Of those that the caller may see; 404 when one is missing."""
    async with services.acting_as(caller) as connection:
        rows = await connection.execute("select id, user_id, version from exports.documents where id = any(%s)", [ids])
        found = {id: Known(owner, version) for id, owner, version in await rows.fetchall()}
    missing = [id for id in ids if id not in found]
    if missing:
        raise unknown_document(missing)
    return found


async def visible_document(connection: psycopg.AsyncConnection[Any], id: UUID) -> dict[str, Any]:
    found = await _one(connection, f"select {_COLUMNS}, data from exports.documents where id = %s", [id])  # noqa: S608 - of our own words
    if found is None:
        raise unknown_document()
    return found


def unknown_document(ids: list[UUID] | None = None) -> Problem:
    """One answer for what does not exist and for what is somebody else's."""
    return Problem(404, "Document not found", documentIds=ids) if ids else Problem(404, "Document not found")


def _as_written(resume: Resume) -> dict[str, Any]:
    """Without what was not said."""
    return resume.model_dump(mode="json", by_alias=True, exclude_defaults=True)


async def _one(
    connection: psycopg.AsyncConnection[Any], query: str, params: list[Any] | dict[str, Any]
) -> dict[str, Any] | None:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query.encode(), params)
        return await cursor.fetchone()


async def _all(connection: psycopg.AsyncConnection[Any], query: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query.encode(), params)
        return await cursor.fetchall()

"""What has been exported: history, downloads, and the end of both."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from psycopg.rows import dict_row
from starlette.responses import RedirectResponse, Response

from penstock.server import Caller, Identity, Problem, Service, Services, Shared, link_to, problems
from penstock_recipes.answers import Success, refusing, success
from penstock_recipes.exports.shapes import Cleaned, DownloadLink, History
from penstock_recipes.exports.store import clean_up

router = refusing("exports")

_PRIVATE = {"Cache-Control": "private, no-store"}
_COLUMNS = """
  id, job_id as "jobId", document_id as "documentId", document_version as "documentVersion", format,
  template_slug as "templateSlug", file_name as "fileName", file_path as "filePath", file_size as "fileSize",
  page_count as "pageCount", download_count as "downloadCount", expires_at as "expiresAt", created_at as "createdAt"
"""


@router.get(
    "/export/history", summary="Your exports, newest first", response_model=Success[History], responses=problems()
)
async def list_history(
    caller: Caller,
    shared: Shared,
    document_id: Annotated[UUID | None, Query(alias="documentId", description="Of one document.")] = None,
    cursor: Annotated[UUID | None, Query(description="`nextCursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    async with shared.acting_as(caller) as connection, connection.cursor(row_factory=dict_row) as rows:
        await rows.execute(
            f"""
            select {_COLUMNS}
              from exports.export_history
             where (%(document)s::uuid is null or document_id = %(document)s)
               and (%(cursor)s::uuid is null
                    or (created_at, id) < (select created_at, id from exports.export_history where id = %(cursor)s))
             order by created_at desc, id desc
             limit %(limit)s
            """.encode(),  # noqa: S608 - of our own words
            {"document": document_id, "cursor": cursor, "limit": limit + 1},
        )
        found = await rows.fetchall()
    page = found[:limit]
    return success({"exports": page, "nextCursor": page[-1]["id"] if len(found) > limit else None})


@router.get(
    "/export/download/{history_id}",
    summary="Download an export",
    description="Sends you to a link that works for an hour; counted as a download.",
    response_model=Success[DownloadLink],
    responses=problems(404, 410)
    | {307: {"description": "To the link.", "headers": {"Location": {"schema": {"type": "string"}}}}},
)
async def download_export(
    history_id: UUID,
    caller: Caller,
    shared: Shared,
    format: Annotated[Literal["redirect", "json"], Query(description="`json` tells the link instead.")] = "redirect",
) -> Response:
    artifact_id, expires_at = await _visible_export(shared, caller, history_id)
    artifact = await shared.app.artifacts.aget(artifact_id)
    if expires_at <= datetime.now(UTC) or (artifact is not None and artifact.expired):
        raise Problem(410, "Export expired and has been deleted")
    if artifact is None:
        raise Problem(404, "File not found in storage")
    url, until = await link_to(shared, artifact, "counted")
    async with shared.acting_as(caller) as connection:
        await connection.execute("select exports.count_download(%s)", [history_id])
    if format == "redirect":
        return RedirectResponse(url, 307, _PRIVATE)
    return success({"url": url, "expiresAt": datetime.fromtimestamp(until, UTC)}, headers=_PRIVATE)


@router.delete(
    "/export/history/{history_id}",
    status_code=204,
    summary="Delete an export",
    description="The file and its line in history: makes room in your quota.",
    response_class=Response,
    responses=problems(404),
)
async def delete_export(history_id: UUID, caller: Caller, shared: Shared) -> Response:
    artifact_id, _ = await _visible_export(shared, caller, history_id)
    await shared.app.artifacts.adelete(artifact_id)
    async with shared.acting_as(caller) as connection:
        await connection.execute("delete from exports.export_history where id = %s", [history_id])
    return Response(status_code=204)


@router.post(
    "/export/cleanup",
    summary="Remove what has expired",
    description="For the service. It happens every night anyway.",
    response_model=Success[Cleaned],
    responses=problems(403),
)
async def clean_up_exports(caller: Service, shared: Shared) -> Response:
    async with shared.acting_as(caller) as connection:
        return success({"deletedCount": await clean_up(shared.app, connection)})


async def _visible_export(services: Services, caller: Identity, id: UUID) -> tuple[UUID, datetime]:
    """Its file, and until when; 404 when there is none such, or it is somebody else's."""
    async with services.acting_as(caller) as connection:
        rows = await connection.execute(
            "select artifact_id, expires_at from exports.export_history where id = %s", [id]
        )
        found: tuple[Any, Any] | None = await rows.fetchone()
    if found is None:
        raise Problem(404, "Export not found")
    return found

"""One call or many: look, delete, try again."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock import NewJob
from penstock.server import Caller, CheckedRoute, Problem, Services, Shared, link_to, problems
from penstock_recipes.calls.jobs import Pipeline
from penstock_recipes.calls.routes.access import calls_of, refuse_strangers, select_calls, visible_call, with_stages
from penstock_recipes.calls.shapes import Accepted, Calls, CallStatus, stages_of, summary
from penstock_recipes.calls.store import Call, lock_call

_JSON = "application/json"


def make_router(pipeline: Pipeline) -> APIRouter:
    router = APIRouter(route_class=CheckedRoute, prefix="/calls", tags=["calls"])

    @router.get("", summary="Calls of an organisation, newest first", response_model=Calls, responses=problems(403))
    async def list_calls(
        caller: Caller,
        shared: Shared,
        org_id: Annotated[
            UUID | None, Query(alias="orgId", description="Of one of your organisations; of all unless given.")
        ] = None,
        cursor: Annotated[UUID | None, Query(description="`nextCursor` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> Response:
        if org_id is not None:
            refuse_strangers(caller, org_id)
        which = """
            (%(org)s::uuid is null or c.org_id = %(org)s)
             and (%(cursor)s::uuid is null
                  or (c.created_at, c.id) < (select created_at, id from calls.calls where id = %(cursor)s))
           order by c.created_at desc, c.id desc
           limit %(limit)s
        """
        found = await calls_of(shared, caller, which, {"org": org_id, "cursor": cursor, "limit": limit + 1})
        page = [summary(row) for row in found[:limit]]
        return _json({"calls": page, "nextCursor": page[-1]["id"] if len(found) > limit else None})

    @router.get("/{id}", summary="How a call is doing", response_model=CallStatus, responses=problems(404))
    async def get_call(id: UUID, caller: Caller, shared: Shared) -> Response:
        row = await visible_call(shared, caller, id)
        files = await _links(shared, row["artifacts"] or {})
        return _json(summary(row) | {"stages": stages_of(row), "files": files})

    @router.delete(
        "/{id}",
        status_code=204,
        summary="Delete a call",
        description="Stops whatever works on it. Its files go a moment later.",
        response_class=Response,
        responses=problems(404),
    )
    async def delete_call(id: UUID, caller: Caller, shared: Shared) -> Response:
        row = await visible_call(shared, caller, id)
        cancel = shared.operator(caller).acancel_jobs if caller.is_service else shared.app.jobs.acancel
        await cancel(row["job_id"], reason="the call was deleted")
        async with shared.app.atransaction() as connection:
            await lock_call(connection, id)
            rows = await connection.execute("delete from calls.calls where id = %s returning job_id, tries", [id])
            if (deleted := await rows.fetchone()) is not None:
                job, tries = deleted
                await pipeline.remove_files(connection, Call(row["org_id"], id, tries), job)
        return Response(status_code=204)

    @router.post(
        "/{id}/retry",
        status_code=202,
        summary="Try a failed call again",
        description="From the stage that failed: what is there already is not made again.",
        response_model=Accepted,
        responses=problems(404, 409),
    )
    async def retry_call(id: UUID, caller: Caller, shared: Shared) -> Response:
        await visible_call(shared, caller, id)
        async with shared.app.atransaction() as connection:
            # of two who try at once one waits here, and finds it under way
            await lock_call(connection, id)
            found = await select_calls(connection, "c.id = %(id)s", {"id": id})
            row = next(iter(await with_stages(shared.app, caller, found)), None)
            if row is None or summary(row)["status"] != "failed":
                raise Problem(409, "only a call that has failed can be tried again")

            async def update(flow: NewJob) -> bool:
                await connection.execute(
                    "update calls.calls set job_id = %s, tries = tries + 1 where id = %s", [flow.id, id]
                )
                return True

            job = await pipeline.begin(connection, Call(row["org_id"], id), update)
        return _json({"id": id, "jobId": job, "created": True}, 202)

    return router


async def _links(services: Services, artifacts: dict[str, str]) -> dict[str, Any]:
    links: dict[str, Any] = {}
    for type in ("audio", "transcript", "analysis"):
        artifact = await services.app.artifacts.aget(UUID(artifacts[type])) if type in artifacts else None
        links[type] = None
        if artifact is not None and not artifact.expired:
            url, _ = await link_to(services, artifact)
            size, content_type = artifact.size, artifact.content_type
            links[type] = {"artifactId": artifact.id, "url": url, "size": size, "contentType": content_type}
    return links


def _json(told: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(told), status, media_type=_JSON)

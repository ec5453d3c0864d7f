"""Jobs: start, look, list, cancel, retry."""

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from penstock.engine import commands
from penstock.engine.commands import SeenJob, SeenPage
from penstock.engine.postgres.render import render
from penstock.engine.postgres.statement import Statement, all_rows
from penstock.job import JobState
from penstock.server.dependencies import Caller, Shared
from penstock.server.http import models
from penstock.server.http.problems import Problem, not_found
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs import start
from penstock.server.jobs.answer import job_response
from penstock.server.jobs.compose import compose
from penstock.server.jobs.shapes import encode, job_shape, service_shape
from penstock.server.jobs.visible import run_for, visible_job
from penstock.server.live.follow import JobCaller

router = APIRouter(route_class=CheckedRoute, tags=["jobs"])

_JSON = "application/json"
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A second request with the same key, within a day, gets the job of the first.",
    ),
]
OTHERS = ["GET", "HEAD", "PUT", "PATCH", "DELETE"]


@router.api_route("/api/jobs/batch", methods=OTHERS, include_in_schema=False)
@router.api_route("/api/jobs/tick", methods=OTHERS, include_in_schema=False)
async def refuse_method() -> Response:
    """Or they would be taken for the id of a job."""
    raise Problem(405, "send it with POST", headers={"Allow": "POST"})


@router.post(
    "/api/jobs",
    status_code=202,
    summary="Start a job or a flow",
    response_model=models.Started,
    responses=problems(403, 429, 507),
)
async def start_job(body: models.StartRequest, caller: Caller, shared: Shared, key: IdempotencyKey = None) -> Response:
    started = await start.start(
        shared.app,
        caller,
        body.kind,
        body.args,
        owner=body.owner,
        org=body.org,
        key=key,
        counts=body.quota,
        choices=_choices(body),
    )
    answer = {"id": started.id, "state": started.state, "created": started.created}
    return Response(encode(answer), 202, {"Location": f"/api/jobs/{started.id}"}, _JSON)


def _choices(asked: models.BatchItem) -> start.Chosen:
    return start.Chosen(run_at=asked.run_at, delay=asked.delay, priority=asked.priority, queue=asked.queue)


@router.post(
    "/api/jobs/batch",
    status_code=202,
    summary="Start several jobs as one",
    response_model=models.StartedBatch,
    responses=problems(403, 429, 507),
)
async def start_batch(
    body: models.BatchRequest, caller: Caller, shared: Shared, key: IdempotencyKey = None
) -> Response:
    items = [(item.kind, item.args) for item in body.jobs]
    batch, *jobs = await start.start_batch(
        shared.app,
        caller,
        items,
        owner=body.owner,
        org=body.org,
        key=key,
        counts=body.quota,
        choices=[_choices(item) for item in body.jobs],
    )
    answer = {
        "id": batch.id,
        "created": batch.created,
        # a queue may keep only what failed: of an earlier batch's jobs it cannot be told then which is which
        "jobs": [{"id": job.id, "kind": kind} for job, (kind, _) in zip(jobs, items, strict=False)]
        if len(jobs) == len(items)
        else [],
    }
    return Response(encode(answer), 202, {"Location": f"/api/jobs/{batch.id}"}, _JSON)


@router.get("/api/jobs", summary="List your jobs, newest first", response_model=models.JobPage, responses=problems(403))
async def list_jobs(
    caller: Caller,
    shared: Shared,
    state: Annotated[
        list[JobState] | None,
        Query(max_length=50, description="A flow whose jobs are under way is blocked: its own step has not begun."),
    ] = None,
    kind: Annotated[list[models.Text] | None, Query(max_length=50)] = None,
    org: Annotated[models.Text | None, Query(description="An organisation's jobs instead of your own.")] = None,
    owner: Annotated[models.Text | None, Query(description="For the service only.")] = None,
    parent: Annotated[UUID | None, Query(description="The jobs of a flow or a batch.")] = None,
    created_after: models.Moment | None = None,
    created_before: models.Moment | None = None,
    queue: Annotated[list[models.Text] | None, Query(max_length=50)] = None,
    error: Annotated[models.Text | None, Query(description="What an attempt has said. For the service only.")] = None,
    cursor: Annotated[UUID | None, Query(description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    filter: dict[str, Any] = {}
    if caller.is_service:
        filter |= {name: value for name, value in (("owner", owner), ("error", error)) if value}
    elif error is not None:
        raise Problem(403, "error: is for the service only")
    elif owner is not None and owner != caller.subject:
        raise Problem(403, "owner: you see only your own jobs")
    elif org is None and parent is None:
        filter["owner"] = caller.subject  # the policies say so too; this picks the index
    given: dict[str, Any] = {
        "org": org,
        "kind": kind,
        "parent": parent,
        "state": state,
        "queue": queue,
        "created_after": created_after,
        "created_before": created_before,
    }
    filter |= {name: value for name, value in given.items() if value is not None}
    search = render(commands.SearchSeenJobs(filter, cursor, limit))
    own = render(commands.SeeMyJobs(filter, cursor, limit + 1))
    rows = await run_for(shared, caller, service=_unread(search), user=_unread(own))

    def page() -> bytes:
        if caller.is_service:
            return _page(search.read(rows), service_shape)
        jobs = own.read(rows)
        return _page(SeenPage(jobs[:limit], jobs[limit - 1].id if len(jobs) > limit else None, None), job_shape)

    # their arguments may be large, and whoever asks for many of them must not keep everybody else waiting
    return Response(await compose(page), media_type=_JSON)


def _unread(statement: Statement[Any]) -> Statement[Any]:
    return Statement(statement.text, statement.params, all_rows, repeatable=True)


def _page(page: SeenPage, shape: Callable[[SeenJob], object]) -> bytes:
    # one by one: in between others have a turn
    shapes = b",".join(encode(shape(job)) for job in page.jobs)
    rest = encode({"next_cursor": page.next, "searched_back_to": page.searched_back_to})
    return b'{"jobs":[' + shapes + b"]," + rest[1:]


@router.get(
    "/api/jobs/{id}",
    summary="How a job is doing",
    response_model=models.Job,
    responses=problems(404) | {304: {"description": "It has not changed since the ETag in If-None-Match."}},
)
async def get_job(id: UUID, request: Request, caller: JobCaller, shared: Shared) -> Response:
    job = await visible_job(shared, caller, id)
    return await job_response(request, shared, caller, job)


@router.delete(
    "/api/jobs/{id}", summary="Cancel a job or a flow", response_model=models.Cancelled, responses=problems(404, 409)
)
async def cancel_job(id: UUID, caller: Caller, shared: Shared) -> Response:
    if caller.is_service:
        reached = bool(await shared.operator(caller).acancel_jobs(id, reason="cancelled by the service"))
    else:
        told = await shared.app.database.arun_as(caller.role, caller.claims, commands.CancelMine(id))
        if told is None:
            raise not_found()
        reached = told
    seen = await run_for(shared, caller, service=commands.SeeJob(id), user=commands.SeeMyJob(id))
    if seen is None and not reached:
        raise not_found()
    # a queue may keep no record of it
    state = seen.state if seen is not None else JobState.CANCELLED
    if not reached and state is not JobState.CANCELLED:
        raise Problem(409, "it has ended already")
    # its handler is told, and may succeed all the same: that is seen when it has ended
    answer = {"id": id, "state": state, "cancel_requested": not state.final}
    return Response(encode(answer), media_type=_JSON)


@router.post(
    "/api/jobs/{id}/retry",
    status_code=202,
    summary="Bring a failed or cancelled job back",
    response_model=models.Retried,
    responses=problems(403, 404, 409, 429, 507),
)
async def retry_job(id: UUID, caller: Caller, shared: Shared) -> Response:
    if caller.is_service:
        await visible_job(shared, caller, id)
        back = bool(await shared.operator(caller).aretry_jobs(id))
    else:
        told = await shared.app.database.arun_as(caller.role, caller.claims, commands.RetryMine(id))
        if told is None:
            raise not_found()
        back = told
    if not back:
        raise Problem(409, "only what has failed or was cancelled can be retried")
    answer = {"id": id, "state": await start.state_now(shared.app, id)}
    return Response(encode(answer), 202, media_type=_JSON)

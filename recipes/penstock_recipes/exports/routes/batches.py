"""Several documents at once, and what has been made of them as one ZIP."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from penstock import IdempotencyMismatch, JobState
from penstock.server import (
    Caller,
    IdempotencyKey,
    Identity,
    Problem,
    SeenJob,
    Services,
    Shared,
    StreamCaller,
    absolute,
    follow_all,
    problems,
    send_zip,
    start_each,
    visible_jobs,
)
from penstock_recipes.answers import Success, refusing, success
from penstock_recipes.exports.routes.answers import event, event_stream, within_quotas
from penstock_recipes.exports.routes.documents import known_documents
from penstock_recipes.exports.routes.jobs import KIND, as_pending, errors_of, message_of, percent_of, status_of
from penstock_recipes.exports.shapes import Batch, BatchRequest, BatchStatus, Partial, StartedBatch, Status
from penstock_recipes.exports.store import Asked, add_batch, give_back_key, jobs_of_batch, take_key

router = refusing("exports")

_ZIP: dict[str, Any] = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "/export/batch",
    status_code=202,
    summary="Export several documents",
    response_model=Success[StartedBatch],
    responses=problems(403, 404, 429, 507),
)
async def export_batch(body: BatchRequest, caller: Caller, shared: Shared, key: IdempotencyKey = None) -> Response:
    documents = list(dict.fromkeys(body.document_ids))
    known = await known_documents(shared, caller, documents)
    owners = {each.owner for each in known.values()}
    if len(owners) > 1:
        raise Problem(400, "Invalid request: documentIds: must be of one user", errors=[])
    [owner] = owners
    asked = Asked.of(body.model_dump_json(), owner, key, by_service=caller.is_service)
    try:
        batch = await take_key(shared, caller, asked)
    except IdempotencyMismatch as error:
        raise Problem(409, str(error)) from None
    if batch is None:
        try:
            params = [body.options.as_params(each, known[each].version, body.template_slug) for each in documents]
            params = await as_pending(shared, owner, params)
            with within_quotas():
                started = await start_each(shared.app, caller, KIND, params, owner=owner if caller.is_service else None)
        except Exception:
            await give_back_key(shared, caller, asked)
            raise
        batch = await add_batch(shared, caller, asked, [job.id for job in started])
    jobs = [
        {"jobId": job.id, "documentId": job.args["document_id"]}
        for job in await _visible_members(shared, caller, batch)
    ]
    return success({"batchId": batch, "jobs": jobs}, 202, {"Location": f"/api/v1/export/batch/{batch}"})


@router.get(
    "/export/batch/{id}", summary="How a batch is doing", response_model=Success[Batch], responses=problems(404)
)
async def get_batch(id: UUID, caller: Caller, shared: Shared) -> Response:
    return success(await _shape(shared, id, await _visible_members(shared, caller, id)))


@router.get(
    "/export/batch/{id}/stream",
    summary="Watch a batch",
    description=(
        "Server-sent events: `progress` with what `GET /export/batch/{id}` tells, each time that one of its exports "
        "gets on, then `completed`, `failed` or `cancelled` with batchId, resultUrl and error, and the end. A batch is "
        "completed when one of its exports is and none is left to do, and failed or cancelled when nothing came of it."
    ),
    response_class=StreamingResponse,
    responses=problems(404) | {200: {"description": "The stream.", "content": {"text/event-stream": {}}}},
)
async def stream_batch(id: UUID, caller: StreamCaller, shared: Shared) -> StreamingResponse:
    members = await _visible_members(shared, caller, id)
    return event_stream(_events(shared, id, follow_all(shared, caller, [job.id for job in members])))


async def _events(services: Services, id: UUID, changes: AsyncIterator[list[SeenJob] | None]) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    try:
        async for jobs in changes:
            if jobs is None:
                yield b": keep-alive\n\n"
                continue
            told = await _shape(services, id, jobs)
            yield event("progress", told)
            if told["status"] != "processing":
                yield event(told["status"], _end(id, told["status"]))
    except TimeoutError:
        yield event("timeout", {"message": "Stream timeout"})


_NOTHING = {"failed": "none of its exports was completed", "cancelled": "its exports were cancelled"}


def _end(id: UUID, status: BatchStatus) -> dict[str, Any]:
    url = absolute(f"/api/v1/export/batch/{id}/download") if status == "completed" else None
    return {"batchId": id, "resultUrl": url, "error": _NOTHING.get(status)}


async def _shape(services: Services, id: UUID, jobs: Sequence[SeenJob]) -> dict[str, Any]:
    count = Counter(status_of(job) for job in jobs)
    return {
        "batchId": id,
        "status": _status(count),
        "progress": round(100 * count["completed"] / len(jobs), 2),
        "completedCount": count["completed"],
        "failedCount": count["failed"],
        "cancelledCount": count["cancelled"],
        "totalCount": len(jobs),
        "jobs": [
            {
                "jobId": job.id,
                "documentId": job.args["document_id"],
                "status": status_of(job),
                "progress": percent_of(job),
                "error": error,
                "message": message_of(job, error),
                "runAfter": job.run_at,
            }
            for job, error in zip(jobs, await errors_of(services, jobs), strict=True)
        ],
    }


def _status(count: Counter[Status]) -> BatchStatus:
    if count["pending"] or count["processing"]:
        return "processing"
    if count["completed"]:
        return "completed"
    return "failed" if count["failed"] else "cancelled"


@router.get(
    "/export/batch/{id}/download",
    summary="Download a batch as a ZIP",
    response_class=Response,
    responses=problems(404, 410)
    | {
        200: {"description": "All the PDFs.", "content": _ZIP},
        206: {
            "model": Success[Partial],
            "description": "Not everything is completed: what is; with `partial=true`, a ZIP of it.",
            "content": _ZIP,
        },
    },
)
async def download_batch(
    id: UUID,
    caller: Caller,
    shared: Shared,
    partial: Annotated[bool, Query(description="The ZIP also when not everything is completed.")] = False,
) -> Response:
    jobs = await _visible_members(shared, caller, id)
    done = [job.id for job in jobs if job.state is JobState.SUCCEEDED]
    if not done:
        raise Problem(404, "Batch not found or incomplete")
    if len(done) < len(jobs) and not partial:
        told = {
            "message": "Batch partially complete",
            "completedCount": len(done),
            "totalCount": len(jobs),
            "completedJobs": done,
        }
        return success(told, 206)
    found = [artifact for job in done for artifact in await shared.app.artifacts.alist(job)]
    current = [each for each in found if not each.expired]
    if not current:
        raise Problem(410, "Export expired and has been deleted")
    return await send_zip(shared, current, f"resumes-{id}.zip", 200 if len(done) == len(jobs) else 206)


async def _visible_members(services: Services, caller: Identity, id: UUID) -> list[SeenJob]:
    """The exports of a batch of the caller's, in the order they were asked for, as far as they are still known."""
    jobs = await jobs_of_batch(services, caller, id)
    seen = {job.id: job for job in await visible_jobs(services, caller, jobs)} if jobs else {}
    members = [seen[job] for job in jobs if job in seen]
    if not members:
        raise Problem(404, "Batch not found or incomplete")
    return members

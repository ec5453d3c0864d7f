"""One export: ask for it, look at it, watch it, cancel it."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from penstock import JobState
from penstock.server import (
    Caller,
    IdempotencyKey,
    Identity,
    Problem,
    SeenJob,
    Services,
    Shared,
    StreamCaller,
    follow,
    link_to,
    problems,
    start,
    visible_job,
)
from penstock_recipes.answers import Success, refusing, success
from penstock_recipes.exports.routes.answers import event, event_stream, within_quotas
from penstock_recipes.exports.routes.documents import known_documents
from penstock_recipes.exports.shapes import ExportJob, ExportRequest, Message, StartedExport, Status
from penstock_recipes.exports.store import last_faults

router = refusing("exports")

KIND = "export_pdf"
STATUS: dict[JobState, Status] = {
    JobState.BLOCKED: "pending",
    JobState.SCHEDULED: "pending",
    JobState.READY: "pending",
    JobState.RUNNING: "processing",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}


@router.post(
    "/export/pdf",
    status_code=202,
    summary="Export a document as PDF",
    response_model=Success[StartedExport],
    responses=problems(403, 404, 429, 507),
)
async def export_document(body: ExportRequest, caller: Caller, shared: Shared, key: IdempotencyKey = None) -> Response:
    known = (await known_documents(shared, caller, [body.document_id]))[body.document_id]
    params = body.options.as_params(body.document_id, known.version, body.template_slug)
    [params] = await as_pending(shared, known.owner, [params])
    owner = known.owner if caller.is_service else None
    with within_quotas():
        # the params tell the document's version too, and the request is the same when it was edited meanwhile
        asked = body.model_dump(mode="json")
        job = await start(shared.app, caller, KIND, params, owner=owner, key=key, asked=asked)
    answer = {"jobId": job.id, "created": job.created}
    return success(answer, 202, {"Location": f"/api/v1/export/job/{job.id}"})


@router.get("/export/job/{id}", summary="How an export is doing", response_model=Success[ExportJob],
            responses=problems(404))  # fmt: skip
async def get_export(id: UUID, caller: Caller, shared: Shared) -> Response:
    return success(await _shape(shared, await visible_export(shared, caller, id)))


@router.delete(
    "/export/job/{id}",
    summary="Cancel an export",
    description="Whether it waits or is under way.",
    response_model=Success[Message],
    responses=problems(404, 409),
)
async def cancel_export(id: UUID, caller: Caller, shared: Shared) -> Response:
    await visible_export(shared, caller, id)
    if caller.is_service:
        asked = await shared.operator(caller).acancel_jobs(id, reason="cancelled by the service")
    else:
        asked = await shared.app.jobs.acancel(id, reason="cancelled by its owner")
    job = await visible_export(shared, caller, id)
    if job.state is JobState.CANCELLED:
        return success({"message": "Job cancelled"})
    if not asked or job.state.final:
        raise Problem(409, "Job has ended already")
    return success({"message": "Job is under way and was asked to stop"})


@router.get(
    "/export/job/{id}/stream",
    summary="Watch an export",
    description=(
        "Server-sent events: `progress` with jobId, status and progress, then `completed`, `failed` or `cancelled` "
        "with jobId, resultUrl and error, and the end. `timeout` when it has been open for long enough. Browsers may "
        "send their token as `access_token` in the address."
    ),
    response_class=StreamingResponse,
    responses=problems(404) | {200: {"description": "The stream.", "content": {"text/event-stream": {}}}},
)
async def stream_export(id: UUID, caller: StreamCaller, shared: Shared) -> StreamingResponse:
    await visible_export(shared, caller, id)
    return event_stream(_events(shared, follow(shared, caller, id)))


async def _events(services: Services, changes: AsyncIterator[SeenJob | None]) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    try:
        async for job in changes:
            if job is None:
                yield b": keep-alive\n\n"
                continue
            [error] = await errors_of(services, [job])
            told: dict[str, object] = {"jobId": job.id, "status": status_of(job), "progress": percent_of(job)}
            if error is not None and not job.state.final:
                told |= {"error": error, "message": message_of(job, error)}
            yield event("progress", told)
            if job.state.final:
                result = await _result_url(services, job)
                yield event(status_of(job), {"jobId": job.id, "resultUrl": result, "error": error})
    except TimeoutError:
        yield event("timeout", {"message": "Stream timeout"})


async def as_pending(services: Services, owner: str, each: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Arguments for exports; those of one that has not begun, where only the document was changed since. It reads the
    document when it begins, and prints the change: a second one would print the same, at the cost of another."""
    waiting = (JobState.SCHEDULED, JobState.READY)
    pending = [job.args async for job in services.app.jobs.aeach(kind=KIND, owner=owner, state=waiting)]

    def alike(params: dict[str, Any]) -> dict[str, Any]:
        version = {"document_version": params["document_version"]}
        return next((args for args in pending if args | version == params), params)

    return [alike(params) for params in each]


async def visible_export(services: Services, caller: Identity, id: UUID) -> SeenJob:
    """The job, if it is an export of the caller's."""
    job = await visible_job(services, caller, id)
    if job.kind != KIND:
        raise Problem(404, "Job not found")
    return job


def status_of(job: SeenJob) -> Status:
    return STATUS[job.state]


def percent_of(job: SeenJob) -> float:
    return 100 if job.state is JobState.SUCCEEDED else float(job.progress.get("percent", 0))


_MAY_HAVE_FAILED = (JobState.SCHEDULED, JobState.READY, JobState.FAILED)


async def errors_of(services: Services, jobs: Sequence[SeenJob]) -> list[str | None]:
    """Why they failed; of those that wait for their next attempt, why the last one did."""
    tried = [job.id for job in jobs if job.attempt > 0 and job.state in _MAY_HAVE_FAILED]
    faults = await last_faults(services.app, tried)
    return [faults.get(job.id) or job.error for job in jobs]


def message_of(job: SeenJob, error: str | None) -> str | None:
    if error is None or job.state.final:
        return job.progress.get("message")
    return f"Attempt {job.attempt} of {job.max_attempts} failed; the next is at {job.run_at:%Y-%m-%d %H:%M:%S} UTC"


async def _result_url(services: Services, job: SeenJob) -> str | None:
    """A fresh link, as long as the file is there."""
    if job.state is not JobState.SUCCEEDED:
        return None
    for artifact in job.artifacts or ():
        if not artifact.expired:
            return (await link_to(services, artifact))[0]
    return None


async def _shape(services: Services, job: SeenJob) -> dict[str, Any]:
    made = job.output if isinstance(job.output, dict) else {}
    [error] = await errors_of(services, [job])
    return {
        "id": job.id,
        "status": status_of(job),
        "progress": percent_of(job),
        "resultUrl": await _result_url(services, job),
        "error": error,
        "message": message_of(job, error),
        "documentId": job.args["document_id"],
        "documentVersion": made.get("documentVersion"),
        "historyId": made.get("historyId"),
        "fileSize": made.get("fileSize"),
        "pageCount": made.get("pageCount"),
        "warnings": made.get("warnings", []),
        "attempts": job.attempt,
        "maxAttempts": job.max_attempts,
        "runAfter": job.run_at,
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "completedAt": job.finished_at,
    }

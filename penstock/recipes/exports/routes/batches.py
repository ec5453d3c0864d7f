"""Several documents at once, and what has been made of them as one ZIP."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from penstock import Job, JobState
from penstock.recipes.exports.choices import Template
from penstock.recipes.exports.routes.answers import IdempotencyKey, Shape, Success, refusing, success, within_quotas
from penstock.recipes.exports.routes.documents import owners_of
from penstock.recipes.exports.routes.jobs import KIND, STATUS, Options, Status
from penstock.server import Caller, Identity, Problem, Services, Shared, problems, send_zip, start_batch, visible_job

router = refusing("exports")

MOST = 10
_ZIP: dict[str, Any] = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}


class BatchRequest(Shape):
    document_ids: list[UUID] = Field(min_length=1, max_length=MOST, description="One PDF is made of each, once.")
    template_slug: Template | None = None
    options: Options = Options()


class BatchItem(Shape):
    job_id: UUID
    document_id: UUID


class StartedBatch(Shape):
    batch_id: UUID
    jobs: list[BatchItem]


class BatchJob(BatchItem):
    status: Status


class Batch(Shape):
    batch_id: UUID
    status: Literal["processing", "completed"] = Field(description="Completed when nothing of it is left to do.")
    progress: float = Field(ge=0, le=100, description="How much of it has ended, in percent.")
    completed_count: int
    failed_count: int
    total_count: int
    jobs: list[BatchJob]


class Partial(Shape):
    message: str = Field(examples=["Batch partially complete"])
    completed_count: int = Field(examples=[3])
    total_count: int = Field(examples=[5])
    completed_jobs: list[UUID]


@router.post(
    "/export/batch",
    status_code=202,
    summary="Export several documents",
    response_model=Success[StartedBatch],
    responses=problems(403, 404, 429, 507),
)
async def export_batch(body: BatchRequest, caller: Caller, shared: Shared, key: IdempotencyKey = None) -> Response:
    documents = list(dict.fromkeys(body.document_ids))
    owners = await owners_of(shared, caller, documents)
    if len(set(owners.values())) > 1:
        raise Problem(400, "Invalid request: documentIds: must be of one user", errors=[])
    owner = owners[documents[0]] if caller.is_service else None
    items = [(KIND, body.options.as_params(each, body.template_slug)) for each in documents]
    with within_quotas():
        batch, *_ = await start_batch(shared.app, caller, items, owner=owner, key=key)
    # as they are: a repeated key stands for the batch of the first request
    jobs = [{"jobId": job.id, "documentId": job.args["document_id"]} for job in await _members(shared, batch.id)]
    return success({"batchId": batch.id, "jobs": jobs}, 202, {"Location": f"/api/v1/export/batch/{batch.id}"})


@router.get(
    "/export/batch/{id}", summary="How a batch is doing", response_model=Success[Batch], responses=problems(404)
)
async def get_batch(id: UUID, caller: Caller, shared: Shared) -> Response:
    jobs = await _visible_members(shared, caller, id)
    ended = [job for job in jobs if job.state.final]
    return success(
        {
            "batchId": id,
            "status": "completed" if len(ended) == len(jobs) else "processing",
            "progress": round(100 * len(ended) / len(jobs), 2),
            "completedCount": sum(job.state is JobState.SUCCEEDED for job in jobs),
            "failedCount": sum(job.state is JobState.FAILED for job in jobs),
            "totalCount": len(jobs),
            "jobs": [
                {"jobId": job.id, "documentId": job.args["document_id"], "status": STATUS[job.state]} for job in jobs
            ],
        }
    )


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
    artifacts = [each for each in await shared.app.artifacts.alist(id) if each.job in done]
    current = [each for each in artifacts if not each.expired]
    if not current:
        raise Problem(410, "Export expired and has been deleted")
    return await send_zip(shared, current, f"resumes-{id}.zip", 200 if len(done) == len(jobs) else 206)


async def _visible_members(services: Services, caller: Identity, id: UUID) -> list[Job]:
    """The exports of a batch of the caller's."""
    await visible_job(services, caller, id)
    members = await _members(services, id)
    if not members:
        raise Problem(404, "Batch not found or incomplete")
    return members


async def _members(services: Services, batch: UUID) -> list[Job]:
    """In the order they were asked for."""
    page = await services.app.jobs.alist(parent=batch, kind=KIND, limit=MOST)
    return sorted(page.jobs, key=lambda job: job.id)

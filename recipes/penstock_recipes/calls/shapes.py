"""A call as the API shows it."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from penstock import Job
from penstock_recipes.calls.jobs import PHASES

Status = Literal["queued", "processing", "done", "failed"]
_STAGE: dict[str, Status] = {"running": "processing", "succeeded": "done", "failed": "failed", "cancelled": "failed"}


class Shape(BaseModel):
    """Names are camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class StageStatus(Shape):
    stage: Literal["extract_audio", "transcribe_start", "transcribe_poll", "analyze"]
    status: Status
    attempts: int = Field(description="How often it was begun, looks at an unfinished transcription not counted.")
    max_attempts: int
    polls: int = Field(description="How often it has looked and found nothing.")
    last_error: str | None = Field(examples=["the file holds no sound"])
    available_at: datetime = Field(description="When it may begin, or begin again.")
    started_at: datetime | None
    finished_at: datetime | None


class CallSummary(Shape):
    id: UUID
    org_id: UUID
    user_id: str | None = Field(description="Who uploaded it; null for the service.")
    file_name: str = Field(examples=["call.mp4"])
    content_type: str = Field(examples=["video/mp4"])
    size: int
    seconds: float | None = Field(description="Known when its sound has been extracted.")
    job_id: UUID = Field(description="`/api/jobs/{jobId}/stream` tells of it as it goes.")
    status: Status
    progress: float = Field(ge=0, le=100)
    message: str | None
    error: str | None = Field(description="Why it has failed.")
    created_at: datetime


class FileLink(Shape):
    artifact_id: UUID
    url: str = Field(description="For an hour.")
    size: int | None
    content_type: str


class Files(Shape):
    audio: FileLink | None
    transcript: FileLink | None
    analysis: FileLink | None


class CallStatus(CallSummary):
    stages: list[StageStatus]
    files: Files


class Calls(Shape):
    calls: list[CallSummary]
    next_cursor: UUID | None = Field(description="Pass it as `cursor` for the next page; null on the last one.")


class Accepted(Shape):
    id: UUID = Field(description="The call's.")
    job_id: UUID = Field(description="`/api/jobs/{jobId}/stream` tells of it as it goes.")
    created: bool = Field(description="False when a request with the same Idempotency-Key has made it before.")


COLUMNS = """
  c.id, c.org_id, c.user_id, c.file_name, c.content_type, c.size, c.seconds, c.job_id, c.created_at,
  (select pg_catalog.jsonb_object_agg(a.type, a.artifact_id)
     from calls.artifacts as a where a.call_id = c.id) as artifacts,
  (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'stage', s.stage, 'state', s.state, 'attempts', s.attempt, 'maxAttempts', s.max_attempts,
            'polls', s.snoozes, 'lastError', s.last_error, 'availableAt', s.run_at, 'startedAt', s.started_at,
            'finishedAt', s.finished_at, 'percent', s.percent, 'message', s.message) order by s.id)
     from calls.stages as s
    where s.call_id = c.id) as stages
"""
"""Of `calls.calls as c`. By their ids the stages are in the order they run."""


def stage_of(job: Job, last_error: str | None) -> dict[str, Any]:
    """The same of a job that is not in the database."""
    return {
        "stage": job.kind,
        "state": job.state,
        "attempts": job.attempt,
        "maxAttempts": job.max_attempts,
        "polls": job.snoozes,
        "lastError": last_error,
        "availableAt": job.run_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
        "percent": job.percent,
        "message": job.progress.get("message"),
    }


def summary(row: dict[str, Any]) -> dict[str, Any]:
    stages = row["stages"] or []
    status = _status(row["artifacts"] or {}, stages)
    whole = stages[-1] if stages else {}
    return {
        "id": row["id"],
        "orgId": row["org_id"],
        "userId": row["user_id"],
        "fileName": row["file_name"],
        "contentType": row["content_type"],
        "size": row["size"],
        "seconds": row["seconds"],
        "jobId": row["job_id"],
        "status": status,
        "progress": _progress(status, stages, whole.get("percent", 0)),
        "message": whole.get("message") if status == "processing" else None,
        "error": _error(stages) if status == "failed" else None,
        "createdAt": row["created_at"],
    }


def stages_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Without what is only there to be summed up."""
    names = [to_camel(name) for name in StageStatus.model_fields if name != "status"]
    return [
        {name: stage[name] for name in names} | {"status": _STAGE.get(stage["state"], "queued")}
        for stage in row["stages"] or []
    ]


def _status(artifacts: dict[str, str], stages: list[dict[str, Any]]) -> Status:
    if "analysis" in artifacts and all(stage["state"] == "succeeded" for stage in stages):
        return "done"
    # those that wait for a stage that has failed may be told a moment later, one after the other
    ended = all(stage["finishedAt"] for stage in stages)
    if not stages or (ended and {"failed", "cancelled"} & {stage["state"] for stage in stages}):
        return "failed"
    return "processing" if any(stage["startedAt"] for stage in stages) else "queued"


def _progress(status: Status, stages: list[dict[str, Any]], percent: float) -> float:
    """Of a call that has failed: what there is of it, which a retry will not make again."""
    if status == "failed":
        return max([PHASES[stage["stage"]][1] for stage in stages[:-1] if stage["state"] == "succeeded"], default=0.0)
    return 100 if status == "done" else percent


def _error(stages: list[dict[str, Any]]) -> str:
    """That of the stage which failed: others were only cancelled because of it, and the last sums it up."""
    for state in ("failed", "cancelled"):
        for stage in stages:
            if stage["state"] == state and stage["lastError"]:
                return str(stage["lastError"])
    return "it was not finished, and its jobs are not on record any more"

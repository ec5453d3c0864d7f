"""A job as the API shows it: the fields of a SeenJob under their own names, and what is made for whoever looks."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b
from typing import Any

import msgspec

from penstock.artifact import Artifact
from penstock.engine.commands import SeenJob
from penstock.job import JobState
from penstock.workers import Holder

_OF_PROGRESS = ("phase", "done", "total", "failed", "message", "reason")

_encode = msgspec.json.Encoder().encode


def percent_of(job: SeenJob) -> float:
    percent = 100.0 if job.state is JobState.SUCCEEDED else float(job.progress.get("percent", 0))
    return int(percent) if percent == int(percent) else percent


def progress_of(job: SeenJob) -> dict[str, Any]:
    return {"percent": percent_of(job), **{name: job.progress.get(name) for name in _OF_PROGRESS}}


def job_shape(job: SeenJob, artifacts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    shape = service_shape(job, artifacts)
    del shape["parked_reason"], shape["errors"]
    return shape


def service_shape(job: SeenJob, artifacts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """With what only whoever runs the system is told."""
    shape = msgspec.structs.asdict(job)
    del shape["rollup"]
    return shape | {"progress": progress_of(job), "artifacts": artifacts}


def worker_shape(holder: Holder) -> dict[str, Any]:
    """Without the seconds since its last heartbeat, which would make every answer another one."""
    return {"worker": holder.worker, "host": holder.host, "pid": holder.pid, "since": holder.since}


_OF_ARTIFACT = tuple(each.name for each in fields(Artifact) if each.name not in ("path", "state"))


def artifact_shape(artifact: Artifact) -> dict[str, Any]:
    """Without where its file is stored: whoever may read it is given a link."""
    return {name: getattr(artifact, name) for name in _OF_ARTIFACT} | {"type": artifact.shown_type}


def encode(shape: object) -> bytes:
    return _encode(shape)


def version_of(content: bytes) -> str:
    """Names a state: equal content, equal version."""
    return blake2b(content, digest_size=12).hexdigest()

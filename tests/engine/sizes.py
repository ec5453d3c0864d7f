"""Arguments on both sides of the line between small and large. They name their job, so that nobody can mix them up."""

import json
from dataclasses import replace

from penstock.engine.postgres.copy import INLINE
from penstock.job import ClaimedJob, NewJob


def sized(job: NewJob, *, large: bool) -> NewJob:
    args = {"id": str(job.id)} | ({"text": "large " * INLINE} if large else {})
    return replace(job, args=json.dumps(args).encode())


def carries_its_own(job: ClaimedJob) -> bool:
    args = json.loads(job.args)
    return bool(args["id"] == str(job.id))

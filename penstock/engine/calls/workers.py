"""Who works, and on what."""

from datetime import datetime
from uuid import UUID

import msgspec

from penstock.engine.call import Call


class RunningJob(msgspec.Struct, frozen=True):
    id: UUID
    kind: str
    queue: str
    attempt: int
    since: datetime
    seconds: float
    cancel_requested: bool


class LiveWorker(msgspec.Struct, frozen=True):
    """`heard_at` is its last heartbeat; `running` has the job first that runs longest."""

    lease: int
    worker: str
    host: str | None
    pid: int | None
    queues: list[str]
    started_at: datetime
    heard_at: datetime
    running: list[RunningJob]


_decode = msgspec.json.Decoder(LiveWorker).decode


def workers(job: UUID | None = None) -> Call[list[LiveWorker]]:
    """All of them, or the one that runs this job."""
    return Call(
        "select pg_catalog.row_to_json(w)::text from penstock.workers(%s) as w",
        [job],
        lambda rows: [_decode(row[0]) for row in rows],
        repeatable=True,
    )

"""A job's hash in Redis, as BullMQ and Penstock have written it, read as our values."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.bullmq.names import from_bullmq, queue_of_name, uuid_of
from penstock.job import ClaimedJob, Job, JobState

CANCEL, ERRORS, SNOOZES, PARKED, PARKED_AT, STEP = (
    "ps:cancel", "ps:errors", "ps:snoozes", "ps:parked", "ps:parked_at", "ps:step:",
)  # fmt: skip
"""Fields of ours in a job's hash, which BullMQ leaves alone and removes with the job."""

STALLED = "job stalled more than allowable limit"
"""What BullMQ says of a job whose workers were lost."""

_STATES = {
    "completed": JobState.SUCCEEDED, "failed": JobState.FAILED, "delayed": JobState.SCHEDULED,
    "active": JobState.RUNNING, "waiting": JobState.READY, "prioritized": JobState.READY,
    "waiting-children": JobState.BLOCKED,
}  # fmt: skip


def moment(ms: float | str) -> datetime:
    return datetime.fromtimestamp(float(ms) / 1000, UTC)


def decode(text: str | None, otherwise: Any = None) -> Any:
    if not text:
        return otherwise
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


class Record:
    """Of the job `id` of a queue."""

    def __init__(self, queue: str, id: str, fields: Mapping[str, str]) -> None:
        self.queue = queue
        self.id = id
        self.fields = fields

    @cached_property
    def uuid(self) -> UUID:
        return uuid_of(self.queue, self.id)

    @cached_property
    def opts(self) -> dict[str, Any]:
        found = decode(self.fields.get("opts"), {})
        return found if isinstance(found, dict) else {}

    @property
    def ours(self) -> dict[str, Any] | None:
        """What we said of it; None for a job that somebody else has added."""
        return self.opts.get("penstock")

    @property
    def kind(self) -> str:
        return self.fields.get("name", "")

    @property
    def about(self) -> dict[str, Any]:
        return self.ours or {}

    @property
    def max_attempts(self) -> int:
        return max(int(self.opts.get("attempts") or 0), 1)

    def attempts_made(self) -> int:
        """A worker that was lost has cost one of ours an attempt; BullMQ counts that by itself."""
        made = int(self.fields.get("atm") or self.fields.get("attemptsMade") or 0)
        return made + (int(self.fields.get("stc") or 0) if self.ours is not None else 0)

    @property
    def claims(self) -> int:
        return int(self.fields.get("ats") or 0)

    @property
    def snoozes(self) -> int:
        return int(self.fields.get(SNOOZES) or 0)

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Ours with their times; of others, what BullMQ keeps."""
        ours = decode(self.fields.get(ERRORS))
        if ours:
            return list(ours)
        reason = self.fields.get("failedReason") or self.fields.get(CANCEL)
        return [{"error": reason, "attempt": self.attempts_made()}] if reason else []

    @property
    def args_json(self) -> str:
        """What is no object there is an argument `data` here."""
        text = self.fields.get("data") or "{}"
        if text.lstrip().startswith("{"):
            return text
        return "{}" if text in ("null", '""') else f'{{"data":{text}}}'

    @property
    def progress(self) -> dict[str, Any]:
        told = decode(self.fields.get("progress"), {})
        if isinstance(told, int | float) and not isinstance(told, bool):
            return {"percent": told} if told else {}
        return told if isinstance(told, dict) else {"message": told}

    @property
    def flow(self) -> UUID | None:
        """The flow that it is of; what waits for it may be another job of that."""
        return UUID(self.about["flow"]) if self.about.get("flow") else None

    @property
    def parent(self) -> UUID | None:
        above = decode(self.fields.get("parent"))
        if self.flow is not None or not isinstance(above, dict):
            return self.flow
        return uuid_of(queue_of_name(str(above.get("queueKey", ""))), str(above["id"]))

    def claimed(self) -> ClaimedJob:
        about = self.about
        options = about.get("options")
        return ClaimedJob(
            id=self.uuid, kind=self.kind, priority=from_bullmq(int(self.fields.get("priority") or 0)), turn=0,
            attempt=self.attempts_made() + 1, max_attempts=self.max_attempts, claims=self.claims, snoozes=self.snoozes,
            owner=about.get("owner"), org=about.get("org"), parent=self.parent,
            created_at=moment(self.fields.get("timestamp") or 0), args=self.args_json,
            options=msgspec.json.encode(options).decode() if options else None,
        )  # fmt: skip

    def state(self, place: str) -> JobState:
        if place == "failed" and CANCEL in self.fields:
            return JobState.CANCELLED
        return _STATES.get(place, JobState.BLOCKED)

    def job(self, place: str, waiting_on: int = 0) -> Job:
        fields, about, state = self.fields, self.about, self.state(place)
        created = moment(fields.get("timestamp") or 0)
        delay = float(fields.get("delay") or 0)
        since = float(fields.get("processedOn") or fields.get("timestamp") or 0)
        running = state is JobState.RUNNING
        return Job(
            id=self.uuid, queue=self.queue, kind=self.kind, state=state,
            priority=from_bullmq(int(fields.get("priority") or 0)),
            attempt=self.attempts_made() + running, max_attempts=self.max_attempts, snoozes=self.snoozes,
            max_snoozes=about.get("max_snoozes"), waiting_on=waiting_on, parent=self.parent, owner=about.get("owner"),
            org=about.get("org"), unique_key=about.get("unique_key"), limit_key=about.get("limit_key"),
            phase=about.get("phase"), weight=about.get("weight"), cancel_requested=CANCEL in fields,
            args=decode(self.args_json, {}), progress=self.progress, errors=self.errors,
            options=about.get("options") or {}, output=decode(fields.get("returnvalue")), created_at=created,
            run_at=moment(since + delay) if state is JobState.SCHEDULED else created,
            started_at=moment(fields["processedOn"]) if fields.get("processedOn") else None,
            finished_at=moment(fields["finishedOn"]) if fields.get("finishedOn") else None,
            parked_since=moment(fields[PARKED_AT]) if fields.get(PARKED) else None,
            parked_reason=fields.get(PARKED) or None,
        )  # fmt: skip


def record_of(queue: str, id: str, flat: Any) -> Record:
    """Of what HGETALL gave: a dictionary, or inside a script's answer a list of fields and values."""
    fields = flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))
    return Record(queue, id, fields)

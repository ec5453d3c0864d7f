"""A job's hash in Redis, as BullMQ and Penstock have written it, read as our values."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.bullmq.again import last_progress, progress_again
from penstock.engine.bullmq.names import from_bullmq, queue_of_name, uuid_of
from penstock.job import ClaimedJob, Job, JobState

CANCEL, ERRORS, SNOOZES, PARKED, PARKED_AT, UNRUN, STEP = (
    "ps:cancel", "ps:errors", "ps:snoozes", "ps:parked", "ps:parked_at", "ps:unrun", "ps:step:",
)  # fmt: skip
"""Fields of ours in a job's hash, which BullMQ leaves alone and removes with the job."""

STALLED = "job stalled more than allowable limit"
"""What BullMQ says of a job whose workers were lost."""

_STATES = {
    "completed": JobState.SUCCEEDED, "failed": JobState.FAILED, "delayed": JobState.SCHEDULED,
    "active": JobState.RUNNING, "waiting": JobState.READY, "prioritized": JobState.READY,
    "waiting-children": JobState.BLOCKED,
}  # fmt: skip


def moment(ms: object) -> datetime:
    """1970 for what is no time."""
    try:
        return datetime.fromtimestamp(number(ms) / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)


def number(said: object) -> float:
    """0 for what is none. Whoever may write to Redis may write anything there, and one job that cannot be read would
    keep its worker from all the others."""
    try:
        return float(said) if isinstance(said, str | int | float) else 0.0
    except (OverflowError, ValueError):
        return 0.0


def _whole(said: object) -> int:
    read = number(said)
    return int(read) if abs(read) < _MOST else 0


_MOST = 2**31


def decode(text: str | None, otherwise: Any = None) -> Any:
    if not text:
        return otherwise
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
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
        said = self.opts.get("penstock")
        return said if isinstance(said, dict) else None

    @property
    def kind(self) -> str:
        return self.fields.get("name", "")

    @property
    def about(self) -> dict[str, Any]:
        return self.ours or {}

    @property
    def max_attempts(self) -> int:
        return max(_whole(self.opts.get("attempts")), 1)

    def attempts_made(self) -> int:
        """A worker that was lost has cost one of ours an attempt; BullMQ counts that by itself."""
        made = _whole(self.fields.get("atm") or self.fields.get("attemptsMade")) - (UNRUN in self.fields)
        return max(made, 0) + (max(_whole(self.fields.get("stc")), 0) if self.ours is not None else 0)

    @property
    def claims(self) -> int:
        return _whole(self.fields.get("ats"))

    @property
    def snoozes(self) -> int:
        return _whole(self.fields.get(SNOOZES))

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Ours with their times; of others, what BullMQ keeps."""
        ours = decode(self.fields.get(ERRORS))
        if ours and isinstance(ours, list):
            return ours
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
        """Of what has ended without why it was tried again."""
        told = decode(self.fields.get("progress"), {})
        if isinstance(told, int | float) and not isinstance(told, bool):
            return {"percent": told} if told else {}
        if not isinstance(told, dict):
            return {"message": told}
        return last_progress(told) if "reason" in told and self.fields.get("finishedOn") else told

    def begins_again(self, reason: str, attempt: int | None = None) -> dict[str, str]:
        """The field of its progress then; none of a job that somebody else has added, to whom it may mean other
        things."""
        if self.ours is None or (attempt is None and not self.progress):
            return {}
        flow = bool(self.about.get("rollup"))
        again = progress_again(self.progress, reason, attempt, self.max_attempts, flow=flow)
        return {"progress": msgspec.json.encode(again).decode()}

    @property
    def flow(self) -> UUID | None:
        """The flow that it is of; what waits for it may be another job of that."""
        said = self.about.get("flow")
        try:
            return UUID(str(said)) if said else None
        except ValueError:
            return None

    @property
    def parent(self) -> UUID | None:
        above = decode(self.fields.get("parent"))
        if self.flow is not None or not isinstance(above, dict):
            return self.flow
        # where this queue has braces of its own, so may the other
        queue = queue_of_name(str(above.get("queueKey", "")), spread="{" not in self.queue)
        return uuid_of(queue, str(above.get("id")))

    def claimed(self) -> ClaimedJob:
        about = self.about
        options = about.get("options")
        return ClaimedJob(
            id=self.uuid, kind=self.kind, priority=from_bullmq(_whole(self.fields.get("priority"))), turn=0,
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
        delay = number(fields.get("delay"))
        since = number(fields.get("processedOn") or fields.get("timestamp"))
        running = state is JobState.RUNNING
        parked = None if running or state.final else fields.get(PARKED) or None
        return Job(
            id=self.uuid, queue=self.queue, kind=self.kind, state=state,
            priority=from_bullmq(_whole(fields.get("priority"))),
            attempt=self.attempts_made() + running, max_attempts=self.max_attempts, snoozes=self.snoozes,
            max_snoozes=about.get("max_snoozes"), waiting_on=waiting_on, parent=self.parent, owner=about.get("owner"),
            org=about.get("org"), unique_key=about.get("unique_key"), limit_key=about.get("limit_key"),
            phase=about.get("phase"), weight=about.get("weight"), cancel_requested=CANCEL in fields,
            args=decode(self.args_json, {}), progress=self.progress, errors=self.errors,
            options=about.get("options") or {}, output=decode(fields.get("returnvalue")), created_at=created,
            run_at=moment(since + delay) if state is JobState.SCHEDULED else created,
            started_at=moment(fields["processedOn"]) if fields.get("processedOn") else None,
            finished_at=moment(fields["finishedOn"]) if fields.get("finishedOn") else None,
            parked_since=moment(fields.get(PARKED_AT)) if parked else None, parked_reason=parked,
        )  # fmt: skip


def record_of(queue: str, id: str, flat: Any) -> Record:
    """Of what HGETALL gave: a dictionary, or inside a script's answer a list of fields and values."""
    fields = flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))
    return Record(queue, id, fields)

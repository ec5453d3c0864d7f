"""Enqueueing. Any driver of the caller's must be able to run these, so their rendering is text on both ways."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from penstock.engine.commands.command import Command, Repeatable
from penstock.job import Enqueued, NewJob, Seconds


class EnqueueJobs(Command[list[Enqueued]], frozen=True):
    jobs: Sequence[NewJob]


class EnqueuePlain(Command[None], frozen=True):
    """A job like this one, with these arguments: the shortest way, for one that is `plain`. `hand` where the command is
    a transaction by itself: an idle worker may be given the job with the notification."""

    job: NewJob
    id: str
    args: bytes
    hand: bool = False


class ExistingIds(Repeatable[list[UUID]], frozen=True):
    """Of these jobs, the ones that exist, live or finished."""

    ids: Sequence[bytes]


class BeforeCopy(msgspec.Struct, frozen=True):
    """The jobs' turn in line, the engine's time, what the queue is fair by, if it is, and whether COPY will do: this
    login may, and the jobs count against no quota of their owner's, which only the functions know."""

    turn: int
    now: datetime
    fair_by: str | None
    may_copy: bool


class PrepareCopy(Repeatable[BeforeCopy], frozen=True):
    queue: str
    kind: str
    owner: str | None


class TakeTurns(Command[int], frozen=True):
    queue: str
    key: str | None
    jobs: int


class Emit(Command[UUID | None], frozen=True):
    """Tell whoever waits for an event, or whoever comes to wait for it within `keep` seconds. The job that has it, None
    when it is kept. `hand` where the command is all of its transaction."""

    event: Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]+$")]
    key: Annotated[str, msgspec.Meta(max_length=500, pattern="^[^\\x00]*$")] = ""
    payload: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    keep: Seconds = 7 * 24 * 3600.0
    hand: bool = False

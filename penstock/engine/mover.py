"""Moving a queue from one engine to another: what an engine must do for that, and the order that loses and doubles
nothing, wherever it is interrupted."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from penstock.job import NewJob

if TYPE_CHECKING:
    from penstock.engine.protocol import Engine

log = logging.getLogger("penstock.move")

CHUNK = 500


class Stays(StrEnum):
    """Why a job is not moved."""

    RUNNING = "running"
    FLOW = "flow"
    """Part of a flow: its jobs would have to go together, and may be in several queues."""
    BEGUN = "begun"
    """It has begun and waits, with steps that are remembered here."""
    SCHEDULE = "schedule"
    """The next of a schedule of BullMQ's, which adds one after the other."""
    REFUSED = "refused"
    """It is none that could be here, or there."""
    NEW = "new"
    """It came after the last look."""


@dataclass(frozen=True, slots=True)
class MovedJob:
    """A job on its way. `attempt` and `snoozes` are how many it has had, `errors` what it failed with, as shown."""

    job: NewJob
    attempt: int
    snoozes: int
    created_at: datetime
    errors: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """How many came over, and how many are still there, by why."""

    jobs: int
    stay: "Mapping[Stays, int]" = field(default_factory=dict)

    @property
    def left(self) -> int:
        return sum(self.stay.values())


class Mover(Protocol):
    refusals: tuple[type[Exception], ...]
    """What `take_in` raises of a job that cannot be here."""

    def waiting(self, queue: str) -> int:
        """How many there are to move, or still here."""
        ...

    def staying(self, queue: str) -> "Mapping[Stays, int]":
        """How many are here when no more can be held, by why."""
        ...

    def hold(self, queue: str, limit: int) -> Sequence[MovedJob]:
        """Jobs of the queue that have not started, put where no worker reaches them; first those that an earlier move
        has put there. They stay there until they are let go, or given back."""
        ...

    def take_in(self, queue: str, jobs: Sequence[MovedJob]) -> None:
        """Adds those that are not here yet, by their ids."""
        ...

    def let_go(self, queue: str, ids: Sequence[UUID]) -> None:
        """Removes jobs that are held, and leaves no record of them."""
        ...

    def give_back(self, queue: str, ids: Sequence[UUID]) -> None:
        """Puts jobs that are held back where they were, and holds them no more."""
        ...


def move(source: "Engine", target: "Engine", queue: str, tell: Callable[[int], None] = lambda _: None) -> Moved:
    """Put aside here, added there, removed here: whoever is killed in between repeats a step that was done, and a job
    that is on both sides can run on one alone."""
    out, into = source.mover(), target.mover()
    moved = 0
    while held := out.hold(queue, CHUNK):
        refused = _refused(into, queue, held)
        if refused:
            for id, why in refused.items():
                log.warning("job %s stays: %s", id, why)
            out.give_back(queue, list(refused))
        taken = [each.job.id for each in held if each.job.id not in refused]
        out.let_go(queue, taken)
        moved += len(taken)
        tell(moved)
    return Moved(moved, out.staying(queue))


def _refused(into: Mover, queue: str, held: Sequence[MovedJob]) -> dict[UUID, Exception]:
    """Those that cannot be taken in, by halves: the others are then there."""
    try:
        into.take_in(queue, held)
    except into.refusals as error:
        if len(held) == 1:
            return {held[0].job.id: error}
        half = len(held) // 2
        return _refused(into, queue, held[:half]) | _refused(into, queue, held[half:])
    return {}

"""A claimer's cursor: where to go on claiming, so that no claim steps over what was taken before.

With an old snapshot open anywhere, taken jobs stay in the ready index as dead entries and a claim from the beginning
walks them all. Past the cursor there are none. What lands behind it (a late commit, a claim that was rolled back) is
found by a full look, from the queue's floor, which is due after a pause of twenty times what they cost: full looks take
no more than 5 % of the time, and come every few milliseconds.
"""

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from penstock.engine.commands import Claim
from penstock.job import ClaimedJob, Lease

FULL_LOOK_SHARE = 20
MOST_PRIORITIES = 16


class Cursor:
    """The marks of one claimer on one queue: for each priority it has met, the (turn, id) it took last in line. Not at
    the front (turns below zero), which is looked at each time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: dict[int, tuple[int, UUID]] = {}
        self._full_look_due = 0.0
        self._started = 0.0
        self._full = True
        self._took = 0.0

    @property
    def looked_everywhere(self) -> bool:
        """Whether the last claim was a full look: only then does "nothing" mean that the queue has nothing."""
        return self._full

    def full_look_in(self) -> float:
        """Seconds until a full look is due."""
        return max(0.0, self._full_look_due - self._clock())

    def claim(self, lease: Lease, queue: str, limit: int, *, full: bool = False) -> Claim:
        """The next claim; `full` looks everywhere all the same."""
        return Claim(lease, queue, limit, *self.marks(full=full))

    def marks(self, *, full: bool = False) -> tuple[list[int], list[int], list[UUID]]:
        """The next claim's arguments (priorities, turns, ids); empty for a full look, when one is due or asked for."""
        self._started = self._clock()
        self._full = full or not self._marks or self._started >= self._full_look_due
        if self._full:
            return [], [], []
        marks = sorted(self._marks.items(), reverse=True)
        return (
            [priority for priority, _ in marks],
            [turn for _, (turn, _) in marks],
            [id for _, (_, id) in marks],
        )

    def advance(self, claimed: Sequence[ClaimedJob], wanted: int) -> None:
        """Takes note of what the claim brought, best first."""
        now = self._clock()
        if self._full:
            before, self._took = self._took, now - self._started
            # the cheaper of the last two: a look that was slow for another reason (a connection to open, a network
            # that stood still for two seconds) must not keep the next one waiting for twenty times as long
            self._full_look_due = now + FULL_LOOK_SHARE * min(before, self._took)
        # A full look that came back full has a backlog before the mark: go on from there. (One id from a clock that
        # runs ahead would otherwise leave all the others to full looks.)
        going_back = self._full and len(claimed) >= wanted
        last_of_each = {claimed[-1].priority: claimed[-1]} if claimed else {}
        if claimed and claimed[0].priority != claimed[-1].priority:
            last_of_each = {job.priority: job for job in claimed}
        for priority, job in last_of_each.items():
            mark = (job.turn, job.id)
            if job.turn >= 0 and (going_back or mark > self._marks.get(priority, (-1, job.id))):
                self._marks[priority] = mark
        if len(self._marks) > MOST_PRIORITIES:
            self._marks.clear()

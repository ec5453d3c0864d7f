"""What the engine promises, said again in plain Python: one dictionary of jobs, no counters, no locks, no indexes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from penstock.job import ClaimedJob, JobState, Lease, NewJob

BLOCKED, SCHEDULED, READY, RUNNING = JobState.BLOCKED, JobState.SCHEDULED, JobState.READY, JobState.RUNNING
SUCCEEDED, FAILED, CANCELLED = JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED

SOON = timedelta(seconds=1)


@dataclass
class Row:
    job: NewJob
    queue: str
    run_at: datetime
    state: JobState = BLOCKED
    place: tuple[bool, int] = (True, 0)
    """In line: behind whoever was ready before it, at the front when it had been served."""
    attempt: int = 0
    claims: int = 0
    snoozes: int = 0
    lease: Lease | None = None
    cancel_requested: bool = False
    parked: bool = False
    started_at: datetime | None = None
    percent: float = 0.0
    rolled_up: float = 0.0
    """For a flow at its last step: how far its children were."""
    booked: bool = False
    """Its flow has taken note of its end."""
    counts: bool = False
    """Its end takes its flow further: it succeeded, or the flow goes on without it."""
    ended: Counter[JobState] = field(default_factory=Counter)
    """For a flow: how its booked children ended."""

    @property
    def id(self) -> UUID:
        return self.job.id

    @property
    def live(self) -> bool:
        return not self.state.final

    @property
    def is_flow(self) -> bool:
        return self.job.rollup is not None

    def setting(self, name: str) -> object:
        return (self.job.rollup or {}).get(name)


class Model:
    def __init__(self, now: datetime) -> None:
        self.now = now
        self.rows: dict[UUID, Row] = {}
        self.purged: list[UUID] = []
        self.leases: dict[Lease, datetime] = {}
        self.went_back = False
        """A job starts again or ended in vain, and its flows are less far than they were."""
        self.turns = 0
        self.runs = 0
        """Runs that a worker reported the end of."""

    # Looking.

    def by_state(self, *states: JobState) -> list[Row]:
        return [row for row in self.rows.values() if row.state in states]

    def live_rows(self) -> list[Row]:
        return [row for row in self.rows.values() if row.live]

    def holder_of(self, kind: str, unique_key: str | None) -> Row | None:
        """The live job that holds a unique key."""
        for row in self.live_rows():
            if unique_key is not None and (row.job.kind, row.job.unique_key) == (kind, unique_key):
                return row
        return None

    def owns(self, lease: Lease, claimed: ClaimedJob) -> bool:
        row = self.rows.get(claimed.id)
        return row is not None and row.state is RUNNING and (row.lease, row.claims) == (lease, claimed.claims)

    def children(self, row: Row) -> list[Row]:
        return [other for other in self.rows.values() if other.job.parent == row.id] if row.is_flow else []

    def waiters(self, ended: Iterable[Row]) -> list[Row]:
        ids = {row.id for row in ended}
        found = [row for row in self.rows.values() if row.state is BLOCKED and ids.intersection(row.job.after)]
        return sorted(found, key=lambda row: row.id)

    def has_nothing_to_wait_for(self, row: Row) -> bool:
        awaited = (self.rows.get(id) for id in row.job.after)
        return all(other is None or other.state is SUCCEEDED for other in awaited) and all(
            not child.live and child.booked for child in self.children(row)
        )

    def percent(self, row: Row) -> float:
        """How far a job is: its own report, or for a flow at work the weighted mean of its children."""
        if not row.is_flow or row.state is not BLOCKED:
            return row.percent
        done = [
            (child.job.weight or 1) * (self.percent(child) if child.live else 100 * child.counts)
            for child in self.children(row)
        ]
        return sum(done) / float(sum(phase["weight"] for phase in (row.job.rollup or {})["phases"]))

    # What clients do.

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        """Jobs that the engine says it created."""
        for job in jobs:
            self.rows[job.id] = Row(job, job.queue, job.run_at or self.now)
        for job in jobs:
            row = self.rows[job.id]
            if self.has_nothing_to_wait_for(row):
                self._free(row)

    def cancel(self, ids: Iterable[UUID]) -> None:
        self._settle(self._cancel_tree(self.rows[id] for id in ids if id in self.rows))

    def revived_by_retry(self, ids: Iterable[UUID]) -> list[Row] | None:
        """The jobs a retry brings back; None when unique keys forbid it."""
        found: dict[UUID, Row] = {}
        todo = [self.rows[id] for id in ids if id in self.rows and self.rows[id].state in (FAILED, CANCELLED)]
        while todo:
            row = todo.pop()
            if row.id in found:
                continue
            found[row.id] = row
            flow = self.rows.get(row.job.parent) if row.job.parent else None
            if flow and not flow.live and (flow.state is not SUCCEEDED or flow.ended[FAILED] + flow.ended[CANCELLED]):
                todo.append(flow)
            todo += [
                other
                for other in self.rows.values()
                if other.state in (FAILED, CANCELLED)
                and (other.job.parent == row.id or other.id in row.job.after or row.id in other.job.after)
            ]
        keys = [(row.job.kind, row.job.unique_key) for row in found.values() if row.job.unique_key is not None]
        if len(keys) > len(set(keys)) or any(self.holder_of(kind, key) for kind, key in keys):
            return None
        return sorted(found.values(), key=lambda row: row.id)

    def retry(self, revived: Sequence[Row], queue: str | None) -> None:
        for row in revived:
            row.state, row.run_at, row.attempt, row.snoozes = BLOCKED, self.now, 0, 0
            row.cancel_requested, row.booked, row.queue = False, False, queue or row.queue
            row.parked = False
            if not row.is_flow:
                row.percent = 0.0
        for flow in self.by_state(BLOCKED):
            if flow in revived or any(child in revived for child in self.children(flow)):
                flow.ended = Counter(child.state for child in self.children(flow) if not child.live)
                for child in self.children(flow):
                    child.booked = not child.live
                    child.counts = self._takes_further(child, flow)
        ended = [self._unblock(row) for row in revived if self.has_nothing_to_wait_for(row)]
        self._settle([row for rows in ended for row in rows])

    def purge(self, rows: Iterable[Row]) -> int:
        """Forgets finished jobs, but not those that a live job still counts on."""
        gone = [row for row in rows if not row.live and not self._is_counted_on(row)]
        for row in gone:
            del self.rows[row.id]
            self.purged.append(row.id)
        return len(gone)

    def _is_counted_on(self, row: Row) -> bool:
        return any(row.job.parent == other.id or row.id in other.job.after for other in self.live_rows())

    # What workers do.

    def claim(self, lease: Lease, claimed: Iterable[ClaimedJob]) -> None:
        for job in claimed:
            row = self.rows[job.id]
            assert row.state is READY, f"{row} was claimed"
            row.state, row.lease, row.started_at = RUNNING, lease, self.now
            row.attempt += 1
            row.claims += 1
            assert (job.attempt, job.claims) == (row.attempt, row.claims)

    def complete(self, jobs: Sequence[ClaimedJob]) -> None:
        self.runs += len(jobs)
        self._settle(self._end((self.rows[job.id] for job in jobs), SUCCEEDED))

    def fail(self, row: Row, *, final: bool, run_at: datetime | None) -> JobState:
        self.runs += 1
        if row.cancel_requested:
            self._settle(self._end([row], CANCELLED))
        elif final or row.attempt >= row.job.max_attempts:
            self._settle(self._end([row], FAILED))
        else:
            self._put_back(row, run_at or self.now)
            self._start_again(row)
            row.parked = False
        return row.state

    def snooze(self, row: Row, run_at: datetime | None) -> JobState:
        if row.cancel_requested:
            self._settle(self._end([row], CANCELLED))
        elif row.job.max_snoozes is not None and row.snoozes >= row.job.max_snoozes:
            self._settle(self._end([row], FAILED))
        else:
            row.snoozes += 1
            row.attempt -= 1
            self._put_back(row, run_at or self.now)
            row.parked = False
        self.runs += row.state.final
        return row.state

    def park(self, row: Row, run_at: datetime | None) -> JobState:
        row.attempt -= 1
        if row.cancel_requested:
            self._settle(self._end([row], CANCELLED))
        else:
            self._put_back(row, run_at or self.now)
            row.parked = True
        return row.state

    def come_to_work(self, lease: Lease, expires_at: datetime, kinds: Sequence[str]) -> None:
        self.leases[lease] = expires_at
        for row in self.by_state(SCHEDULED):
            if row.parked and row.job.kind in kinds and row.started_at and self.now - row.started_at >= SOON:
                row.run_at = self.now
                self._free(row)

    def stop_cancelled(self, row: Row) -> None:
        self.runs += 1
        self._settle(self._end([row], CANCELLED))

    def give_back(self, rows: Sequence[Row], *, costs_attempt: bool) -> None:
        cancelled = [row for row in rows if row.cancel_requested]
        spent = [row for row in rows if costs_attempt and row not in cancelled and row.attempt >= row.job.max_attempts]
        for row in rows:
            if row not in cancelled and row not in spent:
                row.attempt -= not costs_attempt
                row.parked &= not costs_attempt
                self._put_back(row, row.run_at, front=True)
                self._start_again(row)
        self._settle(self._end(cancelled, CANCELLED) + self._end(spent, FAILED))

    # What happens by itself.

    def promote(self) -> int:
        due = [row for row in self.by_state(SCHEDULED) if row.run_at <= self.now]
        for row in due:
            self._free(row)
        return len(due)

    def reclaim(self) -> int:
        lost = [lease for lease, expires_at in self.leases.items() if expires_at < self.now]
        for lease in lost:
            del self.leases[lease]
        jobs = [row for row in self.by_state(RUNNING) if row.lease not in self.leases]
        self.give_back(jobs, costs_attempt=True)
        return len(jobs)

    # What follows from it.

    def _free(self, row: Row, *, front: bool = False) -> None:
        row.state = SCHEDULED if row.run_at > self.now else READY
        self.turns += 1
        row.place = (not front, self.turns)

    def _put_back(self, row: Row, run_at: datetime, *, front: bool = False) -> None:
        row.lease, row.run_at = None, run_at
        self._free(row, front=front)

    def _start_again(self, row: Row) -> None:
        row.percent = row.rolled_up if row.is_flow else 0.0
        self.went_back = True

    def _takes_further(self, child: Row, flow: Row) -> bool:
        goes_on = flow.setting("policy") == "continue" and not flow.cancel_requested
        return child.state is SUCCEEDED or (goes_on and not child.live)

    def _end(self, rows: Iterable[Row], state: JobState) -> list[Row]:
        ended = list(rows)
        self.went_back |= bool(ended) and state is not SUCCEEDED
        for row in ended:
            row.state, row.lease = state, None
        return ended

    def _settle(self, ended: list[Row]) -> None:
        while ended:
            then: list[Row] = []
            for row in self.waiters(row for row in ended if row.state is SUCCEEDED):
                if self.has_nothing_to_wait_for(row):
                    then += self._unblock(row)
            then += self._cancel_tree(self.waiters(row for row in ended if row.state is not SUCCEEDED))
            for flow in sorted((row for row in self.by_state(BLOCKED) if row.is_flow), key=lambda row: row.id):
                if flow.state is BLOCKED and any(row.job.parent == flow.id for row in ended):
                    then += self._book([row for row in ended if row.job.parent == flow.id], flow)
            ended = then

    def _book(self, ended: list[Row], flow: Row) -> list[Row]:
        """Notes the end of a flow's children and returns what ends because of it."""
        then: list[Row] = []
        for child in ended:
            child.booked = True
            child.counts = self._takes_further(child, flow)
            flow.ended[child.state] += 1
        failing = flow.ended[FAILED] + flow.ended[CANCELLED] > 0
        if flow.setting("policy") == "cancel" and failing and not flow.cancel_requested:
            flow.cancel_requested = True
            then += self._cancel_tree(child for child in self.children(flow) if child.live)
        if self.has_nothing_to_wait_for(flow) or (flow.cancel_requested and not self._has_unbooked(flow)):
            then += self._unblock(flow)
        return then

    def _has_unbooked(self, flow: Row) -> bool:
        return any(child.live or not child.booked for child in self.children(flow))

    def _unblock(self, row: Row) -> list[Row]:
        row.percent = row.rolled_up = self.percent(row)
        if row.is_flow and row.cancel_requested:
            failed = row.setting("policy") == "cancel" and row.ended[FAILED] > 0
            return self._end([row], FAILED if failed else CANCELLED)
        if row.is_flow and row.setting("hollow"):
            return self._end([row], SUCCEEDED if row.ended[SUCCEEDED] else FAILED)
        self._free(row)
        return []

    def _cancel_tree(self, roots: Iterable[Row]) -> list[Row]:
        tree: dict[UUID, Row] = {}
        todo = [row for row in roots if row.live]
        while todo:
            row = todo.pop()
            tree[row.id] = row
            todo += [child for child in self.children(row) if child.live]
        for row in tree.values():
            row.cancel_requested |= row.state is RUNNING or (row.state is BLOCKED and row.is_flow)
        ends = [
            row
            for row in tree.values()
            if row.state in (SCHEDULED, READY) or (row.state is BLOCKED and not self._has_unbooked(row))
        ]
        return self._end(ends, CANCELLED)

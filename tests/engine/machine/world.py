"""The engine and its model side by side: three workers, two clients, one clock, and the comparison after every step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant

from penstock.engine import Cursor, commands
from penstock.job import ClaimedJob, JobState, Lease
from tests.engine.draining import drain
from tests.engine.hand import Hand
from tests.engine.invariants import check_invariants
from tests.engine.machine.lanes import Lane, lanes
from tests.engine.machine.model import Model, Row
from tests.engine.machine.shapes import KINDS

T = TypeVar("T")

WORKERS = 3
CLIENTS = 2
LEASE_SECONDS = 30.0

_TABLES = (
    "jobs", "history", "edges", "leases", "waiting", "queues", "starts", "turns", "steps", "idempotency_keys",
    "usage", "usage_log", "payloads", "errors",
)  # fmt: skip
_FLOORS = ("horizons", "floors", "time_floors")
"""What they say of the time holds as long as clocks go forwards, and each example begins now."""
_CLEAR = ";".join(f"delete from penstock.{table}" for table in (*_TABLES, *_FLOORS))
_EVERYTHING = " union all ".join(f"select '{table}', t::text from penstock.{table} as t" for table in _TABLES)


@dataclass
class MachineWorker:
    hand: Hand
    lease: Lease
    held: list[ClaimedJob] = field(default_factory=list)
    cursors: dict[str, Cursor] = field(default_factory=dict)

    def cursor(self, queue: str) -> Cursor:
        """Counts claims instead of seconds, so that an example plays the same every time."""
        ticks = count()
        return self.cursors.setdefault(queue, Cursor(clock=lambda: float(next(ticks))))


class World(RuleBasedStateMachine):
    """Set up anew for each example; the hands are shared by all of them."""

    def __init__(self, hands: Sequence[Hand]) -> None:
        super().__init__()
        self.hands = hands
        self.watcher = hands[0]
        self.clients = hands[1 : 1 + CLIENTS]
        self.watcher.do(_CLEAR)
        self.model = Model(datetime.now(UTC))
        self._set_clocks()
        self.lanes: dict[str, Lane] = lanes()
        for lane in self.lanes.values():
            self.watcher.run(commands.SetQueue(lane.name, lane.settings))
        self.workers = [MachineWorker(hand, self.open_lease(hand)) for hand in hands[1 + CLIENTS :]]
        self.stale: list[tuple[Lease, ClaimedJob]] = []
        self.accepted: set[tuple[UUID, int]] = set()
        self.percents: dict[UUID, float] = {}
        self.may_go_back = False

    def _set_clocks(self) -> None:
        for hand in self.hands:
            hand.set_clock(self.model.now)

    def move_clock(self, seconds: float) -> None:
        self.model.now += timedelta(seconds=seconds)
        self._set_clocks()

    def open_lease(self, hand: Hand) -> Lease:
        lease = hand.run(commands.OpenLease("worker", seconds=LEASE_SECONDS, kinds=KINDS[:2]))
        self.model.come_to_work(lease, self.model.now + timedelta(seconds=LEASE_SECONDS), KINDS[:2])
        return lease

    def accept(self, *jobs: ClaimedJob) -> None:
        """An outcome was accepted for these claims: never a second one."""
        for job in jobs:
            assert (job.id, job.claims) not in self.accepted
            self.accepted.add((job.id, job.claims))

    def forget_lost_claims(self) -> None:
        for worker in self.workers:
            lost = [job for job in worker.held if not self.model.owns(worker.lease, job)]
            worker.held = [job for job in worker.held if job not in lost]
            self.stale += [(worker.lease, job) for job in lost]
        del self.stale[:-20]

    def everything(self) -> list[tuple[object, ...]]:
        return sorted(self.watcher.rows(_EVERYTHING))

    @invariant()
    def the_engine_agrees_with_the_model(self) -> None:
        self.forget_lost_claims()
        found: dict[UUID, tuple[object, ...]] = {}
        percents: dict[UUID, float] = {}
        for id, percent, *rest in self.watcher.rows(
            """select id, coalesce((progress->>'percent')::float, 0), state::text, queue, attempt, claims, snoozes,
                      case when finished_at is null then lease end, cancel_requested, parked_since is not null
                 from penstock.all_jobs"""
        ):
            assert id not in found, f"{id} is live and in history"
            found[id] = tuple(rest)
            percents[id] = percent
        expected = {row.id: _told(row) for row in self.model.rows.values()}
        assert found == expected, "\n".join(
            f"{id}: the engine has {found.get(id)}, the model {expected.get(id)}\n  {self.model.rows.get(id)}"
            for id in found.keys() | expected.keys()
            if found.get(id) != expected.get(id)
        )
        assert {lease for (lease,) in self.watcher.rows("select id from penstock.leases")} == self.model.leases.keys()
        check_invariants(self.watcher)
        self._check_percents(percents)
        runs = self.watcher.value("select coalesce(sum(runs), 0)::int from penstock.usage_so_far")
        assert runs == self.model.runs

    def _check_percents(self, found: dict[UUID, float]) -> None:
        flows = [row for row in self.model.by_state(JobState.BLOCKED) if row.is_flow]
        may_go_back = self.may_go_back or self.model.went_back
        for row in flows:
            # each level rounds to two digits
            assert abs(found[row.id] - self.model.percent(row)) < 0.05, f"{row} is at {found[row.id]} %"
            assert may_go_back or found[row.id] >= self.percents.get(row.id, 0), f"{row} went back"
        self.percents = {row.id: found[row.id] for row in flows}
        self.may_go_back = self.model.went_back = False

    def teardown(self) -> None:
        """Whatever happened: work through it all, and everything comes to an end."""
        self.the_engine_agrees_with_the_model()
        drain(self.watcher, self.lanes)
        finished = {id for (id,) in self.watcher.rows("select id from penstock.history")}
        assert finished == self.model.rows.keys(), "jobs were lost"


def _told(row: Row) -> tuple[object, ...]:
    return (
        str(row.state),
        row.queue,
        row.attempt,
        row.claims,
        row.snoozes,
        row.lease,
        row.cancel_requested and row.live,
        row.parked and row.live and row.state is not JobState.RUNNING,
    )


def pick(rows: Sequence[T], index: int) -> T:
    return rows[index % len(rows)]

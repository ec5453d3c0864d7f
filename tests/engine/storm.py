"""Many threads that do everything at once, each at random, and count what was accepted."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.errors import InvalidInput, LeaseLost, UniqueKeyTaken, UnknownJob
from penstock.flow import Flow
from penstock.job import ClaimedJob, Enqueued, NewJob
from tests.engine.hand import Hand, Worker
from tests.engine.invariants import check_invariants
from tests.engine.sizes import carries_its_own, sized
from tests.kit import saying

T = TypeVar("T")

QUEUES = ("open", "narrow", "keyed", "fair")
LEASE_SECONDS = 0.1

Role = Callable[[Hand, "Ledger", random.Random], None]


@dataclass
class Ledger:
    """What all of them did, for the reckoning in the end."""

    claims: int
    """It is over when there have been so many."""
    end: float
    created: list[UUID] = field(default_factory=list)
    purged: int = 0
    accepted: Counter[tuple[UUID, int]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    @property
    def over(self) -> bool:
        return self.counts["claims"] >= self.claims or monotonic() > self.end

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def create(self, enqueued: Sequence[Enqueued] | None) -> None:
        with self.lock:
            self.created += [each.id for each in enqueued or () if each.created]

    def accept(self, job: ClaimedJob, accepted: bool) -> None:
        self.count("accepted" if accepted else "refused")
        if accepted:
            with self.lock:
                self.accepted[job.id, job.claims] += 1

    def some(self, dice: random.Random) -> list[UUID]:
        """Of the latest jobs, so that several threads are after the same."""
        with self.lock:
            latest = self.created[-80:]
        return dice.sample(latest, min(len(latest), dice.randint(1, 6)))


def play(role: Role, hand: Hand, ledger: Ledger, dice: random.Random) -> None:
    """Plays a role until the storm is over; when one of them fails it is over for all."""
    try:
        role(hand, ledger, dice)
    except BaseException:
        ledger.end = 0
        raise


def do(ledger: Ledger, act: Callable[..., T], *args: Any, allowed: tuple[type[Exception], ...] = ()) -> T | None:
    """Does it again after a deadlock, as the engine's pool does. None when it was refused for an allowed reason."""
    while True:
        try:
            return act(*args)
        except psycopg.errors.DeadlockDetected:
            ledger.count("deadlocks")
        except allowed as refused:
            ledger.count(type(refused).__name__)
            return None


def work(hand: Hand, ledger: Ledger, dice: random.Random) -> None:
    """A worker that completes, fails, snoozes, gives up, and now and then forgets to extend its lease."""
    worker = hand.worker(seconds=LEASE_SECONDS)
    forgotten: list[tuple[Worker, ClaimedJob]] = []
    while not ledger.over:
        jobs = do(ledger, worker.claim, dice.randint(1, 6), dice.choice(QUEUES), allowed=(LeaseLost,))
        if jobs is None:
            worker = hand.worker(seconds=LEASE_SECONDS)
            continue
        ledger.count("claims")
        for job in jobs:
            assert carries_its_own(job)
            if dice.random() < 0.08:
                forgotten.append((worker, job))
            else:
                _report(worker, job, ledger, dice)
        if forgotten and dice.random() < 0.2:
            _report(*forgotten.pop(0), ledger, dice)
        if dice.random() < 0.3:
            do(ledger, hand.run, commands.ExtendLease(worker.lease))


def _report(worker: Worker, job: ClaimedJob, ledger: Ledger, dice: random.Random) -> None:
    run, lease = worker.hand.run, worker.lease
    if dice.random() < 0.3:
        do(ledger, worker.progress, job, dice.randint(0, 100))
    match dice.choices(("complete", "retry", "final", "snooze", "release", "stop"), (60, 15, 8, 6, 6, 5))[0]:
        case "complete":
            accepted = do(ledger, worker.complete, job) == []
        case "retry":
            accepted = bool(do(ledger, run, saying.fail(lease, [job], [{"error": "boom", "retry_in": 0}])))
        case "final":
            accepted = bool(do(ledger, run, saying.fail(lease, [job], [{"error": "boom", "final": True}])))
        case "snooze":
            accepted = bool(do(ledger, run, saying.snooze(lease, [job], [0])))
        case "release":
            accepted = bool(do(ledger, run, saying.release(lease, [job])))
        case _:
            accepted = bool(do(ledger, run, saying.stop_cancelled(lease, [job])))
    ledger.accept(job, accepted)


def ask(hand: Hand, ledger: Ledger, dice: random.Random) -> None:
    """A client that enqueues jobs and flows, cancels, retries and purges."""
    while not ledger.over:
        ids = ledger.some(dice)
        match dice.choices(("job", "after", "flow", "cancel", "retry", "purge"), (25, 10, 20, 10, 30, 5))[0]:
            case "job":
                job = _job(dice, kind="single", unique_key=dice.choice((None, None, "a", "b")))
                ledger.create(do(ledger, hand.enqueue, job))
            case "after":
                job = _job(dice, after=tuple(ids[:2]))
                ledger.create(do(ledger, hand.enqueue, job, allowed=(InvalidInput, UnknownJob)))
            case "flow":
                jobs = [sized(job, large=dice.random() < 0.5) for job in _flow(dice, depth=2).jobs()]
                ledger.create(do(ledger, hand.enqueue, *jobs))
            case "cancel":
                do(ledger, hand.run, commands.Cancel(ids[:2]))
            case "retry":
                do(ledger, hand.run, commands.Retry(ids), allowed=(UniqueKeyTaken,))
            case _:
                # a flow that is retried while its member is purged may still count it
                filter = {"kind": "single", "ids": ids, "state": ["succeeded", "failed", "cancelled"]}
                purged = do(ledger, hand.run, commands.PurgeWhere(filter))
                with ledger.lock:
                    ledger.purged += purged or 0
        ledger.count("asked")


def _job(dice: random.Random, kind: str = "part", **about: object) -> NewJob:
    job = NewJob(
        kind=kind,
        queue=dice.choice(QUEUES),
        limit_key=dice.choice(("red", "blue", None)),
        max_attempts=dice.randint(1, 4),
        max_snoozes=3,
        **about,  # type: ignore[arg-type]
    )
    return sized(job, large=dice.random() < 0.5)


def _flow(dice: random.Random, depth: int) -> Flow:
    then = NewJob(kind="last", queue="open", unique_key=dice.choice((None, None, "c")) if depth == 2 else None)
    flow = Flow(then if dice.random() < 0.5 else None, policy=dice.choice(("cancel", "continue")))
    placed = [flow.add(_job(dice))]
    for _ in range(dice.randint(0, 4)):
        after = [dice.choice(placed)] if dice.random() < 0.4 else []
        placed.append(flow.add(_flow(dice, depth - 1) if depth and dice.random() < 0.25 else _job(dice), after=after))
    return flow


def maintain(hand: Hand, ledger: Ledger, dice: random.Random) -> None:
    while not ledger.over:
        upkeep: Command[Any] = dice.choice((commands.Reclaim(), commands.Promote(), commands.Maintain()))
        do(ledger, hand.run, upkeep)
        ledger.count("upkeep")


def observe(hand: Hand, ledger: Ledger, _: random.Random) -> None:
    """The invariants hold in every snapshot, not only when all is quiet."""
    while not ledger.over:
        check_invariants(hand)
        ledger.count("observations")

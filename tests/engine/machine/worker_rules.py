"""What workers do, in time and too late, and what time does to them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.errors import LeaseLost
from penstock.job import ClaimedJob, JobState, Lease
from tests.engine.machine.lanes import PERIOD
from tests.engine.machine.model import Row
from tests.engine.machine.shapes import KINDS, queues
from tests.engine.machine.world import LEASE_SECONDS, WORKERS, MachineWorker, World, pick
from tests.engine.sizes import carries_its_own
from tests.kit import saying

indexes = st.integers(0, 1000)
workers = st.integers(0, WORKERS - 1)


def anybody_holds_a_job(machine: World) -> bool:
    return any(worker.held for worker in machine.workers)


REPORTS: dict[str, Any] = {
    "complete": lambda lease, job: saying.complete(lease, [job], [b"1"]),
    "fail": lambda lease, job: saying.fail(lease, [job], [{"error": "late"}]),
    "snooze": lambda lease, job: saying.snooze(lease, [job], [1]),
    "park": lambda lease, job: saying.park(lease, [job], ["late"]),
    "release": lambda lease, job: saying.release(lease, [job]),
    "stop": lambda lease, job: saying.stop_cancelled(lease, [job]),
    "progress": lambda lease, job: saying.report_progress(lease, [job], [{"percent": 50}]),
    "step": lambda lease, job: saying.remember_step(lease, job, "late", b"1"),
}


class WorkerRules(World):
    def _one_held(self, worker: int, index: int) -> tuple[MachineWorker, ClaimedJob, Row]:
        holders = [each for each in self.workers if each.held]
        holder = pick(holders, worker)
        job = pick(holder.held, index)
        return holder, job, self.model.rows[job.id]

    @rule(
        worker=workers,
        queue=queues,
        limit=st.integers(1, 5),
        how=st.sampled_from(("everywhere", "cursor", "cursor", "kinds")),
    )
    def claim(self, worker: int, queue: str, limit: int, how: str) -> None:
        me, lane = self.workers[worker], self.lanes[queue]
        if me.lease not in self.model.leases:
            with pytest.raises(LeaseLost):
                me.hand.run(commands.Claim(me.lease, queue, limit))
            me.lease, me.held = self.open_lease(me.hand), []
        kinds = KINDS[:2] if how == "kinds" and lane.max_running_per_key is None and lane.rate_per_key is None else None
        cursor = me.cursor(queue) if how == "cursor" else None
        if cursor is None:
            claimed = me.hand.run(commands.Claim(me.lease, queue, limit, kinds=kinds))
        else:
            claimed = me.hand.run(cursor.claim(me.lease, queue, limit))
            cursor.advance(claimed, limit)

        # a start counts towards the rate for a hundredth of the period longer than it must
        sure, most = (lane.fitting(self.model, limit, kinds, PERIOD * share) for share in (1.01, 1))
        everywhere = cursor is None or cursor.looked_everywhere or lane.max_running or lane.rate
        ids, ready = [job.id for job in claimed], [row.id for row in lane.ready(self.model, kinds)]
        if lane.fair_by is not None:
            assert set(ids) <= set(ready)
            assert len(ids) == len(most) or not everywhere
        elif everywhere and sure == most:
            assert ids == [row.id for row in most]
        else:
            assert len(ids) <= len(most)
            assert ids == [id for id in ready if id in ids]
        assert all(carries_its_own(job) for job in claimed)
        self.model.claim(me.lease, claimed)
        lane.start(self.model, [self.model.rows[id] for id in ids])
        me.held += claimed

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, indexes=st.lists(indexes, min_size=1, max_size=3), late=st.integers(0, 2))
    def complete(self, worker: int, indexes: list[int], late: int) -> None:
        """Several at once, and among them some that are no longer the worker's."""
        holder, _, _ = self._one_held(worker, 0)
        jobs = list({job.id: job for job in (pick(holder.held, index) for index in indexes)}.values())
        lost = [job for lease, job in self.stale if lease == holder.lease and job.id not in {own.id for own in jobs}]
        lost = list({job.id: job for job in lost[:late]}.values())
        refused = holder.hand.run(saying.complete(holder.lease, jobs + lost, [b"1"] * len(jobs + lost)))
        assert set(refused) == {job.id for job in lost}
        self.accept(*jobs)
        self.model.complete(jobs)

    @precondition(anybody_holds_a_job)
    @rule(
        worker=workers,
        index=indexes,
        about=st.sampled_from(({}, {"retry_in": 0}, {"retry_in": 40}, {"final": True})),
    )
    def fail(self, worker: int, index: int, about: dict[str, Any]) -> None:
        holder, job, row = self._one_held(worker, index)
        fates = holder.hand.run(saying.fail(holder.lease, [job], [{"error": "boom", **about}]))
        state, run_at = self._fate(fates, job)
        assert self.model.fail(row, final="final" in about, run_at=run_at) is state

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, index=indexes, seconds=st.sampled_from((0, 20)))
    def snooze(self, worker: int, index: int, seconds: float) -> None:
        holder, job, row = self._one_held(worker, index)
        state, run_at = self._fate(holder.hand.run(saying.snooze(holder.lease, [job], [seconds])), job)
        assert self.model.snooze(row, run_at) is state

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, index=indexes)
    def park(self, worker: int, index: int) -> None:
        holder, job, row = self._one_held(worker, index)
        state, run_at = self._fate(holder.hand.run(saying.park(holder.lease, [job], ["not known here"])), job)
        assert self.model.park(row, run_at) is state

    def _fate(self, fates: Sequence[commands.Became], job: ClaimedJob) -> tuple[JobState, datetime | None]:
        [fate] = fates
        assert fate.id == job.id
        self.accept(job)
        return fate.state, fate.run_at

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, index=indexes)
    def release(self, worker: int, index: int) -> None:
        holder, job, row = self._one_held(worker, index)
        assert holder.hand.run(saying.release(holder.lease, [job])) == [job.id]
        self.accept(job)
        self.model.give_back([row], costs_attempt=False)

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, index=indexes)
    def stop_cancelled(self, worker: int, index: int) -> None:
        holder, job, row = self._one_held(worker, index)
        assert holder.hand.run(saying.stop_cancelled(holder.lease, [job])) == [job.id]
        self.accept(job)
        self.model.stop_cancelled(row)

    @precondition(anybody_holds_a_job)
    @rule(worker=workers, index=indexes, more=st.integers(0, 60))
    def report_progress(self, worker: int, index: int, more: int) -> None:
        holder, job, row = self._one_held(worker, index)
        # a flow's own last step starts from nothing, and yet the flow does not go back
        percent = more if row.is_flow else min(100, row.percent + more)
        told = holder.hand.run(saying.report_progress(holder.lease, [job], [{"percent": percent}]))
        assert told == [commands.Wanted(job.id, row.cancel_requested)]
        row.percent = max(row.percent, percent)

    @precondition(lambda self: self.stale or anybody_holds_a_job(self))
    @rule(index=indexes, worker=workers, report=st.sampled_from(sorted(REPORTS)))
    def report_too_late(self, index: int, worker: int, report: str) -> None:
        """By who lost the claim, or never had it: refused, and nothing changes."""
        me = self.workers[worker]
        others = [(me.lease, job) for other in self.workers if other is not me for job in other.held]
        lease, job = pick(self.stale + others, index) if self.stale + others else (Lease(0), me.held[0])
        before = self.everything()
        call: Command[Any] = REPORTS[report](lease, job)
        answer = me.hand.run(call)
        assert answer == [job.id] if report == "complete" else not answer
        assert self.everything() == before

    @rule(worker=workers)
    def extend_lease(self, worker: int) -> None:
        me = self.workers[worker]
        extended = me.hand.run(commands.ExtendLease(me.lease))
        alive, cancelling = extended.alive, extended.cancelling
        assert alive is (me.lease in self.model.leases)
        assert set(cancelling) == {job.id for job in me.held if self.model.rows[job.id].cancel_requested}
        if alive:
            self.model.leases[me.lease] = self.model.now + timedelta(seconds=LEASE_SECONDS)

    @rule(worker=workers)
    def leave(self, worker: int) -> None:
        me = self.workers[worker]
        assert me.hand.run(commands.CloseLease(me.lease)) == len(me.held)
        self._give_back(me.held)
        self.model.leases.pop(me.lease, None)
        self.forget_lost_claims()
        me.lease = self.open_lease(me.hand)

    @rule(worker=workers, known=st.integers(0, 3))
    def lose_the_answer_to_a_claim(self, worker: int, known: int) -> None:
        me = self.workers[worker]
        unknown = me.held[known:]
        released = me.hand.run(commands.ReleaseUnknown(me.lease, [job.id for job in me.held[:known]]))
        assert set(released) == {job.id for job in unknown}
        self._give_back(unknown)

    def _give_back(self, jobs: Sequence[ClaimedJob]) -> None:
        self.accept(*jobs)
        self.model.give_back([self.model.rows[job.id] for job in jobs], costs_attempt=False)

    @rule(seconds=st.sampled_from((0.05, 1, 5, 9.95, 11, 31, 120)))
    def pass_time(self, seconds: float) -> None:
        self.move_clock(seconds)

    @rule(worker=workers)
    def promote(self, worker: int) -> None:
        assert self.workers[worker].hand.run(commands.Promote()) == self.model.promote()

    @rule(worker=workers)
    def reclaim(self, worker: int) -> None:
        assert self.workers[worker].hand.run(commands.Reclaim()) == self.model.reclaim()

    @rule(worker=workers)
    def maintain(self, worker: int) -> None:
        report = self.workers[worker].hand.run(commands.Maintain())
        assert report is not None
        assert (report["promoted"], report["reclaimed"]) == (self.model.promote(), self.model.reclaim())

"""What runs for every job or every second costs the same however many jobs have come and gone since somebody's old
snapshot. Counted in blocks, which no busy machine can change."""

from dataclasses import replace

import pytest

from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.flow import batch
from tests.engine.hand import Hand
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.old_snapshot import old_snapshot
from tests.sql.blocks import usual_blocks
from tests.sql.dead_entries import QUEUES, SINGLES, Flow, held_job, new_job

pytestmark = pytest.mark.needs_session("its clock is an option of the session, also within a block that commits")

MOST = 500
"""Blocks that a statement may look at, whatever there was before."""

_COUNTS = """
select queue, count(*) filter (where state = 'blocked'), count(*) filter (where state = 'scheduled'),
       count(*) filter (where state = 'ready'), count(*) filter (where state = 'running')
  from penstock.jobs
 group by queue
"""

Costs = dict[str, int]


class Meter:
    """What statements cost in the state that a flow has left, by what they do."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.costs: Costs = {}
        self.lease = flow.worker.lease
        self.idle = flow.hand.worker("idle", seconds=86_400).lease

    def measure(self, name: str, command: Command[object], *before: Command[object]) -> None:
        self.costs[name] = usual_blocks(self.flow.hand.connection, command, before)

    def claims(self, queue: str) -> None:
        """From an empty queue, and from one that has a few; by a look everywhere and past the cursor."""
        hand, few = self.flow.hand, [new_job(queue) for _ in range(3)]
        self._claim(f"none: {queue}", queue)
        if queue == "held":
            with hand.connection.transaction(force_rollback=True):
                hand.enqueue(*[held_job() for _ in range(300)], *few)
                self.measure("claim, burst: held", commands.Claim(self.lease, queue, 10))
        self.measure(f"wait_for_work: {queue}", self.waiting(queue))
        self.measure(f"enqueue: {queue}", commands.EnqueueJobs(few))
        if queue == "quota":
            self.measure("start_for", commands.StartFor("key 0", "wide", few[:1]))
        hand.enqueue(*few)
        hand.move_clock(seconds=1)
        if queue == "later":
            self.measure("promote, few", commands.Promote())
            self.measure("next_run_at, few", commands.NextRunAt())
        hand.run(commands.Tend(self.lease))
        self._check_counts()
        self._claim(f"few: {queue}", queue)
        self.measure(f"backlog: {queue}", commands.Backlog([queue]))
        self.flow.work_off(queue)

    def reports(self, queue: str) -> None:
        """What is said of jobs that run."""
        hand, worker, lease = self.flow.hand, self.flow.worker, self.lease
        hand.enqueue(*[new_job(queue) for _ in range(3)])
        hand.move_clock(seconds=1)
        hand.run(commands.Tend(lease))
        jobs = worker.claim(3, queue)
        job = jobs[0]
        asleep = commands.WaitingStep("sleep", "sleep", number=1, seconds=60)
        given_up = saying.fail(lease, jobs, [{"error": "boom", "final": True}] * len(jobs))
        cancel = commands.Cancel([job.id])
        said: dict[str, tuple[Command[object], ...]] = {
            "complete": (saying.complete(lease, jobs),),
            "fail": (saying.fail(lease, jobs, [{"error": "boom", "retry_in": 0}] * len(jobs)),),
            "fail, for good": (given_up,),
            "retry": (commands.Retry([each.id for each in jobs]), given_up),
            "snooze": (saying.snooze(lease, jobs, [60.0] * len(jobs)),),
            "release": (saying.release(lease, jobs),),
            "park": (saying.park(lease, jobs, ["unknown"] * len(jobs)),),
            "report_progress": (saying.report_progress(lease, jobs, [{"percent": 50}] * len(jobs)),),
            "cancel": (cancel,),
            "stop_cancelled": (saying.stop_cancelled(lease, [job]), cancel),
            "remember_step": (saying.remember_step(lease, job, "load", b"1"),),
            "recall_steps": (saying.recall_steps(lease, job),),
            "suspend": (commands.Suspend(lease, job.id, job.claims, asleep),),
            "outputs": (saying.outputs(lease, job),),
            "holds": (commands.Holds(lease, job.id, job.claims),),
            "get_job": (commands.GetJob(job.id),),
            "watch": (commands.Watch(job.id),),
        }
        for name, (command, *before) in said.items():
            self.measure(f"{name}: {queue}", command, *before)
        assert worker.complete(*jobs) == []

    def flows(self) -> None:
        """The same of jobs that others wait for."""
        hand, worker, lease = self.flow.hand, self.flow.worker, self.lease
        flow = batch([new_job("plain"), new_job("plain")]).jobs()
        root, child, _ = flow
        self.measure("enqueue a flow", commands.EnqueueJobs(flow))
        hand.enqueue(*flow)
        after = replace(new_job("plain"), after=(child.id,))
        self.measure("enqueue after another", commands.EnqueueJobs([after]))
        hand.enqueue(after)
        jobs = worker.claim(2, "plain")
        said: dict[str, Command[object]] = {
            "complete": saying.complete(lease, jobs),
            "fail, for good": saying.fail(lease, jobs, [{"error": "boom", "final": True}] * 2),
            "report_progress": saying.report_progress(lease, jobs, [{"percent": 50}] * 2),
            "cancel": commands.Cancel([root.id]),
        }
        for name, command in said.items():
            self.measure(f"{name}: in a flow", command)
        assert worker.complete(*jobs) == []
        self.flow.work_off("plain")

    def _check_counts(self) -> None:
        """Whoever looks at less must find the same."""
        hand = self.flow.hand
        jobs = {tuple(row) for row in hand.rows(_COUNTS)}
        queues = hand.run(commands.QueueStats())
        counts = {(each.name, each.blocked, each.scheduled, each.ready, each.running) for each in queues}
        stats = {each for each in counts if any(each[1:])}
        assert stats == jobs
        backlogs = {(each.queue, each.ready, each.running) for each in hand.run(commands.Backlog(list(QUEUES)))}
        assert {each for each in backlogs if any(each[1:])} == {
            (queue, *last) for queue, _, _, *last in jobs if any(last)
        }

    def _claim(self, name: str, queue: str) -> None:
        cursor = self.flow.worker.cursors[queue]
        self.measure(f"claim, {name}", commands.Claim(self.lease, queue, 10))
        self.measure(f"claim past marks, {name}", cursor.claim(self.lease, queue, 10))

    def enqueues(self, queue: str) -> None:
        job, wait = new_job(queue), self.waiting(queue)
        enqueue = commands.EnqueuePlain(job, job.id.hex, b"{}", hand=True)
        self.measure(f"enqueue_plain: {queue}", enqueue)
        self.measure(f"enqueue_plain, one waits: {queue}", enqueue, wait)
        self.measure(f"wake: {queue}", commands.Wake(queue, 5), wait)
        self.measure(f"stop_waiting: {queue}", commands.StopWaiting(self.idle, [queue]), wait)

    def waiting(self, queue: str) -> Command[object]:
        return commands.WaitForHand(self.idle, [queue], direct=True)

    def upkeep(self) -> None:
        lease = self.lease
        self.flow.hand.move_clock(seconds=1)
        self.measure("reclaim", commands.Reclaim())
        self.measure("heartbeat", commands.Heartbeat(lease))
        self.measure("extend_lease", commands.ExtendLease(lease))
        self.measure("open_lease", commands.OpenLease("another", kinds=["work"]))
        self.measure("tend", commands.Tend(lease))
        self.measure("promote", commands.Promote())
        self.measure("next_run_at", commands.NextRunAt())
        self.measure("queue_stats", commands.QueueStats())
        self.measure("scale_of", commands.ScaleOf("plain"))
        self.measure("parked_jobs", commands.ParkedJobs())
        self.measure("workers", commands.Workers())
        self.measure("release_unknown", commands.ReleaseUnknown(lease, []))

    def ends(self) -> None:
        self.measure("close_lease", commands.CloseLease(self.lease))
        self.measure("expire_lease", commands.ExpireLease(self.lease))


def check(early: Costs, late: Costs) -> None:
    """No statement costs more than a constant, nor more than when a quarter of the jobs had gone, but for a level that
    an index may have gained."""
    dear = {name for name, cost in late.items() if cost > MOST or cost > 1.5 * early[name] + 10}
    lines = [f"{name:40}{early[name]:8}{late[name]:8}{'  !' * (name in dear)}" for name in late]
    report = "\n".join(["blocks read when a quarter of the jobs had gone, and when all had", *lines])
    print(report)
    assert not dear, f"{len(dear)} of {len(late)} statements walk what is dead\n{report}"


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(4_000, id="36,000 jobs"),
        pytest.param(112_000, id="1,000,000 jobs", marks=[pytest.mark.slow, pytest.mark.time_limit(1800)]),
    ],
)
def test_no_statement_walks_the_jobs_that_an_old_snapshot_keeps(connect: Connect, url: str, jobs: int) -> None:
    flow = Flow(Hand(connect()))

    def costs() -> Costs:
        meter = Meter(flow)
        for queue in QUEUES:
            meter.claims(queue)
            meter.reports(queue)
        meter.flows()
        meter.enqueues("plain")
        meter.upkeep()
        meter.ends()
        return meter.costs

    with old_snapshot(url):
        flow.go_on(jobs // 4)
        early = costs()
        flow.go_on(jobs - jobs // 4)
        late = costs()
    check(early, late)


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(1_000, id="1,000 jobs"),
        pytest.param(100_000, id="100,000 jobs", marks=[pytest.mark.slow, pytest.mark.time_limit(1800)]),
    ],
)
def test_no_statement_walks_the_rows_about_queues_and_workers_that_an_old_snapshot_keeps(
    connect: Connect, url: str, jobs: int
) -> None:
    """Leases every second; who waits, turns, and starts under a rate for every job."""
    flow = Flow(Hand(connect()))

    def costs() -> Costs:
        meter = Meter(flow)
        for queue in SINGLES:
            meter.claims(queue)
            meter.reports(queue)
            meter.enqueues(queue)
        meter.upkeep()
        return meter.costs

    with old_snapshot(url):
        flow.go_on_singly(jobs // 4)
        early = costs()
        flow.go_on_singly(jobs - jobs // 4)
        late = costs()
    check(early, late)

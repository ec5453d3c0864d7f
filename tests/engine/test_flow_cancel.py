from penstock.engine import commands
from penstock.flow import Flow, batch
from penstock.job import JobState, NewJob
from tests.engine.hand import Hand
from tests.kit import saying


def test_cancelling_a_flow_stops_what_runs_and_ends_what_does_not(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="last"))
    first = flow.add(NewJob(kind="first"))
    flow.add(NewJob(kind="second"), after=[first])
    flow.add(NewJob(kind="later", delay=60))
    jobs = flow.jobs()
    hand.enqueue(*jobs)
    root, *children = (job.id for job in jobs)
    worker = hand.worker()
    running = worker.claim_one()

    assert hand.run(commands.Cancel([root])) == [root]
    assert sorted(hand.states(*children)) == ["cancelled", "cancelled", "running"]
    assert hand.states(root, running.id) == ["blocked", "running"]
    assert hand.run(commands.ExtendLease(worker.lease)).cancelling == [running.id]

    assert hand.run(saying.stop_cancelled(worker.lease, [running], "stopped in time")) == [running.id]
    assert hand.states(root, running.id) == ["cancelled", "cancelled"]
    assert hand.job(running.id).last_error == "stopped in time"
    assert hand.job(root).output == {"total": 3, "succeeded": 0, "failed": 0, "cancelled": 3}


def test_a_flow_being_cancelled_ends_however_its_running_children_do(hand: Hand) -> None:
    root = hand.start(batch(NewJob(kind="work", max_attempts=5) for _ in range(5)))
    worker = hand.worker()
    completes, fails, snoozes, releases, dies = worker.claim(5)
    hand.run(commands.Cancel([root]))
    worker.complete(completes)
    assert worker.fail(fails)[0] is JobState.CANCELLED
    [snoozed] = hand.run(saying.snooze(worker.lease, [snoozes], [60]))
    assert (snoozed.id, snoozed.state) == (snoozes.id, JobState.CANCELLED)
    hand.run(saying.release(worker.lease, [releases]))
    assert hand.state(root) is JobState.BLOCKED
    hand.move_clock(seconds=31)
    hand.run(commands.Reclaim())
    assert hand.states(dies.id, root) == ["cancelled", "cancelled"]
    assert hand.job(root).output == {"total": 5, "succeeded": 1, "failed": 0, "cancelled": 4}


def test_cancelling_a_flow_reaches_the_flows_inside_it(hand: Hand) -> None:
    inner = Flow(then=NewJob(kind="inner last"), policy="continue")
    inner.add(NewJob(kind="deep"))
    outer = Flow(policy="continue")
    outer.add(inner)
    jobs = outer.jobs()
    hand.enqueue(*jobs)
    worker = hand.worker()
    deep = worker.claim_one()
    hand.run(commands.Cancel([jobs[0].id]))
    hand.run(saying.stop_cancelled(worker.lease, [deep]))
    assert hand.states(*(job.id for job in jobs)) == ["cancelled"] * 3
    assert worker.claim() == []


def test_a_flow_whose_last_step_waits_or_runs_can_be_cancelled_too(hand: Hand) -> None:
    def at_its_last_step() -> Flow:
        flow = Flow(then=NewJob(kind="last"))
        flow.add(NewJob(kind="first"))
        return flow

    worker = hand.worker()
    waiting = hand.start(at_its_last_step())
    worker.complete(worker.claim_one())
    hand.run(commands.Cancel([waiting]))
    assert hand.state(waiting) is JobState.CANCELLED

    running = hand.start(at_its_last_step())
    worker.complete(worker.claim_one())
    last = worker.claim_one()
    hand.run(commands.Cancel([running]))
    assert hand.state(running) is JobState.RUNNING
    hand.run(saying.stop_cancelled(worker.lease, [last]))
    assert hand.state(running) is JobState.CANCELLED


def test_cancelling_one_child_is_like_its_failing(hand: Hand) -> None:
    strict = Flow()
    strict.add(NewJob(kind="a"))
    strict.add(NewJob(kind="b"))
    lenient = Flow(policy="continue")
    lenient.add(NewJob(kind="a"))
    lenient.add(NewJob(kind="b"))
    for flow, states in ((strict, ["cancelled"] * 3), (lenient, ["blocked", "cancelled", "ready"])):
        jobs = flow.jobs()
        hand.enqueue(*jobs)
        hand.run(commands.Cancel([jobs[1].id]))
        assert hand.states(*(job.id for job in jobs)) == states


def test_a_flow_that_ends_in_the_midst_of_a_cancellation_has_counted_all_its_children(hand: Hand) -> None:
    """The innermost flow ends and the outermost is cancelled by one and the same report."""
    innermost = Flow(policy="continue")
    innermost.add(NewJob(kind="good"))
    innermost.add(NewJob(kind="bad", max_attempts=1))
    middle = Flow(policy="continue")
    middle.add(innermost)
    outer = Flow()
    outer.add(middle)
    outer.add(NewJob(kind="bad", max_attempts=1))
    jobs = outer.jobs()
    hand.enqueue(*jobs)
    worker = hand.worker()
    good, *bad = sorted(worker.claim(3), key=lambda job: job.kind, reverse=True)
    worker.complete(good)
    hand.run(saying.fail(worker.lease, bad, [{"error": "boom"}] * 2))
    middle_id = next(job.id for job in jobs if job.parent == jobs[0].id and job.rollup)
    assert hand.job(middle_id).output == {"total": 1, "succeeded": 1, "failed": 0, "cancelled": 0}
    assert hand.job(jobs[0].id).state is JobState.FAILED

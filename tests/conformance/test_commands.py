"""What a worker may ask of any engine, and what it is told."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from penstock import InvalidInput, JobState, NewJob
from penstock.engine import commands as c
from penstock.engine.http.sent import SENT
from penstock.errors import DuplicateKey, LeaseLost
from penstock.job import ClaimedJob, Enqueued, Lease, new_job_id
from tests.conformance.conftest import Bench, Run, hears, takes
from tests.kit import saying
from tests.kit.until import until


async def lease_of(run: Run, **about: object) -> Lease:
    return Lease(await run(c.OpenLease("a worker", queues=["default"], **about)))  # type: ignore[arg-type]


async def claimed(bench: Bench, run: Run, lease: Lease, **about: object) -> tuple[Enqueued, ClaimedJob]:
    enqueued = await bench.add(**about)  # type: ignore[arg-type]
    [job] = await run(c.Claim(lease, "default"))
    return enqueued, job


async def test_a_claimed_job_has_every_field(bench: Bench, run: Run) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    enqueued, job = await claimed(
        bench, run, await lease_of(run), args=b'{"n": 1, "s": "\xc3\xa9"}', owner="ada", org="acme", max_attempts=3,
        priority=0, options={"timeout": 9},
    )  # fmt: skip
    assert isinstance(job, ClaimedJob)
    assert (job.id, job.kind, job.priority, job.attempt, job.max_attempts) == (enqueued.id, "work", 0, 1, 3)
    assert (job.claims, job.snoozes, job.owner, job.org, job.parent) == (1, 0, "ada", "acme", None)
    assert before < job.created_at < before + timedelta(minutes=2)
    assert msgspec.json.decode(job.args) == {"n": 1, "s": "é"}
    assert msgspec.json.decode(job.options or "null") == {"timeout": 9}
    assert job.turn >= 0
    bare = (await claimed(bench, run, await lease_of(run)))[1]
    assert (bare.options, bare.owner) == (None, None)


async def test_large_arguments_arrive_whole(bench: Bench, run: Run) -> None:
    text = "Many words, and then some. " * 4_000
    _, job = await claimed(bench, run, await lease_of(run), args=msgspec.json.encode({"text": text}))
    assert msgspec.json.decode(job.args) == {"text": text}


async def test_jobs_come_in_their_order_and_the_cursor_goes_on(bench: Bench, run: Run) -> None:
    jobs = [(await bench.add()).id for _ in range(5)]
    lease = await lease_of(run)
    first = await run(c.Claim(lease, "default", 2))
    assert [job.id for job in first] == jobs[:2]
    last = first[-1]
    rest = await run(c.Claim(lease, "default", 10, [last.priority], [last.turn], [last.id]))
    assert [job.id for job in rest] == jobs[2:]
    assert await run(c.Claim(lease, "default", 5_000)) == [], "more than one request may ask for"


@takes("claim_by_kind")
async def test_a_claim_may_name_kinds_and_an_owner(bench: Bench, run: Run) -> None:
    await bench.add("one", owner="ada")
    two = await bench.add("two", owner="bob")
    lease = await lease_of(run)
    assert [job.id for job in await run(c.Claim(lease, "default", 9, kinds=["two"]))] == [two.id]
    assert await run(c.Claim(lease, "default", 9, owner="bob")) == []


async def test_a_lease_lives_until_it_ends(bench: Bench, run: Run) -> None:
    lease = await lease_of(run, seconds=60)
    extended = await run(c.ExtendLease(lease))
    assert (extended.alive, list(extended.cancelling), extended.seconds) == (True, [], 60)
    enqueued, _ = await claimed(bench, run, lease)
    assert await run(c.CloseLease(lease)) == 1
    assert (await bench.job(enqueued)).attempt == 0
    gone = await run(c.ExtendLease(lease))
    assert (gone.alive, gone.leads) == (False, False)
    with pytest.raises(LeaseLost):
        await run(c.Claim(lease, "default"))
    another = await lease_of(run)
    await run(c.Claim(another, "default"))
    assert await run(c.ExpireLease(another)) == 1
    assert (await bench.job(enqueued)).attempt == 1


async def test_a_worker_hears_which_jobs_to_stop(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued, job = await claimed(bench, run, lease)
    await bench.app.handle(enqueued.id).acancel()
    assert list((await run(c.ExtendLease(lease))).cancelling) == [enqueued.id]
    [wanted] = await run(saying.report_progress(lease, [job], [{"percent": 50}]))
    assert (wanted.id, wanted.cancel_requested) == (enqueued.id, True)
    assert await run(saying.stop_cancelled(lease, [job], "stopped")) == [enqueued.id]
    assert ((await bench.job(enqueued)).state, (await bench.job(enqueued)).last_error) == ("cancelled", "stopped")


async def test_each_outcome(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued = [await bench.add(max_attempts=2) for _ in range(6)]
    one, two, three, four, five, six = await run(c.Claim(lease, "default", 6))
    assert await run(saying.complete(lease, [one, two], [b'{"a": 1}', None])) == []
    assert await run(saying.complete(lease, [one])) == [one.id], "refused the second time"
    [again] = await run(saying.fail(lease, [three], [{"error": "no", "type": "Boom", "retry_in": 1000}]))
    assert (again.id, again.state) == (three.id, JobState.SCHEDULED)
    assert again.run_at is not None
    [given_up] = await run(saying.fail(lease, [four], [{"error": "never", "final": True}]))
    assert (given_up.state, given_up.run_at) == (JobState.FAILED, None)
    [later] = await run(saying.snooze(lease, [five], [1000.0]))
    assert later.state is JobState.SCHEDULED
    [parked] = await run(saying.park(lease, [six], ["who?"]))
    assert parked.state is JobState.SCHEDULED
    records = [await bench.job(each) for each in enqueued]
    assert [(each.state, each.output, each.last_error, each.attempt) for each in records] == [
        ("succeeded", {"a": 1}, None, 1), ("succeeded", None, None, 1), ("scheduled", None, "no", 1),
        ("failed", None, "never", 1), ("scheduled", None, None, 0), ("scheduled", None, None, 0),
    ]  # fmt: skip
    assert records[5].parked_reason == "who?"
    assert records[2].errors[0]["type"] == "Boom"


async def test_nothing_is_said_about_a_job_that_is_not_held(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued, job = await claimed(bench, run, lease)
    stale = msgspec.structs.replace(job, claims=7)
    stranger = msgspec.structs.replace(job, id=new_job_id())
    for other in (stale, stranger):
        assert await run(saying.complete(lease, [other])) == [other.id]
        assert await run(saying.fail(lease, [other], [{"error": "x"}])) == []
        assert await run(saying.snooze(lease, [other], [1])) == []
        assert await run(saying.park(lease, [other], ["x"])) == []
        assert await run(saying.release(lease, [other])) == []
        assert await run(saying.report_progress(lease, [other], [{"percent": 1}])) == []
        assert await run(saying.remember_step(lease, other, "a", b"1")) is False
        for command in (saying.recall_steps(lease, other), saying.outputs(lease, other)):
            with pytest.raises(LeaseLost):
                await run(command)
    assert (await bench.job(enqueued)).state is JobState.RUNNING
    assert await run(saying.release(lease, [job])) == [job.id]
    assert ((await bench.job(enqueued)).state, (await bench.job(enqueued)).attempt) == ("ready", 0)


async def test_many_jobs_in_one_command(bench: Bench, run: Run) -> None:
    """More than one request may carry: over HTTP it takes several."""
    many = 1200
    await bench.app.engine.aenqueue([NewJob(kind="work") for _ in range(many)])
    lease = await lease_of(run)
    jobs = [job for _ in range(2) for job in await run(c.Claim(lease, "default", 600))]
    outputs: list[bytes | None] = [b'"%s"' % (b"y" * 600)] * many
    stale = msgspec.structs.replace(jobs[-1], claims=9)
    assert await run(saying.complete(lease, [*jobs[:-1], stale], outputs)) == [jobs[-1].id]
    assert len((await bench.app.jobs.alist(state="succeeded", limit=1000)).jobs) == 1000


async def test_steps_are_remembered(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    _, job = await claimed(bench, run, lease)
    assert await run(saying.remember_step(lease, job, "load/it", b'{"rows": 3}'))
    assert await run(saying.remember_step(lease, job, "a", b"null"))
    steps = await run(saying.recall_steps(lease, job))
    assert [(step.name, step.output) for step in steps] == [("load/it", {"rows": 3}), ("a", None)]


@takes("durable_waits")
async def test_a_job_sleeps(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued, job = await claimed(bench, run, lease)
    sleep = c.WaitingStep("sleep", "sleep", number=1, version=3, seconds=3600)
    became = await run(c.Suspend(lease, job.id, job.claims, sleep, progress=c.Progress(message="Sleeps")))
    assert became is not None
    assert became.state is JobState.SCHEDULED
    seen = await bench.job(enqueued)
    assert (seen.state, seen.attempt, seen.progress["message"]) == (JobState.SCHEDULED, 0, "Sleeps")
    assert await run(c.Suspend(lease, job.id, job.claims, sleep)) is None


@takes("durable_waits")
async def test_a_job_calls_others(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    _, job = await claimed(bench, run, lease)
    called = NewJob(kind="part", args=b'{"n": 1}')
    call = c.WaitingStep("call part", "call", number=1, ids=[called.id])
    became = await run(c.Suspend(lease, job.id, job.claims, call, [called.to_json()]))
    assert became is not None
    assert became.state is JobState.BLOCKED
    [part] = await run(c.Claim(lease, "default"))
    assert (part.id, part.kind) == (called.id, "part")
    await run(saying.complete(lease, [part], [b'{"pages": 3}']))
    [again] = await run(c.Claim(lease, "default"))
    [step] = await run(saying.recall_steps(lease, again))
    assert (step.name, step.kind, step.number, step.waits) == ("call part", "call", 1, False)
    [result] = step.output["jobs"]
    assert (result["id"], result["state"], result["output"]) == (str(called.id), "succeeded", {"pages": 3})


@takes("durable_waits")
async def test_a_job_waits_for_an_event(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued, job = await claimed(bench, run, lease)
    wait = c.WaitingStep("wait for paid", "event", number=1, event="paid", key="7", timeout=3600)
    became = await run(c.Suspend(lease, job.id, job.claims, wait))
    assert became is not None
    assert became.state is JobState.SCHEDULED
    assert await bench.app.aemit("paid", key="7", payload={"amount": 12}) == enqueued.id
    await bench.app.aemit("paid", key="7", payload="again")
    [again] = await run(c.Claim(lease, "default"))
    [step] = await run(saying.recall_steps(lease, again))
    assert (step.waits, step.output["payload"]) == (False, {"amount": 12})
    another = c.WaitingStep("wait for paid 2", "event", number=2, event="paid", key="7")
    had = await run(c.Suspend(lease, again.id, again.claims, another))
    assert had is not None
    assert (had.state, had.output["payload"]) == (JobState.RUNNING, "again")


async def test_outputs_of_what_a_job_waited_for(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    first = NewJob(kind="work", args=b'{"n": 1}')
    await bench.app.engine.aenqueue([first, NewJob(kind="next", after=(first.id,))])
    [job] = await run(c.Claim(lease, "default", 9))
    await run(saying.complete(lease, [job], [b'{"pages": 3}']))
    [second] = await run(c.Claim(lease, "default"))
    [earlier] = await run(saying.outputs(lease, second))
    assert (earlier.id, earlier.kind, earlier.state, earlier.args, earlier.output) == (
        first.id, "work", JobState.SUCCEEDED, {"n": 1}, {"pages": 3}
    )  # fmt: skip


@takes("after_existing")
async def test_a_job_waits_for_one_that_is_there_already(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    first, job = await claimed(bench, run, lease)
    await bench.add("next", after=(first.id,))
    assert await run(c.Claim(lease, "default")) == []
    await run(saying.complete(lease, [job]))
    assert [each.kind for each in await run(c.Claim(lease, "default"))] == ["next"]


async def test_a_completion_and_further_jobs_happen_together_or_not_at_all(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    enqueued, job = await claimed(bench, run, lease)
    further = NewJob(kind="next", queue="later", args=b'{"a": [1]}', owner="ada", max_attempts=2, delay=60.0)
    done = c.Completed(job.id, job.claims, msgspec.Raw(b"[1]"))
    stale = c.Completed(job.id, 9)
    assert await run(c.CompleteAndEnqueue(lease, stale, [further])) is False
    assert (await bench.app.jobs.alist(queue="later")).jobs == []
    command = c.CompleteAndEnqueue(lease, done, [further], c.Progress(percent=99, message="nearly"))
    assert await run(command) is True
    record = await bench.job(enqueued)
    assert (record.state, record.output, record.progress["message"]) == ("succeeded", [1], "nearly")
    [later] = (await bench.app.jobs.alist(queue="later")).jobs
    assert (later.id, later.kind, later.args, later.owner, later.max_attempts) == (
        further.id, "next", {"a": [1]}, "ada", 2
    )  # fmt: skip
    assert later.state is JobState.SCHEDULED


async def test_a_completion_whose_jobs_exist(bench: Bench, run: Run) -> None:
    """Without transactions it may be one that was sent before, and whose answer was lost. Over HTTP, where it happens
    whole or not at all, nothing is left to do then; on BullMQ the rest of it is."""
    lease = await lease_of(run)
    _, job = await claimed(bench, run, lease)
    there = await bench.add("there")
    command = c.CompleteAndEnqueue(lease, c.Completed(job.id, job.claims), [NewJob(kind="next", id=there.id)])
    if bench.engine.capabilities.transactions:
        with pytest.raises(DuplicateKey):
            await run(command)
    else:
        assert await run(command) is True
    whole = bench.app.engine.capabilities.transactions
    state = JobState.RUNNING if whole else JobState.SUCCEEDED
    assert (await bench.app.handle(job.id).arefresh()).state is state
    assert (await bench.job(there)).kind == "there"


async def test_bad_input_is_refused_by_its_field(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    _, job = await claimed(bench, run, lease)
    bad = NewJob(kind="next", parent=uuid4())
    with pytest.raises(InvalidInput) as refused:
        await run(c.CompleteAndEnqueue(lease, c.Completed(job.id, job.claims), [bad]))
    assert "parent" in str(refused.value)
    assert (await bench.app.handle(job.id).arefresh()).state is JobState.RUNNING


async def test_what_a_worker_does_not_know_of_goes_back(bench: Bench, run: Run) -> None:
    jobs = [(await bench.add()).id for _ in range(3)]
    lease = await lease_of(run)
    await run(c.Claim(lease, "default", 3))
    assert sorted(await run(c.ReleaseUnknown(lease, [jobs[1]]))) == [jobs[0], jobs[2]]
    assert await run(c.ReleaseUnknown(lease, [jobs[1]], 60)) == []


@hears
async def test_a_queue_with_a_rate_is_to_be_looked_at_again(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    assert await run(c.WaitForWork(lease, ["default"])) is None
    await bench.app.queues.aset("default", rate=1, rate_period=60)
    assert await run(c.WaitForWork(lease, ["default", "default"])) == math.inf
    await bench.add()
    assert 0 < await run(c.WaitForWork(lease, ["default"])) < 60
    assert await run(c.StopWaiting(lease, ["default"])) is None
    assert await run(c.StopWaiting(lease)) is None
    assert await run(c.Wake("default", 2)) is None


async def test_what_queues_have_at_hand(bench: Bench, run: Run) -> None:
    await bench.add()
    await bench.add()
    [counted] = await run(c.Backlog(["default"], 1))
    assert (counted.queue, counted.ready, counted.running) == ("default", 1, 0)
    assert counted.oldest_ready_seconds is not None
    await bench.app.queues.apause("other")
    [counted] = await run(c.Backlog(["default", "other"], 10))
    assert (counted.queue, counted.ready) == ("default", 2), "a queue that is paused is left out, and no other"


async def test_a_worker_says_what_has_ended_and_how_it_is(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    runs = [c.EndedRuns("default", "work", succeeded=3, failed=1, ran=[0, 4], ran_seconds=0.006)]
    errors = [c.AlikeErrors("work", "default", "no such <text>", 1, 1, uuid4(), "KeyError")]
    said = c.ReportStatistics(lease, runs, errors, memory=50_000_000, load=0.5, slots=20)
    assert await run(said) is None
    assert await run(c.ReportStatistics(lease)) is None
    [worker] = [each for each in await bench.app.workers.alist() if each.lease == lease]
    assert (worker.memory, worker.load, worker.slots) == (50_000_000, 0.5, 20)


@takes("statistics")
async def test_what_has_ended_is_counted(bench: Bench, run: Run) -> None:
    lease = await lease_of(run)
    runs = [c.EndedRuns("default", "work", succeeded=3, failed=1, ran=[0, 4], ran_seconds=0.006)]
    errors = [c.AlikeErrors("work", "default", "no such <text>", 1, 1, uuid4(), "KeyError")]
    await run(c.ReportStatistics(lease, runs, errors))
    [ended] = [each for each in await bench.app.statistics.aseries("default") if each.succeeded]
    assert (ended.succeeded, ended.failed, ended.ran.mean) == (3, 1, 0.0015)
    await bench.app.engine.arun(c.Maintain())
    # the server may be at it, too
    assert [group.message for group in await until(bench.app.errors.alist)] == ["no such <text>"]


def test_every_command_that_is_sent_is_tested_here() -> None:
    """By its name in this file: one that is added later is missed."""
    text = Path(__file__).read_text("utf-8")
    short = {"Complete": "saying.complete(", "Fail": "saying.fail(", "Snooze": "saying.snooze(", "Park": "saying.park(",
             "Release": "saying.release(", "StopCancelled": "saying.stop_cancelled(",
             "ReportProgress": "saying.report_progress(", "RememberStep": "saying.remember_step(",
             "RecallSteps": "saying.recall_steps(", "Outputs": "saying.outputs(", "Beat": "c.ExtendLease(",
             "ClaimOrWait": "c.Claim("}  # fmt: skip
    for kind in SENT:
        assert short.get(kind.__name__, f"c.{kind.__name__}(") in text, kind

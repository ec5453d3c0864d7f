"""A flow that was lost comes back with what was lost of it, on every engine."""

from typing import Literal

import pytest

from penstock import Flow, JobState, NewJob
from penstock.engine import commands as c
from penstock.flow import Policy
from penstock.job import ClaimedJob, Lease
from tests.conformance.conftest import Bench
from tests.kit import saying


class Hands:
    """A worker that does what it is told."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._lease: Lease

    async def start(self, flow: Flow) -> NewJob:
        self._lease = await self.bench.engine.arun(c.OpenLease("hands", queues=["default"]))
        jobs = flow.jobs()
        await self.bench.app.engine.aenqueue(jobs)
        return jobs[0]

    async def claim(self) -> dict[str, ClaimedJob]:
        return {job.kind: job for job in await self.bench.engine.arun(c.Claim(self._lease, "default", 9))}

    async def complete(self, *jobs: ClaimedJob) -> None:
        outputs = [f'"{job.kind}"'.encode() for job in jobs]
        assert await self.bench.engine.arun(saying.complete(self._lease, jobs, outputs)) == []

    async def give_up(self, *jobs: ClaimedJob) -> None:
        await self.bench.engine.arun(saying.fail(self._lease, jobs, [{"error": "no", "final": True}] * len(jobs)))

    async def outputs(self, job: ClaimedJob) -> list[str]:
        return sorted(
            each.kind for each in await self.bench.engine.arun(saying.outputs(self._lease, job)) if each.output
        )

    async def state(self, job: NewJob | ClaimedJob) -> JobState:
        return (await self.bench.app.handle(job.id).arefresh()).state


@pytest.fixture
def hands(bench: Bench) -> Hands:
    return Hands(bench)


def _book(policy: Policy = "cancel") -> Flow:
    flow = Flow(then=NewJob(kind="bind"), policy=policy)
    for kind in ("print", "draw"):
        flow.add(NewJob(kind=kind))
    return flow


@pytest.mark.parametrize("by", ["flow", "job"])
async def test_the_job_that_failed_runs_again_and_the_last_step_has_all_outputs(
    hands: Hands, by: Literal["flow", "job"]
) -> None:
    flow = await hands.start(_book())
    jobs = await hands.claim()
    await hands.complete(jobs["print"])
    await hands.give_up(jobs["draw"])
    assert await hands.claim() == {}, "a flow on BullMQ learns of it when it is claimed"
    assert await hands.state(flow) is JobState.FAILED
    back = await hands.bench.app.jobs.aretry(flow.id if by == "flow" else jobs["draw"].id)
    assert set(back) == {flow.id, jobs["draw"].id}
    assert await hands.state(flow) is JobState.BLOCKED
    again = await hands.claim()
    assert list(again) == ["draw"]
    await hands.complete(again["draw"])
    last = (await hands.claim())["bind"]
    assert await hands.outputs(last) == ["draw", "print"]
    await hands.complete(last)
    assert await hands.state(flow) is JobState.SUCCEEDED


async def test_one_that_went_on_without_a_job_runs_its_last_step_again_with_it(hands: Hands) -> None:
    flow = await hands.start(_book("continue"))
    jobs = await hands.claim()
    await hands.complete(jobs["print"])
    await hands.give_up(jobs["draw"])
    first = (await hands.claim())["bind"]
    assert await hands.outputs(first) == ["print"]
    await hands.complete(first)
    assert await hands.state(flow) is JobState.SUCCEEDED
    assert set(await hands.bench.app.jobs.aretry(jobs["draw"].id)) == {flow.id, jobs["draw"].id}
    again = await hands.claim()
    assert list(again) == ["draw"]
    await hands.complete(again["draw"])
    last = (await hands.claim())["bind"]
    assert await hands.outputs(last) == ["draw", "print"]
    await hands.complete(last)
    assert await hands.state(flow) is JobState.SUCCEEDED


async def test_a_flow_around_it_comes_back_too(hands: Hands) -> None:
    around = Flow(then=NewJob(kind="ship"))
    around.add(_book())
    outer = await hands.start(around)
    jobs = await hands.claim()
    await hands.complete(jobs["print"])
    await hands.give_up(jobs["draw"])
    for _ in range(2):
        assert await hands.claim() == {}, "a flow on BullMQ learns of it when it is claimed"
    assert await hands.state(outer) is JobState.FAILED
    assert len(await hands.bench.app.jobs.aretry(jobs["draw"].id)) == 3
    for kind in ("draw", "bind", "ship"):
        claimed = await hands.claim()
        assert list(claimed) == [kind]
        await hands.complete(claimed[kind])
    assert await hands.state(outer) is JobState.SUCCEEDED


async def test_the_rest_of_a_flow_that_fails_is_cancelled_and_comes_back_with_it(hands: Hands) -> None:
    flow = Flow(then=NewJob(kind="bind"))
    flow.add(NewJob(kind="draw"))
    flow.add(NewJob(kind="print", delay=3600))
    inner = Flow(then=NewJob(kind="count"))
    inner.add(NewJob(kind="weigh", delay=3600))
    flow.add(inner)
    book = await hands.start(flow)
    await hands.give_up((await hands.claim())["draw"])
    assert await hands.claim() == {}
    ended = {job.kind: job.state for job in (await hands.bench.app.jobs.alist()).jobs}
    rest = dict.fromkeys(("print", "count", "weigh"), JobState.CANCELLED)
    assert ended == rest | {"bind": JobState.FAILED, "draw": JobState.FAILED}
    assert len(await hands.bench.app.jobs.aretry(book.id)) == 5
    jobs = await hands.claim()
    assert set(jobs) == {"draw", "print", "weigh"}


async def test_a_flow_that_was_cancelled_comes_back_whole(hands: Hands) -> None:
    flow = await hands.start(_book())
    await hands.bench.app.jobs.acancel(flow.id)
    assert await hands.state(flow) is JobState.CANCELLED
    assert len(await hands.bench.app.jobs.aretry(flow.id)) == 3
    jobs = await hands.claim()
    assert set(jobs) == {"print", "draw"}
    await hands.complete(*jobs.values())
    last = (await hands.claim())["bind"]
    await hands.complete(last)
    assert await hands.state(flow) is JobState.SUCCEEDED

"""A flow shows how far its jobs are, on every engine."""

import pytest

from penstock import Flow, NewJob
from penstock.engine import commands as c
from penstock.flow import Policy
from penstock.job import ClaimedJob, Job, Lease
from tests.conformance.conftest import Bench
from tests.kit import saying


class Hands:
    """Jobs of one flow in the hands of one worker."""

    def __init__(self, bench: Bench) -> None:
        self._engine = bench.engine
        self._app = bench.app
        self._lease: Lease

    async def start(self, flow: Flow) -> None:
        self._lease = await self._engine.arun(c.OpenLease("hands", queues=["default"]))
        first, *_ = await self._app.engine.aenqueue(flow.jobs())
        self._flow = self._app.handle(first.id)

    async def claim(self) -> dict[str, ClaimedJob]:
        return {job.kind: job for job in await self._engine.arun(c.Claim(self._lease, "default", 9))}

    async def complete(self, *jobs: ClaimedJob) -> None:
        await self._engine.arun(saying.complete(self._lease, jobs))

    async def give_up(self, *jobs: ClaimedJob) -> None:
        await self._engine.arun(saying.fail(self._lease, jobs, [{"error": "no", "final": True}] * len(jobs)))

    async def cancel(self, job: ClaimedJob) -> None:
        await self._app.handle(job.id).acancel()
        await self._engine.arun(saying.stop_cancelled(self._lease, [job], "cancelled"))

    async def fail(self, job: ClaimedJob, error: str, **about: object) -> None:
        await self._engine.arun(saying.fail(self._lease, [job], [{"error": error, **about}]))

    async def leave(self, *, lost: bool) -> None:
        await self._engine.arun((c.ExpireLease if lost else c.CloseLease)(self._lease))

    async def job(self, job: ClaimedJob) -> Job:
        return await self._app.handle(job.id).arefresh()

    async def report(self, job: ClaimedJob, **said: object) -> None:
        await self._engine.arun(saying.report_progress(self._lease, [job], [said]))

    async def seen(self) -> dict[str, object]:
        """By its id, and in a list."""
        progress = (await self._flow.arefresh()).progress
        listed = {job.id: job for job in (await self._app.jobs.alist()).jobs}
        assert self._flow.id not in listed or listed[self._flow.id].progress == progress
        return progress


@pytest.fixture
def hands(bench: Bench) -> Hands:
    return Hands(bench)


async def test_by_weight_and_with_its_last_step(hands: Hands) -> None:
    flow = Flow(then=NewJob(kind="bind"))
    flow.add(NewJob(kind="light"), weight=1)
    flow.add(NewJob(kind="heavy"), weight=3)
    await hands.start(flow)
    assert (await hands.seen()).get("percent", 0) == 0
    jobs = await hands.claim()
    await hands.report(jobs["heavy"], percent=50)
    assert await hands.seen() == {"percent": 37.5, "done": 0, "total": 2}
    await hands.complete(jobs["light"])
    assert await hands.seen() == {"percent": 62.5, "done": 1, "total": 2}
    await hands.complete(jobs["heavy"])
    [last] = (await hands.claim()).values()
    assert await hands.seen() == {"percent": 100, "done": 2, "total": 2}
    await hands.report(last, message="binding")
    assert (await hands.seen())["message"] == "binding"
    await hands.complete(last)
    assert (await hands.seen())["done"] == 2


async def test_by_phases_of_jobs_that_wait_for_each_other(hands: Hands) -> None:
    flow = Flow(phases={"text": (10, 50), "pdf": (50, 90)})
    for name in ("a", "b"):
        text = flow.add(NewJob(kind=f"text {name}"), phase="text", part=name)
        flow.add(NewJob(kind=f"pdf {name}"), phase="pdf", part=name, after=[text])
    await hands.start(flow)
    texts = await hands.claim()
    await hands.complete(texts["text a"])
    assert await hands.seen() == {"percent": 30, "phase": "text", "done": 0, "total": 2}
    pdf = (await hands.claim())["pdf a"]
    await hands.complete(pdf)
    assert await hands.seen() == {"percent": 30, "phase": "text", "done": 1, "total": 2}
    await hands.complete(texts["text b"])
    assert await hands.seen() == {"percent": 70, "phase": "pdf", "done": 1, "total": 2}


async def test_a_flow_within_a_flow(hands: Hands) -> None:
    inner = Flow()
    first = inner.add(NewJob(kind="inner 1"))
    inner.add(NewJob(kind="inner 2"), after=[first])
    flow = Flow()
    before = flow.add(NewJob(kind="before"))
    flow.add(inner, weight=2, after=[before])
    flow.add(NewJob(kind="beside"))
    await hands.start(flow)
    jobs = await hands.claim()
    await hands.complete(jobs["before"])
    assert await hands.seen() == {"percent": 25, "done": 1, "total": 3}
    await hands.complete((await hands.claim())["inner 1"])
    assert await hands.seen() == {"percent": 50, "done": 1, "total": 3}
    await hands.complete(jobs["beside"])
    assert await hands.seen() == {"percent": 75, "done": 2, "total": 3}


@pytest.mark.parametrize(("policy", "percent"), [("continue", 50), ("cancel", 25)])
async def test_what_failed_is_counted(hands: Hands, policy: Policy, percent: float) -> None:
    flow = Flow(policy=policy)
    for name in ("good", "bad", "third", "fourth"):
        flow.add(NewJob(kind=name))
    await hands.start(flow)
    jobs = await hands.claim()
    await hands.complete(jobs["good"])
    await hands.give_up(jobs["bad"])
    seen = await hands.seen()
    assert (seen["percent"], seen["done"], seen["failed"], seen["total"]) == (percent, 1, 1, 4)


@pytest.mark.parametrize("gives_up", [True, False], ids=["fails", "is cancelled"])
async def test_of_a_flow_that_fails_in_the_end_the_jobs_that_went_well_are_counted(
    hands: Hands, gives_up: bool
) -> None:
    flow = Flow(policy="continue", then=NewJob(kind="bind"))
    for name in ("good", "bad"):
        flow.add(NewJob(kind=name))
    await hands.start(flow)
    jobs = await hands.claim()
    await hands.complete(jobs["good"])
    await hands.give_up(jobs["bad"])
    [last] = (await hands.claim()).values()
    await hands.report(last, percent=95)
    assert (await hands.seen())["percent"] == 100
    await (hands.give_up(last) if gives_up else hands.cancel(last))
    assert await hands.seen() == {"percent": 50, "done": 1, "failed": 1, "total": 2}


async def test_it_says_what_one_of_its_jobs_says(hands: Hands) -> None:
    flow = Flow(then=NewJob(kind="bind"))
    flow.add(NewJob(kind="print"))
    await hands.start(flow)
    await hands.report((await hands.claim())["print"], percent=50, message="page 7")
    assert (await hands.seen())["message"] == "page 7"


async def test_a_retry_takes_it_back_and_says_which_attempt_it_is_and_why(hands: Hands) -> None:
    flow = Flow(then=NewJob(kind="bind", max_attempts=2))
    flow.add(NewJob(kind="print", max_attempts=3))
    await hands.start(flow)
    printing = (await hands.claim())["print"]
    await hands.report(printing, percent=80, message="nearly there", phase="pages", done=8, total=10)
    await hands.fail(printing, "the paper is out", retry_in=0)
    why = {"message": "Attempt 2 of 3: the paper is out", "attempt": 2, "reason": "the paper is out"}
    assert (await hands.job(printing)).progress == {"percent": 0} | why
    assert await hands.seen() == {"percent": 0, "done": 0, "total": 1, "message": why["message"]}
    again = (await hands.claim())["print"]
    await hands.report(again, percent=20)
    assert (await hands.job(again)).progress == {"percent": 20} | why
    await hands.complete(again)
    assert (await hands.job(again)).progress == {"percent": 20}, "it went well in the end"
    binding = (await hands.claim())["bind"]
    await hands.fail(binding, "no glue: s3cret", retry_in=0, traceback="…")
    seen = await hands.seen()
    assert (seen["percent"], seen["message"]) == (100, "Attempt 2 of 2: it failed by an internal error")


@pytest.mark.parametrize(
    ("lost", "message"),
    [(True, "Attempt 2 of 5: its worker was lost"), (False, "Starts again: its worker was stopped")],
)
async def test_a_job_that_lost_its_worker_says_so(hands: Hands, lost: bool, message: str) -> None:
    flow = Flow()
    flow.add(NewJob(kind="print"))
    await hands.start(flow)
    printing = (await hands.claim())["print"]
    await hands.report(printing, percent=80)
    await hands.leave(lost=lost)
    progress = (await hands.job(printing)).progress
    assert (progress["percent"], progress["message"]) == (0, message)
    assert await hands.seen() == {"percent": 0, "done": 0, "total": 1, "message": message}

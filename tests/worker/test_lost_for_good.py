"""A job that was given up because its worker was lost with the last attempt: somebody else is there to tell of it."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Failure, Flow, JobHandle, JobState, NewJob, Penstock, batch
from penstock.engine import commands as c
from penstock.engine.protocol import Engine
from penstock.server.work.upkeep import Upkeep
from penstock.worker.maintenance import Maintenance
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker.processes import Commands
from tests.worker.processes import commands as commands

LINE = "given up after attempt 1 of 1: its worker was lost"


class Told:
    """What the hooks of an application were told."""

    def __init__(self, app: Penstock) -> None:
        self.failures: list[Failure] = []
        self.any = asyncio.Event()
        app.on_failure(self.note)

    async def note(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.any.set()


@pytest.fixture
def told(app: Penstock) -> Told:
    return Told(app)


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str, str, str, int]]:
    return [
        (record.levelno, record.getMessage(), record.job_id, record.job_kind, record.job_attempt)  # type: ignore[attr-defined]
        for record in caplog.records
        if record.name == "penstock.jobs"
    ]


async def lose(app: Penstock, *kinds: str, queue: str = "default") -> list[JobHandle[Any]]:
    """As a supervisor does that has seen a worker die with these jobs."""
    jobs = [NewJob(kind=kind, queue=queue, max_attempts=1, args=b'{"n": 7}') for kind in kinds]
    handles = [app.handle(job.id) for job in await app.engine.aenqueue(jobs)]
    lease = await app.engine.arun(c.OpenLease("doomed", queues=[queue]))
    assert len(await app.engine.arun(c.Claim(lease, queue, len(jobs)))) == len(jobs)
    assert await app.engine.arun(c.ExpireLease(lease)) == len(jobs)
    return handles


async def test_another_worker_tells_of_a_job_whose_worker_was_killed_on_its_last_attempt(
    app: Penstock, told: Told, commands: Commands, caplog: pytest.LogCaptureFixture
) -> None:
    app.job(kind="wait")(lambda name: None)
    doomed = NewJob(kind="wait", queue="elsewhere", max_attempts=1, args=b'{"name": "a"}')
    async with working(app, lease=2):
        process = await asyncio.to_thread(commands.start_worker, "--queues", "elsewhere:1", "--lease", 1)
        await app.engine.aenqueue([doomed])
        await until(lambda: commands.started("a"))
        process.kill()  # SIGKILL, as by whoever finds that memory runs out
        await soon(told.any.wait())
        assert (await app.handle(doomed.id).arefresh()).state is JobState.FAILED
        assert await app.engine.arun(c.TakeLost()) == []
    [failure] = told.failures
    assert (failure.job.id, failure.job.kind, failure.queue) == (doomed.id, "wait", "elsewhere")
    assert (failure.job.attempt, failure.job.max_attempts, failure.job.claims) == (1, 1, 1)
    assert (failure.error, failure.error_type, failure.exception) == ("its worker was lost", "WorkerLost", None)
    assert failure.job.args == '{"name": "a"}'
    assert logged(caplog) == [(logging.ERROR, LINE, str(doomed.id), "wait", 1)]


async def test_a_tick_tells_of_what_was_given_up_before_it_and_the_next_one_does_not(
    app: Penstock, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    app.job(kind="known")(lambda n: None)
    known, unknown = await lose(app, "known", "another application's")
    assert await app.atick() == []
    assert [failure.job.id for failure in told.failures] == [known.id]
    assert logged(caplog) == [
        (logging.ERROR, LINE, str(known.id), "known", 1),
        (logging.ERROR, LINE, str(unknown.id), "another application's", 1),
    ]
    await app.atick()
    assert (len(told.failures), len(logged(caplog))) == (1, 2)


async def test_an_attempt_that_was_not_the_last_is_not_told(app: Penstock, told: Told) -> None:
    await app.engine.aenqueue([NewJob(kind="again", max_attempts=2, args=b"{}")])
    for left in (True, False):
        lease = await app.engine.arun(c.OpenLease("doomed", queues=["default"]))
        await app.engine.arun(c.Claim(lease, "default"))
        await app.engine.arun(c.ExpireLease(lease))
        assert (await app.engine.arun(c.Maintain()) or {})["lost"] == (0 if left else 1)


async def test_many_are_told_in_rounds_in_their_order_and_what_was_retried_is_not(app: Penstock) -> None:
    lost = await lose(app, *["work"] * 5)
    await lost[1].aretry()
    rounds = [[each.job.id for each in await app.engine.arun(c.TakeLost(limit=2))] for _ in range(4)]
    assert rounds == [[lost[0].id], [lost[2].id, lost[3].id], [lost[4].id], []]


async def test_large_arguments_are_told_whole(app: Penstock) -> None:
    text = "Many words, and then some. " * 4_000
    await app.engine.aenqueue([NewJob(kind="work", max_attempts=1, args=f'{{"text": "{text}"}}'.encode())])
    lease = await app.engine.arun(c.OpenLease("doomed", queues=["default"]))
    [claimed] = await app.engine.arun(c.Claim(lease, "default"))
    await app.engine.arun(c.ExpireLease(lease))
    [lost] = await app.engine.arun(c.TakeLost())
    assert lost == c.LostJob(claimed, "default")


async def test_a_server_that_leads_tells_too(app: Penstock, told: Told) -> None:
    app.job(kind="known")(lambda n: None)
    [job] = await lose(app, "known")
    upkeep = Upkeep(app)
    await upkeep.ensure()
    await soon(told.any.wait())
    await upkeep.aclose()
    assert [failure.job.id for failure in told.failures] == [job.id]


async def test_a_flow_that_failed_of_its_jobs_is_told_too(
    app: Penstock, told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    """No worker had it, to report it. Of one that was cancelled, or goes on, nothing is told."""

    @app.job(max_attempts=1)
    async def page(number: int) -> None:
        if number < 0:
            raise ValueError(number)

    @app.job
    async def book(title: str) -> None: ...

    def flow(*pages: int, **choices: Any) -> Flow:
        made = Flow(then=book.prepare(title="Notes"), **choices)
        for number in pages:
            made.add(page.prepare(number=number))
        return made

    failed = await app.aenqueue(flow(1, -1))
    hollow = await app.aenqueue(batch([page.prepare(number=-1)]))
    gone = await app.aenqueue(flow(2))
    await gone.acancel()
    await app.aenqueue(flow(-1, 1, policy="continue"))
    await app.atick()
    assert [failure.job.kind for failure in told.failures] == ["page"] * 3
    caplog.clear()
    await app.atick()
    [failure] = told.failures[3:]  # a batch is of no kind that is known here
    assert (failure.job.id, failure.job.kind, failure.queue) == (failed.id, "book", "default")
    assert (failure.error, failure.error_type, failure.exception) == ("1 of 2 jobs failed", "FlowFailed", None)
    assert failure.job.args == '{"title": "Notes"}'
    assert sorted(logged(caplog)) == sorted([
        (logging.ERROR, "given up: 1 of 2 jobs failed", str(failed.id), "book", 0),
        (logging.ERROR, "given up: none of 1 job succeeded", str(hollow.id), "batch", 0),
    ])  # fmt: skip
    caplog.clear()
    await app.atick()
    assert (len(told.failures), logged(caplog)) == (4, [])


class Recording:
    """An engine, and what it was asked."""

    def __init__(self, engine: Engine) -> None:
        self.faults = engine.faults
        self.asked: list[type] = []
        self._engine = engine

    async def arun(self, command: c.Command[Any], /) -> Any:
        answer = await self._engine.arun(command)
        self.asked.append(type(command))
        return answer


async def test_who_has_no_application_to_tell_leaves_them_to_others(app: Penstock) -> None:
    """A waker, for instance."""
    [job] = await lose(app, "work")
    leases: Any = SimpleNamespace(leading=asyncio.Event(), lease=await app.engine.arun(c.OpenLease("w")))
    leases.leading.set()
    engine: Any = Recording(app.engine)
    maintenance = Maintenance(engine, leases)
    maintenance.start()
    await until(lambda: engine.asked.count(c.Tend) > 1 and c.Maintain in engine.asked)
    await maintenance.stop()
    assert set(engine.asked) == {c.Tend, c.Maintain}
    assert [each.job.id for each in await app.engine.arun(c.TakeLost())] == [job.id]


async def test_what_nobody_asks_for_goes_after_a_day(app: Penstock, connect: Connect) -> None:
    await lose(app, "work", "work")
    connect().execute("update penstock.lost_jobs set at = at - interval '1 day' where number = 1")
    assert (await app.engine.arun(c.Maintain()) or {})["lost"] == 1

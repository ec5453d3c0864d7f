"""A worker whose lease or connection is lost: no outcome counts twice, no job is lost, and it goes on by itself."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import Backoff, Context, JobState, NewJob, Penstock, Snooze
from penstock.engine import commands
from penstock.engine.postgres import pools
from penstock.job import ClaimedJob, Lease
from penstock.worker import Worker
from penstock.worker.executor import Executor
from penstock.worker.run import Lane
from tests.app.cut_wire import Wire
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker import in_process
from tests.worker.wires import wire as wire

TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


@pytest.fixture
async def wired(wire: Wire) -> AsyncIterator[Penstock]:
    """An application whose connections can be cut."""
    async with Penstock(wire.url) as app:
        yield app


def expire(watch: psycopg.Connection[Any], lease: Lease) -> None:
    """As another worker's maintenance does when the lease was not extended in time."""
    watch.execute("select penstock.expire_lease(%s)", [lease])


def delete(watch: psycopg.Connection[Any], lease: Lease) -> None:
    watch.execute("delete from penstock.leases where id = %s", [lease])


@pytest.mark.parametrize("lose", [expire, delete])
async def test_a_worker_that_lost_its_lease_stops_its_handlers_and_goes_on_with_another(
    app: Penstock, watch: psycopg.Connection[Any], lose: Callable[[psycopg.Connection[Any], Lease], None]
) -> None:
    attempts: list[tuple[int, str]] = []
    came = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> int:
        if ctx.attempt > 1:
            return ctx.attempt
        came.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            attempts.append((ctx.attempt, "stopped"))
            raise
        return ctx.attempt

    job = await work.aenqueue()
    async with working(app, lease=0.9) as worker:
        await soon(came.wait())
        lost = worker.lease
        lose(watch, lost)
        assert await job.aresult(10) == 2
        assert attempts == [(1, "stopped")]
        assert worker.lease != lost
        assert watch.execute("select array_agg(id) from penstock.leases").fetchone() == ([worker.lease],)

        async def waits_under_the_new_one_only() -> bool:
            watch.execute("select penstock.maintain()")
            return watch.execute("select array_agg(lease) from penstock.waiting").fetchone() == ([worker.lease],)

        await until(waits_under_the_new_one_only)
    assert [error["attempt"] for error in (await job.arefresh()).errors] == [1]


def freeze(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """As SIGSTOP does, or a machine that sleeps: the worker says nothing and hears nothing until the event is set."""
    thawed = asyncio.Event()

    def after_that(run: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def wait_and_run(call: Any) -> Any:
            await thawed.wait()
            return await run(call)

        return wait_and_run

    monkeypatch.setattr(worker.engine, "arun", after_that(worker.engine.arun))
    monkeypatch.setattr(worker.listener, "run_command", after_that(worker.listener.run_command))
    return thawed


@pytest.mark.parametrize("other", ["runs it", "has completed it"])
async def test_an_outcome_of_a_lost_job_is_refused(
    app: Penstock,
    watch: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    other: str,
) -> None:
    came, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> str:
        came.set()
        await go.wait()
        ended.set()
        return "late"

    job = await work.aenqueue()
    async with working(app) as worker:
        await soon(came.wait())
        thawed = freeze(worker, monkeypatch)
        expire(watch, worker.lease)
        lease = await app.engine.arun(commands.OpenLease("other"))
        [again] = await app.engine.arun(commands.Claim(lease, "default", 1))
        assert again.id == job.id
        if other == "has completed it":
            assert await app.engine.arun(saying.complete(lease, [again], [b'"in time"'])) == []
        go.set()
        await soon(ended.wait())
        thawed.set()

        await until(lambda: f"1 outcome was refused, no longer this worker's: {job.id}" in caplog.text)
    if other == "runs it":
        assert (await job.arefresh()).state is JobState.RUNNING
        assert await app.engine.arun(saying.complete(lease, [again], [b'"in time"'])) == []
    assert await job.aresult(5) == "in time"
    assert watch.execute("select count(*), max(attempt) from penstock.history").fetchone() == (1, 2)


async def enqueue_another_and_wait_async(ctx: Context, started: Path, go: Path) -> None:
    ctx.enqueue(NewJob(kind="another", queue="elsewhere"))
    await asyncio.to_thread(in_process.wait_for, started, go)


@pytest.mark.parametrize(
    ("function", "isolate"),
    [
        (in_process.wait_for, False),
        (enqueue_another_and_wait_async, False),
        (in_process.enqueue_another_and_wait, False),
        (in_process.enqueue_another_and_wait, True),
    ],
    ids=["by itself", "in its own transaction", "in that of a thread", "in that of a process"],
)
async def test_an_outcome_that_was_refused_is_lost_and_no_success(
    app: Penstock,
    watch: psycopg.Connection[Any],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    function: Callable[..., Any],
    isolate: bool,
) -> None:
    """Its worker has not heard of it: only the job is another's, not the lease."""
    ended: list[str] = []
    app.on_end(lambda run: ended.append(run.outcome))
    handler = app.job(isolate=isolate)(function)
    started, go = tmp_path / "started", tmp_path / "go"
    async with working(app):
        job = await handler.aenqueue(started, go)
        await until(started.exists, within=30)
        watch.execute("update penstock.jobs set claims = claims + 1")
        go.touch()
        await until(lambda: ended)
    assert ended == ["lost"]
    assert f"1 outcome was refused, no longer this worker's: {job.id}" in caplog.text
    assert watch.execute("select kind from penstock.all_jobs").fetchall() == [(function.__name__,)]
    assert watch.execute("select runs from penstock.reports where runs <> '[]'").fetchall() == []


async def test_jobs_of_the_new_lease_are_not_dropped_with_those_of_the_old(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a worker takes a new lease, its claimer may already have claimed under it."""
    came = asyncio.Event()
    ran: list[int] = []

    @app.job(batch=4)
    async def many(items: list[int]) -> None: ...

    @app.job
    async def work(ctx: Context, number: int) -> None:
        if number == 0 and ctx.attempt == 1:
            came.set()
            await asyncio.Event().wait()
        ran.append(number)

    extend = commands.ExtendLease
    extended = asyncio.Event()
    taken: list[tuple[Executor, Lane]] = []

    def take(executor: Executor, lane: Lane, lease: Lease, jobs: Sequence[ClaimedJob]) -> None:
        taken.append((executor, lane))
        take_as_always(executor, lane, lease, jobs)

    take_as_always = Executor.take
    monkeypatch.setattr(Executor, "take", take)
    await work.aenqueue(0)
    async with working(app, {"default": 1}, lease=0.9) as worker:
        await soon(came.wait())
        lost = worker.lease
        jobs = [await work.aenqueue(number) for number in range(1, 4)]

        def after_a_claim(lease: Lease) -> Any:
            """The claimer is quick: its claim comes between the new lease and everything else."""
            if lease != lost and not extended.is_set():
                extended.set()
                [claimed] = app.engine.run(commands.Claim(lease, "default", 1))
                executor, lane = taken[0]
                executor.take(lane, lease, [claimed])
            return extend(lease)

        monkeypatch.setattr(commands, "ExtendLease", after_a_claim)
        expire(watch, lost)
        await soon(extended.wait())
        for job in jobs:
            await job.aresult(10)
    assert sorted(set(ran)) == [0, 1, 2, 3]


@pytest.mark.parametrize("answered", [True, False], ids=["after the answer", "before the answer"])
async def test_jobs_whose_claim_had_no_answer_run_all_the_same(
    wired: Penstock, wire: Wire, watch: psycopg.Connection[Any], answered: bool
) -> None:
    @wired.job
    async def work(number: int) -> int:
        return number

    async with working(wired, lease=600):
        assert await (await work.aenqueue(0)).aresult(10) == 0
        wire.cut_at("penstock.claim", answered=answered)
        jobs = await wired.aenqueue_many(work.prepare(number) for number in range(1, 30))
        assert [await job.aresult(10) for job in jobs] == list(range(1, 30))
        assert wire.cuts == 1
    # given back, not lost and found: it cost no attempt
    assert watch.execute("select distinct attempt from penstock.history").fetchall() == [(1,)]


@pytest.mark.parametrize("answered", [True, False], ids=["after the answer", "before the answer"])
@pytest.mark.parametrize("how", ["complete", "fail", "snooze"])
async def test_a_report_without_an_answer_is_made_again_and_the_job_not_run_again(
    wired: Penstock, wire: Wire, watch: psycopg.Connection[Any], how: str, answered: bool
) -> None:
    runs: list[int] = []

    @wired.job(max_attempts=1)
    async def work(ctx: Context, number: int) -> int:
        runs.append(number)
        if number and how == "fail":
            raise ValueError("no")
        if number and how == "snooze":
            ctx.snooze(600)
        return number

    async with working(wired, lease=600):
        assert await (await work.aenqueue(0)).aresult(10) == 0
        wire.cut_at(f"penstock.{how}", answered=answered)
        job = await work.aenqueue(1)
        ends = {"complete": JobState.SUCCEEDED, "fail": JobState.FAILED, "snooze": JobState.SCHEDULED}

        async def ended() -> bool:
            return (await job.arefresh()).state is ends[how]

        await until(ended)
        assert wire.cuts == 1
        # and the worker goes on
        assert await (await work.aenqueue(0)).aresult(10) == 0
    assert runs == [0, 1, 0]
    assert (await job.arefresh()).attempt == (0 if how == "snooze" else 1)


@pytest.mark.parametrize("answered", [True, False], ids=["after the answer", "before the answer"])
@pytest.mark.parametrize(
    ("kind", "report", "outcome"),
    [
        ("succeed", "complete", "succeeded"),
        ("give_up", "fail", "failed"),
        ("try_again", "fail", "retried"),
        ("poll", "snooze", "failed"),
        ("stale", "park", "failed"),
    ],
)
async def test_what_a_report_without_an_answer_came_to_is_told_once(
    wired: Penstock,
    wire: Wire,
    watch: psycopg.Connection[Any],
    caplog: pytest.LogCaptureFixture,
    kind: str,
    report: str,
    outcome: str,
    answered: bool,
) -> None:
    ended: dict[str, list[str]] = defaultdict(list)
    told: list[str] = []
    wired.on_end(lambda run: ended[run.job.kind].append(run.outcome))
    wired.on_failure(lambda failure: told.append(failure.job.kind))

    @wired.job
    async def succeed() -> None: ...

    @wired.job(max_attempts=1)
    async def give_up() -> None:
        raise ValueError("no")

    @wired.job(max_attempts=2, backoff=Backoff.constant(600))
    async def try_again() -> None:
        raise ValueError("no")

    @wired.job(max_snoozes=0)
    async def poll() -> Snooze:
        return Snooze(600)

    @wired.job
    async def stale(changed: int) -> None: ...

    @wired.job
    async def warm_up() -> None: ...

    async with working(wired, lease=600):
        await (await warm_up.aenqueue()).aresult(10)
        wire.cut_at(f"penstock.{report}", answered=answered)
        if kind == "stale":
            with watch.transaction():
                watch.execute("select penstock.enqueue('stale')")
                watch.execute("update penstock.jobs set parked_since = now() - interval '4 days'")
        else:
            await wired.handler(kind).aenqueue()
        await until(lambda: ended[kind])
        assert wire.cuts == 1
    assert ended[kind] == [outcome]
    assert told == [kind] * (outcome == "failed")
    assert "refused" not in caplog.text
    assert ("attempt 1 of 2 failed, tried again" in caplog.text) == (kind == "try_again")


async def test_a_report_waits_for_a_database_that_is_away(
    wired: Penstock, wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pools, "RESTART", 0.05)
    ran: list[int] = []
    enqueued = asyncio.Event()

    @wired.job
    async def work(number: int) -> int:
        ran.append(number)
        if number == 1:
            await enqueued.wait()  # the job may start before its enqueuer has the answer
            wire.go_down()
        return number

    async def gave_up_once() -> bool:
        return "completer: " in caplog.text

    caplog.set_level("DEBUG", "penstock.worker")
    async with working(wired, lease=600):
        job = await work.aenqueue(1)
        enqueued.set()
        await until(gave_up_once)
        wire.come_back()
        assert await job.aresult(20) == 1
        assert await (await work.aenqueue(2)).aresult(10) == 2
    assert ran == [1, 2]


async def test_everything_finishes_when_all_connections_end_in_the_midst(
    app: Penstock, watch: psycopg.Connection[Any]
) -> None:
    ran: set[int] = set()
    lock = threading.Lock()

    @app.job
    async def work(number: int) -> None:
        await asyncio.sleep(0.01)
        ran.add(number)

    @app.job
    def in_thread(number: int) -> None:
        with lock:
            ran.add(number)

    await app.aenqueue_many((work if number % 2 else in_thread).prepare(number) for number in range(400))
    async with working(app, {"default": 10}, lease=600):
        for finished in (50, 150, 300):

            async def enough(finished: int = finished) -> bool:
                return len(ran) > finished

            await until(enough)
            watch.execute(TERMINATE.encode())

        succeeded = "select count(*) from penstock.history where state = 'succeeded'"
        await until(lambda: watch.execute(succeeded.encode()).fetchone() == (400,), within=40)
    assert ran == set(range(400))
    assert watch.execute("select count(*) from penstock.jobs").fetchone() == (0,)

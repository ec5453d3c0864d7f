"""A worker that does not stay: runs what is there within its limits, reports each job, and leaves nothing behind."""

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import Backoff, Context, Fail, Handler, InvalidInput, JobState, Penstock, PenstockError, Snooze
from penstock.engine.commands import Claim, OpenLease
from penstock.engine.postgres import pools
from penstock.job import NewJob
from penstock.testing import drain
from penstock.worker import tick
from penstock.worker.tick import Budget
from tests.app.cut_wire import Wire
from tests.kit.fixtures import Connect
from tests.kit.looks import Looks
from tests.kit.until import soon
from tests.worker import in_process
from tests.worker.processes import Commands
from tests.worker.processes import commands as commands
from tests.worker.wires import wire as wire


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


@pytest.fixture(autouse=True)
def leaves_nothing(connect: Connect) -> Iterator[None]:
    yield
    watch = connect()
    for table in ("leases", "waiting"):
        assert watch.execute(f"select count(*) from penstock.{table}".encode()).fetchone() == (0,)
    assert watch.execute("select count(*) from penstock.jobs where state = 'running'").fetchone() == (0,)


async def test_it_reports_what_became_of_each_job(app: Penstock) -> None:
    @app.job
    async def succeed() -> int:
        return 1

    @app.job
    def succeed_in_thread() -> None: ...

    @app.job
    async def fail() -> Fail:
        return Fail("no use")

    @app.job(backoff=Backoff(60))
    async def fail_once() -> None:
        raise ValueError("not yet")

    @app.job
    async def snooze() -> Snooze:
        return Snooze(60)

    handlers: list[Handler[[], Any]] = [succeed, succeed_in_thread, fail, fail_once, snooze]
    jobs = {handler.kind: await app.aenqueue(handler.prepare()) for handler in handlers}
    results = {result.kind: result for result in await app.atick()}
    assert {kind: (each.state, each.attempt, each.error) for kind, each in results.items()} == {
        "succeed": (JobState.SUCCEEDED, 1, None),
        "succeed_in_thread": (JobState.SUCCEEDED, 1, None),
        "fail": (JobState.FAILED, 1, "no use"),
        "fail_once": (JobState.SCHEDULED, 1, "not yet"),
        "snooze": (JobState.SCHEDULED, 1, None),
    }
    assert {kind: each.id for kind, each in results.items()} == {kind: job.id for kind, job in jobs.items()}
    assert all(0 <= each.seconds < 10 for each in results.values())
    assert await jobs["succeed"].aresult(1) == 1


def test_without_an_event_loop_it_is_a_plain_call(url: str) -> None:
    with Penstock(url) as app:

        @app.job
        async def work(number: int) -> int:
            return number

        for number in range(2):
            job = work.enqueue(number)
            [result] = app.tick()
            assert (result.id, result.state) == (job.id, JobState.SUCCEEDED)
            assert job.result(1) == number
        assert app.tick() == []


def test_a_traceback_begins_with_the_handler_s_own_error(url: str) -> None:
    """And not with the reason why the call had an event loop of its own."""
    with Penstock(url) as app:

        @app.job
        async def fail() -> None:
            raise ValueError("no")

        runs: list[Callable[[], object]] = [app.tick, lambda: drain(app)]
        for run in runs:
            job = fail.enqueue()
            run()
            [error] = job.refresh().errors
            assert "During handling" not in error["traceback"], error["traceback"]
            assert error["traceback"].strip().endswith("ValueError: no")


async def test_where_an_event_loop_runs_it_says_what_to_write(app: Penstock) -> None:
    with pytest.raises(
        PenstockError, match=r"app\.tick\(\) cannot run inside an event loop: write `await app\.atick\(\)`"
    ):
        app.tick()


async def test_it_runs_no_more_than_its_limit_and_the_best_first(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    ran: list[int] = []

    @app.job
    async def work(number: int) -> None:
        ran.append(number)

    await app.aenqueue_many(work.using(priority=number).prepare(number) for number in range(30))
    assert len(await app.atick(limit=25)) == 25
    assert sorted(ran) == list(range(5, 30))
    assert watch.execute("select count(*) from penstock.jobs where attempt = 0").fetchone() == (5,)
    assert len(await app.atick(limit=25)) == 5


async def test_it_goes_on_with_jobs_that_come_of_jobs(app: Penstock) -> None:
    @app.job
    async def work(ctx: Context, number: int) -> None:
        if number:
            ctx.enqueue(work.prepare(number - 1))

    await work.aenqueue(5)
    assert len(await app.atick()) == 6


async def test_it_runs_only_the_queues_it_is_told(app: Penstock) -> None:
    @app.job
    async def work() -> None: ...

    await work.using(queue="other").aenqueue()
    await work.aenqueue()
    [result] = await app.atick(queues={"other": 1})
    assert result.state is JobState.SUCCEEDED
    assert len(await app.atick()) == 1


async def test_a_run_that_had_the_budget_and_did_not_end_has_failed_an_attempt(app: Penstock) -> None:
    @app.job
    async def finish() -> None: ...

    @app.job(max_attempts=2, backoff=Backoff.constant(0))
    async def go_on() -> None:
        await asyncio.Event().wait()

    await finish.aenqueue()
    jobs = [await go_on.aenqueue() for _ in range(5)]
    began = time.monotonic()
    results = await app.atick(budget=0.6)
    assert 0.6 <= time.monotonic() - began < 3
    assert [each.state for each in results if each.kind == "finish"] == [JobState.SUCCEEDED]
    cut = [each for each in results if each.kind == "go_on"]
    assert {(each.state, each.attempt) for each in cut} == {(JobState.READY, 1)}
    assert all(re.fullmatch(r"did not end within 0\.\d+ s, the budget of the tick .*", str(each.error)) for each in cut)
    await app.atick(budget=0.6)
    records = [await job.arefresh() for job in jobs]
    assert {(each.state, each.attempt, len(each.errors)) for each in records} == {(JobState.FAILED, 2, 2)}


async def test_so_has_one_that_takes_longer_to_clean_up_than_there_is_time(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it would come back at once, at no cost of an attempt, and every tick would be cleaning up."""
    monkeypatch.setattr(tick, "CLEANUP", 0.05)
    go, cleaned = asyncio.Event(), asyncio.Event()

    @app.job(max_attempts=2, backoff=Backoff.constant(0))
    async def clean_up_for_long() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            await go.wait()
            cleaned.set()
        return "too late"

    job = await clean_up_for_long.aenqueue()
    for attempt, state in ((1, JobState.READY), (2, JobState.FAILED)):
        [result] = await app.atick(budget=0.2)
        assert (result.id, result.state, result.attempt) == (job.id, state, attempt)
        assert "did not end within" in str(result.error)
    go.set()
    await soon(cleaned.wait())
    ended = await job.arefresh()
    assert (ended.state, len(ended.errors)) == (JobState.FAILED, 2)


class Late:
    """The half of a tick's budget is over when the test says so, not before: whoever starts then starts late."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_late = False
        half = property(lambda budget: budget.began - 1 if self.is_late else budget.deadline)
        monkeypatch.setattr(Budget, "half", half)


async def test_a_run_that_was_started_late_is_given_back_once_and_has_a_fair_share_the_next_time(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late, but where jobs are known to be quick."""
    budget = Late(monkeypatch)
    ran, began = asyncio.Event(), asyncio.Event()

    @app.job(queue="other")
    async def hold() -> None:
        await soon(ran.wait())
        budget.is_late = True
        await go_on.aenqueue()
        await soon(began.wait())

    @app.job
    async def quick() -> None:
        ran.set()

    @app.job(backoff=Backoff(60))
    async def go_on() -> None:
        began.set()
        await asyncio.Event().wait()

    await quick.aenqueue()
    await hold.aenqueue()
    late = {each.kind: each for each in await app.atick(budget=2)}["go_on"]
    assert (late.state, late.error) == (JobState.READY, "given back: the tick's budget was over soon after it began")
    job = await app.jobs.aget(late.id)
    assert job is not None
    assert (job.attempt, job.errors) == (0, [])

    budget.is_late = False
    [early] = await app.atick(budget=0.5)
    assert (early.id, early.state, early.attempt) == (late.id, JobState.SCHEDULED, 1)
    assert "did not end within" in str(early.error)


async def test_what_was_cut_off_before_is_not_started_late_again(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, looks = Late(monkeypatch), Looks(app.engine, monkeypatch)
    ran = asyncio.Event()

    @app.job
    async def quick() -> None:
        ran.set()

    @app.job(queue="other")
    async def hold() -> None:
        await soon(ran.wait())
        await looks.none()  # one under way would take it, and be the last
        budget.is_late = True
        watch.execute("update penstock.jobs set state = 'ready' where kind = 'again'")
        await looks.another()

    @app.job
    async def again() -> None: ...

    await again.using(delay=60).aenqueue()
    watch.execute("update penstock.jobs set claims = 1")
    await quick.aenqueue()
    await hold.aenqueue()
    assert {each.kind for each in await app.atick(budget=20)} == {"quick", "hold"}
    budget.is_late = False
    assert [each.kind for each in await app.atick(budget=20)] == ["again"]


async def test_what_waited_before_is_started_late_as_any_other(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Late(monkeypatch)

    @app.job
    async def doze(ctx: Context) -> None:
        await ctx.sleep(0)
        budget.is_late = True
        await ctx.sleep(0)

    job = await doze.aenqueue()
    assert [each.error for each in await app.atick(budget=20)] == [None] * 3
    assert (await job.arefresh()).state is JobState.SUCCEEDED


async def test_a_slow_job_does_not_keep_others_from_free_slots(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    done = asyncio.Event()
    looks = Looks(app.engine, monkeypatch)

    @app.job
    async def slow() -> None:
        await looks.another()  # and the queue was found empty
        await other.aenqueue()
        await done.wait()

    @app.job
    async def other() -> None:
        done.set()

    await slow.aenqueue()
    assert [each.state for each in await soon(app.atick(budget=15))] == [JobState.SUCCEEDED] * 2


async def test_nothing_is_begun_when_the_budget_is_nearly_over(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "half", property(lambda budget: budget.began + 0.1))

    @app.job
    async def take_long() -> None:
        await asyncio.sleep(0.4)

    for _ in range(3):
        await take_long.aenqueue()
    began = time.monotonic()
    assert [each.state for each in await app.atick(budget=0.9, queues={"default": 1})] == [JobState.SUCCEEDED]
    assert time.monotonic() - began < 0.9, "it leaves when there is nothing that it could do in time"


async def test_a_handler_in_a_process_is_ended_with_the_budget(app: Penstock, tmp_path: Path) -> None:
    work = app.job(isolate=True)(in_process.sleep_with_clean_up)
    job = await work.aenqueue(tmp_path / "started", tmp_path / "cleaned")
    [result] = await soon(app.atick(budget=3, queues={"default": 1}), within=15)
    assert (result.state, result.attempt) == (JobState.SCHEDULED, 1)
    assert "did not end within" in str(result.error)
    assert (await job.arefresh()).attempt == 1
    # on a busy machine its process may not have come as far
    assert (tmp_path / "cleaned").exists() == (tmp_path / "started").exists()


async def test_it_does_what_is_due(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    ran: list[str] = []

    @app.job
    async def work(what: str) -> None:
        ran.append(what)

    @app.cron("* * * * *", catch_up="one")
    async def every_minute() -> None:
        ran.append("cron")

    await app.atick()  # records the schedule
    watch.execute("update penstock.schedules set next_tick = next_tick - interval '1 hour'")
    await work.using(delay=60).aenqueue("scheduled")
    watch.execute("update penstock.jobs set run_at = now()")
    await work.using(queue="lost").aenqueue("lost")
    lease = await app.engine.arun(OpenLease("killed"))
    [lost] = await app.engine.arun(Claim(lease, "lost", 1))
    watch.execute("update penstock.heartbeats set expires_at = now()")
    results = await app.atick(queues={"default": 5, "lost": 1})
    assert sorted(ran) == ["cron", "lost", "scheduled"]
    assert {each.state for each in results} == {JobState.SUCCEEDED}
    assert [each.attempt for each in results if each.id == lost.id] == [2]


async def test_it_carries_on_when_its_connections_end(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    @app.job
    async def work(number: int) -> int:
        if number == 5:
            watch.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        return number

    await app.aenqueue_many(work.prepare(number) for number in range(20))
    with_fault = await soon(app.atick())
    results = with_fault + await soon(app.atick())
    assert len({each.id for each in results if each.state is JobState.SUCCEEDED}) == 20


async def test_it_ends_when_the_database_does_not_come_back(
    app: Penstock, wire: Wire, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "RESTART", 0.1)
    monkeypatch.setattr(tick, "LAST_WORDS", 0.3)

    async with Penstock(wire.url) as distant:

        @distant.job
        async def work() -> None:
            wire.go_down()

        job = await work.aenqueue()
        with pytest.raises(psycopg.OperationalError):
            await soon(distant.atick(), within=10)
    assert (await app.handle(job.id).arefresh()).state is JobState.RUNNING
    watch.execute("select penstock.expire_lease(id) from penstock.leases")


@pytest.mark.parametrize(
    ("field", "value"),
    [("limit", 0), ("limit", -1), ("limit", "5"), ("limit", 2.5), ("budget", 0), ("budget", -1), ("budget", math.nan),
     ("budget", math.inf), ("budget", "5"), ("queues", {"default": 0})],
)  # fmt: skip
async def test_bad_limits_are_named_and_nothing_runs(app: Penstock, field: str, value: Any) -> None:
    @app.job
    async def work() -> None: ...

    job = await work.aenqueue()
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        await app.atick(**{field: value})
    assert (await job.arefresh()).state is JobState.READY


def test_the_command_prints_what_became_of_each_job(commands: Commands) -> None:
    job = commands.enqueue("quick")
    [unknown] = commands.app.engine.enqueue([NewJob(kind="nobody", max_attempts=1)])
    process = commands.start("tick", "tasks:app", "--json", "--queues", "default,defualt")
    assert process.wait() == 0, process.complaint
    assert "no handler here puts its jobs into 'defualt' (did you mean 'default'?)" in process.complaint
    results = json.loads((commands.folder / "out").read_text())["results"]
    assert {each["id"]: (each["kind"], each["state"], each["attempt"]) for each in results} == {
        str(job.id): ("quick", "succeeded", 1),
        str(unknown.id): ("nobody", "scheduled", 1),
    }
    assert job.result(1) == process.pid


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--limit", "0"], "limit: must be at least 1, not 0"),
        (["--budget", "0"], "budget: must be a positive number of seconds, not 0.0"),
        (["--queues", "default:0"], "queues: 'default:0': write it as"),
    ],
)
def test_the_command_names_the_wrong_option(commands: Commands, options: list[str], complaint: str) -> None:
    commands.enqueue("quick")
    process = commands.start("tick", "tasks:app", *options)
    assert process.wait() == 1
    [line] = process.complaint.splitlines()
    assert line.startswith(f"error: {complaint}")
    assert commands.watch.execute("select state::text from penstock.jobs").fetchall() == [("ready",)]

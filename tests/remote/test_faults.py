"""What goes wrong between a worker and the API: nothing is lost, and what was said is not said in vain."""

import asyncio
import logging
import time
from collections import Counter
from typing import Any

import msgspec
import psycopg
import pytest

from penstock import Context, InvalidInput, JobHandle, JobState, Penstock, SyncContext
from penstock.engine import commands
from penstock.engine.http import ApiUnreachable, HttpEngine, KeyRefused, contract
from penstock.job import Lease
from penstock.worker import claimer
from tests.kit.fake_http import Answer, Request, fake_server
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.kit.until import soon, until
from tests.remote.enqueueing import enqueue
from tests.remote.serving import Api, working

JOBS = 120
"""Enough for each restart to find some of them under way."""


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


def waits(watch: psycopg.Connection[Any], lease: int) -> bool:
    return watch.execute("select from penstock.waiting where lease = %s", [lease]).rowcount > 0


async def test_a_cancelled_job_stops_while_it_runs(app: Penstock, api: Api) -> None:
    came, stopped = asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> None:
        came.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with working(app, api, lease=600):
        for _ in range(2):
            came.clear()
            stopped.clear()
            job = await enqueue(api, "work")
            await soon(came.wait())
            asked_at = time.monotonic()
            await job.acancel()
            # not by a heartbeat of its own, which would come after 200 s
            await soon(stopped.wait())
            assert time.monotonic() - asked_at < 10

            async def ended() -> bool:
                return (await job.arefresh()).state is JobState.CANCELLED  # noqa: B023

            await until(ended)


async def test_a_thread_that_does_not_listen_is_not_asked_again_and_again(app: Penstock, api: Api) -> None:
    came, go = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.job
    def work(ctx: SyncContext) -> None:
        loop.call_soon_threadsafe(came.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result()

    async with working(app, api) as worker:
        job = await enqueue(api, "work")
        await soon(came.wait())
        [run] = worker.runs
        await job.acancel()
        await until(lambda: run.stop)
        api.requests.clear()
        await asyncio.sleep(1)
        assert api.requests.total() <= 10  # without a pause it is hundreds
        go.set()

        async def ended() -> bool:
            return (await job.arefresh()).state.final

        await until(ended)


async def test_an_idle_worker_is_told_of_a_job(
    app: Penstock, api: Api, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(claimer, "LAST_PAUSE", 600.0)

    @app.job
    async def work(number: int) -> int:
        return number

    async with working(app, api, {"default": 1}) as worker:
        for number in range(10):
            await until(lambda: waits(watch, worker.lease) and not worker.runs)
            job = await enqueue(api, "work", number=number)
            # how soon is for the benchmark to say: looking by itself it would find it after ten minutes
            assert await job.aresult(20) == number


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> "Counter[str]":
    """Every statement about workers that is sent from here on."""
    counted: Counter[str] = Counter()
    execute = psycopg.AsyncCursor.execute

    async def count(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        counted.update(
            name for name in ("heartbeat", "claim(", "waiting", "wait_for_work", "backlog", "release") if name in text
        )
        return await execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", count)
    return counted


async def test_an_idle_worker_asks_for_next_to_nothing(
    app: Penstock,
    api: Api,
    watch: psycopg.Connection[Any],
    statements: "Counter[str]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # it settles at once, not within two minutes
    monkeypatch.setattr(claimer, "FIRST_PAUSE", claimer.LAST_PAUSE)

    @app.job
    async def work() -> None: ...

    async with working(app, api) as worker:
        await until(lambda: waits(watch, worker.lease) and api.workers.waiting == 1)
        await asyncio.sleep(0.5)
        assert statements["heartbeat"] > 0
        api.requests.clear()
        statements.clear()
        await asyncio.sleep(5)
        # a heartbeat every 24 s is 2.5 requests a minute
        assert api.requests.total() <= 1, api.requests
        assert statements.total() <= 2, statements


async def test_a_wrong_key_ends_the_worker_with_what_to_do(app: Penstock, api: Api) -> None:
    worker = app.worker(api=api.address, key="another key altogether")
    with pytest.raises(KeyRefused, match=r"does not take this service key .401.: set PENSTOCK_SERVICE_KEY") as refused:
        await soon(worker.run())
    assert "another key" not in str(refused.value)


async def test_an_api_that_is_not_there_ends_the_worker_at_once(app: Penstock, api: Api) -> None:
    await api.stop()
    with pytest.raises(ApiUnreachable, match="gave no answer"):
        await soon(app.worker(api=api.address, key=KEY).run(), within=8)


async def test_something_else_than_a_penstock_server_is_named(app: Penstock, api: Api) -> None:
    with pytest.raises(ApiUnreachable, match=r"there is no Penstock API for workers at .*/elsewhere .404."):
        await soon(app.worker(api=f"{api.address}/elsewhere", key=KEY).run())


@pytest.mark.parametrize(
    "address", ["jobs.example.com", "ftp://jobs.example.com", "http://", "https://me:pw@a.example"]
)
def test_an_address_that_is_none_is_refused(app: Penstock, address: str) -> None:
    with pytest.raises(ValueError, match=r"^api: "):
        app.worker(api=address, key=KEY)


def test_without_a_key_it_says_where_to_put_it(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_SERVICE_KEY", raising=False)
    with pytest.raises(ValueError, match="set PENSTOCK_SERVICE_KEY"):
        app.worker(api="http://localhost:1")


async def test_a_restarted_server_costs_no_job(app: Penstock, api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "penstock.server")
    ran: list[int] = []

    @app.job
    async def work(ctx: Context, number: int) -> int:
        doubled = await ctx.step("double", lambda: 2 * number)
        await asyncio.sleep(0.01)
        ran.append(number)
        return doubled

    jobs = [await enqueue(api, "work", number=number) for number in range(JOBS)]
    async with working(app, api, {"default": 10}):
        for restart in range(1, 4):

            async def some_ran(wanted: int = restart * JOBS // 5) -> bool:
                return len(ran) >= wanted

            await until(some_ran)
            await api.restart()
        jobs = [api.app.handle(job.id) for job in jobs]
        assert [await job.aresult(30) for job in jobs] == [2 * number for number in range(JOBS)]


async def test_an_answer_that_was_kept_back_does_not_say_that_the_api_is_back(caplog: pytest.LogCaptureFixture) -> None:
    """Each long poll from before an outage would have told of its end, and the next request of another one."""
    go = asyncio.Event()
    kept, refused, afterwards = Lease(1), Lease(2), Lease(3)

    async def answer(request: Request) -> Answer:
        lease = msgspec.json.decode(request.body)["lease"]
        if lease == kept:
            await go.wait()
        return Answer(503) if lease == refused else Answer(body=b'{"result": null}', headers=contract.SAID)

    async with fake_server(answer) as server:
        engine = HttpEngine(server.url, KEY)
        waiting = asyncio.create_task(engine.arun(commands.WaitForWork(kept, ["default"])))
        await until(lambda: bool(server.requests))
        with pytest.raises(ApiUnreachable):
            await engine.arun(commands.WaitForWork(refused, ["default"]))
        go.set()
        await soon(waiting)
        assert len(caplog.records) == 1
        await engine.arun(commands.WaitForWork(afterwards, ["default"]))
        await engine.aclose()
    assert ["is back after" in each.message for each in caplog.records] == [False, True]


async def test_work_and_cancellations_are_heard_of_after_a_restart(
    app: Penstock, api: Api, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(claimer, "LAST_PAUSE", 600.0)
    came = asyncio.Event()

    @app.job
    async def work() -> None:
        came.set()
        await asyncio.Event().wait()

    async with working(app, api, lease=600, grace=0) as worker:

        async def idle() -> bool:
            return waits(watch, worker.lease) and api.workers.waiting == 1

        await until(idle)
        await api.restart()
        await until(idle)
        job = await enqueue(api, "work")
        await soon(came.wait())
        await api.restart()
        job = api.app.handle(job.id)
        await job.acancel()

        async def ended() -> bool:
            return (await job.arefresh()).state is JobState.CANCELLED

        await until(ended)


async def test_a_worker_that_lost_its_lease_takes_another_and_goes_on(
    app: Penstock, api: Api, watch: psycopg.Connection[Any]
) -> None:
    came, stopped = asyncio.Event(), asyncio.Event()

    @app.job
    async def work(ctx: Context) -> int:
        if ctx.attempt == 1:
            came.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
        return ctx.attempt

    @app.job
    async def quick() -> str:
        return "done"

    async with working(app, api, lease=1.2) as worker:
        job = await enqueue(api, "work")
        await soon(came.wait())
        lost = worker.lease
        watch.execute("select penstock.expire_lease(%s)", [lost])
        assert await job.aresult(20) == 2
        assert stopped.is_set()
        assert worker.lease != lost
        assert await (await enqueue(api, "quick")).aresult(20) == "done"

        await until(lambda: waits(watch, worker.lease) and not waits(watch, lost))


async def test_jobs_whose_claim_had_no_answer_run_all_the_same(
    app: Penstock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    async with working(app, api, lease=600) as worker:
        engine = worker.engine
        arun = engine.arun
        lost: list[str] = []

        async def lose_an_answer(call: Any) -> Any:
            answer = await arun(call)
            if isinstance(call, commands.Claim) and answer and not lost:
                lost.append("claim")
                raise ApiUnreachable("the answer was lost")
            return answer

        monkeypatch.setattr(engine, "arun", lose_an_answer)
        jobs: list[JobHandle[Any]] = []
        # a claim that was under way takes the first one, and its answer is not lost
        while not lost:
            jobs.append(await enqueue(api, "work", number=len(jobs)))
            assert await jobs[-1].aresult(20) == len(jobs) - 1
    assert {(await job.arefresh()).attempt for job in jobs} == {1}


@pytest.mark.parametrize("url", ["ftp://u:s3cret@h", "u:s3cret@h", "https://u:s3cret@h", "https://u:4711/s3cret@h"])
def test_an_address_of_an_api_that_has_a_password_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InvalidInput, match="api: ") as refused:
        HttpEngine(url, KEY)
    assert "s3cret" not in str(refused.value)

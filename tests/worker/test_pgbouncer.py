"""Behind PgBouncer in transaction mode: no notifications, no prepared statements, and everything works all the same."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from penstock import Backoff, Context, Flow, JobCancelled, JobState, Penstock, SyncContext
from penstock.engine.postgres import listener
from tests.kit.fixtures import Connect
from tests.kit.pooler import PROGRAM, SESSIONS, pgbouncer
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker import in_process

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="needs PgBouncer in front of the database: apt-get install pgbouncer"
)


@pytest.fixture
def bounced(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(listener, "_ECHO", 0.2)  # as long as a worker waits for a notification that will not come
    with pgbouncer(url) as address:
        yield address


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    """Not through PgBouncer."""
    return connect()


@pytest.fixture
async def app(bounced: str) -> AsyncIterator[Penstock]:
    async with Penstock(bounced) as app:
        yield app


async def test_connections_prepare_nothing_when_somebody_stands_between(url: str, bounced: str) -> None:
    for address, prepares in ((url, True), (bounced, False)):
        async with Penstock(address) as app:
            async with (await app.database.pools.of_this_loop()).connection() as connection:
                assert (connection.prepare_threshold is not None) is prepares
            with app.database.pools.sync().connection() as sync_connection:
                assert (sync_connection.prepare_threshold is not None) is prepares


async def test_jobs_run_by_polling(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    @app.job(backoff=Backoff(0.1))
    async def work(ctx: Context, number: int) -> int:
        if number == 0 and ctx.attempt == 1:
            raise ValueError("again")
        return number

    @app.job
    def in_thread(number: int) -> int:
        return number

    async with working(app):
        for number in range(3):
            assert await (await work.aenqueue(number)).aresult(10) == number
        assert await asyncio.to_thread(lambda: in_thread.enqueue(3).result(10)) == 3
        assert await (await in_thread.using(delay=0.1).aenqueue(4)).aresult(10) == 4
        # by COPY
        many = await work.aenqueue_many([{"number": number} for number in range(1, 500)])
        assert [await job.aresult(20) for job in many] == list(range(1, 500))
        assert watch.execute("select count(*) from penstock.waiting").fetchone() == (0,)


async def test_flows_run(app: Penstock) -> None:
    @app.job
    async def part(number: int) -> int:
        return number

    @app.job
    async def total(ctx: Context) -> int:
        return sum(each.output for each in await ctx.outputs())

    async with working(app):
        flow = Flow(then=total.prepare())
        for number in range(10):
            flow.add(part.prepare(number))
        assert await (await app.aenqueue(flow)).aresult(10) == 45


async def test_a_running_job_is_cancelled(app: Penstock) -> None:
    came, stopped = asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> None:
        came.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with working(app):
        job = await work.aenqueue()
        await soon(came.wait())
        assert await job.acancel()
        await soon(stopped.wait(), within=5)
        with pytest.raises(JobCancelled):
            await job.aresult(10)


async def test_a_handler_s_writes_are_committed_with_its_completion(
    app: Penstock, watch: psycopg.Connection[Any]
) -> None:
    watch.execute("create table notes (text text)")

    @app.job(max_attempts=1)
    async def write(ctx: Context, text: str) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values (%s)", [text])
        if text == "bad":
            raise ValueError(text)
        ctx.enqueue(follow.prepare(text))

    @app.job
    def follow(ctx: SyncContext, text: str) -> None:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values (%s)", [f"after {text}"])

    async with working(app):
        jobs = [await write.aenqueue(text) for text in ("one", "bad", "two")]

        async def written() -> bool:
            found = watch.execute("select text from notes order by text").fetchall()
            return [text for (text,) in found] == ["after one", "after two", "one", "two"]

        await until(written)
        states = [(await job.arefresh()).state for job in jobs]
        assert states == [JobState.SUCCEEDED, JobState.FAILED, JobState.SUCCEEDED]


async def test_a_handler_in_a_process_runs(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    watch.execute("create table notes (text text)")
    write_note = app.job(isolate=True)(in_process.write_note)
    async with working(app):
        await (await write_note.aenqueue("hello")).aresult(20)
    assert watch.execute("select text from notes").fetchall() == [("hello",)]


async def test_schedules_fire(app: Penstock) -> None:
    fired = asyncio.Event()

    @app.cron("* * * * * *")
    async def every_second() -> None:
        fired.set()

    async with working(app):
        await soon(fired.wait(), within=10)


async def test_a_tick_works(app: Penstock) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    await work.aenqueue_many([{"number": number} for number in range(30)])
    assert {result.state for result in await app.atick()} == {JobState.SUCCEEDED}


async def test_many_clients_share_few_sessions(
    bounced: str, app: Penstock, watch: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Each statement often enough that psycopg would prepare it."""

    @app.job
    async def work(ctx: Context, number: int) -> int:
        await ctx.progress(50)
        return number

    async def enqueue(client: int) -> list[int]:
        async with Penstock(bounced) as mine:
            handler = mine.job(kind="work")(work.function)
            jobs = [await handler.aenqueue(100 * client + number) for number in range(12)]
            return [await job.aresult(30) for job in jobs]

    async with working(app), working(app):
        clients = 2 * SESSIONS
        found = await asyncio.gather(*(enqueue(client) for client in range(clients)))
    assert found == [[100 * client + number for number in range(12)] for client in range(clients)]
    assert watch.execute("select distinct state::text, attempt from penstock.history").fetchall() == [("succeeded", 1)]
    assert not [record.message for record in caplog.records if "prepared" in record.message]

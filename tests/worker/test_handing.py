"""A job enqueued while a worker is idle is handed to it with the notification, and need not be claimed."""

import asyncio
from typing import Any

import psycopg
import pytest

from penstock import Context, JobState, Penstock
from penstock.engine import commands
from penstock.engine.postgres.listener import Notifications
from penstock.testing import adrain
from penstock.worker import Worker
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working


async def idle(connect: Connect, workers: int = 1, queue: str = "default") -> None:
    """Waits until so many workers ask to be handed jobs."""
    connection = connect()

    async def asked() -> bool:
        [count] = connection.execute(
            "select count(*) from penstock.waiting where queue = %s and direct", [queue]
        ).fetchone() or [0]
        return bool(count == workers)

    await until(asked)


def claims_nothing(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on whatever this worker starts was handed to it."""

    arun = worker.engine.arun

    async def answer_no_claim(command: Any) -> Any:
        if isinstance(command, commands.Claim):
            await asyncio.Event().wait()
        return await arun(command)

    monkeypatch.setattr(worker.engine, "arun", answer_no_claim)


async def test_a_job_is_handed_to_an_idle_worker(
    app: Penstock, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job(max_attempts=3, timeout=60)
    async def greet(name: str, *, loudly: bool = False) -> str:
        return f"hello {name}{'!' if loudly else ''}"

    async with working(app) as worker:
        await idle(connect)
        claims_nothing(worker, monkeypatch)
        handle = await greet.using(owner="ada", org="analytical", priority=2).aenqueue("Gräce \"'\\", loudly=True)
        assert await handle.aresult(10) == "hello Gräce \"'\\!"
        job = await handle.arefresh()
        assert (job.attempt, job.owner, job.org, job.priority) == (1, "ada", "analytical", 2)


async def test_one_that_fails_is_retried_as_any_other(app: Penstock, connect: Connect) -> None:
    attempts: list[int] = []

    @app.job(max_attempts=2, timeout=60)
    async def fail_once(number: int) -> int:
        attempts.append(number)
        if len(attempts) == 1:
            raise ValueError("once")
        return number

    async with working(app):
        await idle(connect)
        handle = await fail_once.using(backoff=None).aenqueue(1)
        connection = connect()

        async def waits() -> bool:
            return bool(
                connection.execute("update penstock.jobs set run_at = now() where state = 'scheduled'").rowcount
            )

        await until(waits)
        assert await handle.aresult(10) == 1
        assert (await handle.arefresh()).attempt == 2


async def test_a_job_that_an_event_wakes_is_handed_to_an_idle_worker(
    app: Penstock, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job(max_attempts=3)
    async def wait(ctx: Context, name: str) -> list[object]:
        begun = await ctx.step("begin", str, "begun")
        return [begun, name, ctx.job.attempt, await ctx.wait_for("went", key=name, timeout=3600)]

    handle = await wait.using(owner="ada").aenqueue("Gräce")
    await adrain(app)
    async with working(app) as worker:
        await idle(connect)
        claims_nothing(worker, monkeypatch)
        assert await app.aemit("went", key="Gräce", payload=7) == handle.id
        assert await handle.aresult(10) == ["begun", "Gräce", 1, 7]
    job = await handle.arefresh()
    assert (job.attempt, job.owner) == (1, "ada")


async def test_a_worker_that_is_handed_a_woken_job_and_dies_leaves_it_to_another(
    app: Penstock, connect: Connect
) -> None:
    @app.job
    async def wait(ctx: Context) -> int:
        number: int = await ctx.wait_for("went")
        return number

    handle = await wait.aenqueue()
    await adrain(app)
    dead = await app.engine.arun(commands.OpenLease("dead"))
    connection = connect()
    connection.execute("select penstock.wait_for_work(%s, '{default}', p_direct => true)", [dead])
    assert await app.aemit("went", payload=7) == handle.id
    assert (await handle.arefresh()).state is JobState.RUNNING
    await app.engine.arun(commands.ExpireLease(dead))
    await adrain(app)
    assert await handle.aresult(10) == 7


async def test_in_a_transaction_that_goes_on_an_event_hands_nothing_over(app: Penstock, connect: Connect) -> None:
    @app.job
    async def wait(ctx: Context) -> int:
        number: int = await ctx.wait_for("went")
        return number

    handle = await wait.aenqueue()
    await adrain(app)
    async with working(app):
        await idle(connect)
        async with await psycopg.AsyncConnection.connect(app.url()) as connection:
            await app.aemit("went", payload=7, connection=connection)
            [state] = await (await connection.execute("select state from penstock.jobs")).fetchone() or [None]
            assert state == "ready"
        assert await handle.aresult(10) == 7


@pytest.mark.parametrize(
    "settings",
    [{"paused": True}, {"max_running": 5}, {"rate": 100}, {"fair_by": "owner"}],
    ids=lambda each: next(iter(each)),
)
async def test_nothing_is_handed_past_the_settings_of_a_queue(
    app: Penstock, connect: Connect, settings: dict[str, Any]
) -> None:
    @app.job
    async def work() -> None: ...

    # the worker would take it at once, so look at what the enqueue itself wrote
    async with working(app):
        await app.queues.aset("default", **settings)
        await idle(connect)
        with psycopg.connect(app.url()) as transaction:
            transaction.execute(
                "select penstock.enqueue_plain(p_id => gen_random_uuid(), p_kind => 'work', p_hand => true)"
            )
            [state] = transaction.execute("select state from penstock.jobs").fetchone() or [None]
            transaction.rollback()
    assert state == "ready"


async def test_what_is_ready_comes_first(app: Penstock, connect: Connect) -> None:
    with connect() as connection:
        lease = connection.execute("select penstock.open_lease('idle')").fetchone()
        assert lease is not None
        connection.execute("select penstock.wait_for_work(%s, '{default}', p_direct => true)", lease)
        enqueue = "select penstock.enqueue_plain(p_id => gen_random_uuid(), p_kind => 'work', p_hand => %s)"
        states = "select array_agg(state::text order by created_at) from penstock.jobs"
        connection.execute(enqueue, [True])
        assert connection.execute(states).fetchone() == (["running"],)
        connection.execute(enqueue, [False])
        connection.execute(enqueue, [True])
        assert connection.execute(states).fetchone() == (["running", "ready", "ready"],)


async def test_what_does_not_fit_into_a_notification_is_claimed(app: Penstock, connect: Connect) -> None:
    @app.job
    async def measure(text: str) -> int:
        return len(text)

    async with working(app):
        await idle(connect)
        long = "long, " * 2000
        assert await (await measure.aenqueue(long)).aresult(10) == len(long)


async def test_in_the_callers_own_transaction_nothing_is_handed_over(app: Penstock, connect: Connect) -> None:
    @app.job
    async def work() -> None: ...

    async with working(app):
        await idle(connect)
        async with await psycopg.AsyncConnection.connect(app.url()) as connection:
            handle = await work.using(connection=connection).aenqueue()
            [state] = await (await connection.execute("select state from penstock.jobs")).fetchone() or [None]
            assert state == "ready"
        await handle.aresult(10)


async def test_a_worker_without_a_slot_gives_it_to_another(app: Penstock, connect: Connect) -> None:
    started: asyncio.Queue[int] = asyncio.Queue()
    go_on = asyncio.Event()

    @app.job
    async def wait(number: int) -> None:
        started.put_nowait(number)
        await go_on.wait()

    async with working(app, {"default": 1}), working(app, {"default": 1}):
        await idle(connect, workers=2)
        # whoever is asked twice passes the second on
        handles = [await wait.aenqueue(number) for number in range(2)]
        assert sorted([await soon(started.get()), await soon(started.get())]) == [0, 1]
        go_on.set()
        for handle in handles:
            await handle.aresult(10)
            assert (await handle.arefresh()).attempt == 1


async def test_a_job_whose_notification_was_lost_runs_when_notifications_arrive_again(
    app: Penstock, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work() -> str:
        return "done"

    async with working(app):
        await idle(connect)
        with monkeypatch.context() as deaf:
            deaf.setattr(Notifications, "_heard", lambda *_: None)
            handle = await work.aenqueue()
            assert (await handle.arefresh()).state is JobState.RUNNING
        connect().execute("select pg_terminate_backend(backend) from penstock.waiting")
        assert await handle.aresult(15) == "done"
        assert (await handle.arefresh()).attempt == 1

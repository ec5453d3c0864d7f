"""How a worker learns of work: by being told, without asking again and again; and what it does when it is not told."""

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import Backoff, Context, JobState, Penstock
from penstock.engine import commands
from penstock.engine.postgres import listener as listener_module
from penstock.job import Lease
from penstock.worker import Worker, claimer, maintenance
from penstock.worker import worker as worker_module
from tests.channels import listen
from tests.chaos.wire import open_wire
from tests.kit.fixtures import Connect
from tests.kit.looks import Looks
from tests.kit.until import soon, until
from tests.kit.working import working

FOR_EVER = 600.0


@pytest.fixture
def watch(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


@pytest.fixture
def never_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that look for work only when told to."""
    monkeypatch.setattr(claimer, "FIRST_PAUSE", FOR_EVER)
    monkeypatch.setattr(claimer, "LAST_PAUSE", FOR_EVER)
    monkeypatch.setattr(maintenance, "EVERY", FOR_EVER)


def waiting(watch: psycopg.Connection[Any], queue: str = "default") -> dict[Lease, int]:
    """Who wants to be woken, and the backend that listens for them."""
    return dict(watch.execute("select lease, backend from penstock.waiting where queue = %s", [queue]).fetchall())


async def until_waiting(watch: psycopg.Connection[Any], *workers: Worker, queue: str = "default") -> None:
    await until(lambda: set(waiting(watch, queue)) == {worker.lease for worker in workers})


@pytest.mark.usefixtures("never_looking")
async def test_an_idle_worker_is_told_of_a_job(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    async with working(app, {"default": 1, "other": 1}) as worker:
        await until_waiting(watch, worker)
        await until_waiting(watch, worker, queue="other")
        for number in range(20):
            queue = "other" if number % 2 else "default"
            assert await (await work.using(queue=queue).aenqueue(number)).aresult(10) == number
        # by COPY too
        jobs = await work.aenqueue_many([{"number": number} for number in range(100)])
        assert [await job.aresult(10) for job in jobs] == list(range(100))
    assert waiting(watch) == {}


@pytest.mark.usefixtures("never_looking")
async def test_a_worker_for_many_queues_claims_where_there_are_jobs(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    claimed_from: list[str] = []
    async with working(app, {f"queue {n}": 1 for n in range(30)}) as worker:
        await until(lambda: watch.execute("select count(*) from penstock.waiting").fetchone() == (30,))
        run = worker.engine.arun

        async def count(command: commands.Command[Any]) -> Any:
            if isinstance(command, commands.Claim):
                claimed_from.append(command.queue)
            return await run(command)

        monkeypatch.setattr(worker.engine, "arun", count)
        for queue in ("queue 3", "queue 7", "queue 20"):
            jobs = await work.using(queue=queue).aenqueue_many([{"number": number} for number in range(25)])
            assert [await job.aresult(20) for job in jobs] == list(range(25))
            if queue == "queue 3":
                # who has just asked to be woken looks once more, queue by queue where they are few: that is over by now
                claimed_from.clear()
    assert set(claimed_from) - {"queue 3"} == {"queue 7", "queue 20"}


async def test_nobody_is_told_while_all_are_busy(
    app: Penstock, watch: psycopg.Connection[Any], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "BUSY", 0.05)
    go = asyncio.Event()

    @app.job
    async def work() -> None:
        await go.wait()

    ears = connect()
    listen(ears, "wake", "hand")
    async with working(app, {"default": 1}) as one, working(app, {"default": 1}) as two:
        await until_waiting(watch, one, two)
        jobs = [await work.aenqueue() for _ in range(2)]
        await until_waiting(watch)
        assert list(ears.notifies(timeout=0.05)) != []
        jobs += [await work.aenqueue() for _ in range(5)]
        assert list(ears.notifies(timeout=0.1)) == []
        go.set()
        for job in jobs:
            await job.aresult(10)
        await until_waiting(watch, one, two)


@pytest.mark.usefixtures("never_looking")
async def test_a_wake_up_that_reaches_a_full_worker_is_passed_on(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "BUSY", FOR_EVER)
    go = asyncio.Event()

    @app.job
    async def block(ctx: Context) -> None:
        await go.wait()

    @app.job
    async def work(ctx: Context) -> int:
        return ctx.lease

    async with working(app, {"default": 1}) as one, working(app, {"default": 1}) as two:
        await until_waiting(watch, one, two)
        blocked = await block.aenqueue()

        async def taken() -> list[tuple[Lease]]:
            running = "select lease from penstock.jobs where id = %s and state = 'running'"
            return watch.execute(running, [blocked.id]).fetchall()

        [(full,)] = await until(taken)
        free = next(worker.lease for worker in (one, two) if worker.lease != full)
        with watch.transaction():
            # an enqueue whose notification goes to the full one and to nobody else
            watch.execute("create temp table kept on commit drop as select * from penstock.waiting")
            watch.execute("delete from penstock.waiting")
            job = work.using(connection=watch).enqueue()
            watch.execute("insert into penstock.waiting select * from kept")
            watch.execute("select pg_notify(wake, %s::text) from penstock.channels", [full])

        async def ran_on() -> list[tuple[Lease]]:
            # not by waiting for the job's result: who begins to wait has its workers woken
            return watch.execute("select output::text::bigint from penstock.history where id = %s", [job.id]).fetchall()

        assert await until(ran_on) == [(free,)]
        assert set(waiting(watch)) == {free}
        go.set()


def tell_of_look(worker: Worker, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when the worker has looked for work once more after it asked to be woken."""
    looked = asyncio.Event()
    arun = worker.engine.arun

    async def run_and_tell(call: Any) -> Any:
        result = await arun(call)
        if isinstance(call, commands.Claim) and waiting(watch):
            looked.set()
        return result

    monkeypatch.setattr(worker.engine, "arun", run_and_tell)
    return looked


async def test_a_job_committed_after_the_last_look_is_found_soon(
    app: Penstock, watch: psycopg.Connection[Any], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work() -> float:
        return time.monotonic()

    producer = connect()
    began = time.monotonic()
    with producer.transaction():
        # nobody waits yet, so nobody is told of it
        job = work.using(connection=producer).enqueue()
        worker = app.worker()
        looked = tell_of_look(worker, watch, monkeypatch)
        running = asyncio.create_task(worker.run())
        await soon(worker.ready.wait())
        await soon(looked.wait())
    committed = time.monotonic()
    assert await job.aresult(20) - committed < 2 * (committed - began) + 1
    worker.stop()
    await running


@pytest.mark.usefixtures("never_looking")
async def test_a_scheduled_job_starts_on_time(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    @app.job
    async def work() -> float:
        return time.monotonic()

    async with working(app) as worker:
        await until_waiting(watch, worker)
        due = time.monotonic() + 0.3
        later = await work.using(delay=2).aenqueue()
        sooner = await work.using(delay=0.3).aenqueue()
        assert due <= await sooner.aresult(10) < due + 0.3
        assert (await later.arefresh()).state is JobState.SCHEDULED


@pytest.mark.usefixtures("never_looking")
async def test_a_retry_and_a_snooze_start_on_time(app: Penstock) -> None:
    @app.job(backoff=Backoff(0.2, jitter=0))
    async def retried(ctx: Context) -> float:
        ran.append(time.monotonic())
        if ctx.attempt == 1:
            raise ValueError("again")
        return time.monotonic()

    @app.job
    async def snoozed(ctx: Context) -> float:
        ran.append(time.monotonic())
        if ctx.job.snoozes == 0:
            ctx.snooze(0.2)
        return time.monotonic()

    async with working(app):
        for handler in (retried, snoozed):
            ran: list[float] = []
            await (await handler.aenqueue()).aresult(10)
            [(first, second)] = pairwise(ran)
            assert 0.2 <= second - first < 0.5


async def test_a_long_maintenance_keeps_no_scheduled_job_waiting(app: Penstock, connect: Connect) -> None:
    @app.job
    async def work() -> str:
        return "done"

    holder = connect()
    with holder.transaction():
        # as somebody does who changes that table at leisure: maintenance clears it
        holder.execute("lock table penstock.events in access exclusive mode")
        async with working(app):
            waits = "select from pg_locks where relation = 'penstock.events'::regclass and not granted"
            await until(lambda: holder.execute(waits.encode()).fetchall())
            assert await (await work.using(delay=0.1).aenqueue()).aresult(10) == "done"


async def leader(watch: psycopg.Connection[Any]) -> Lease | None:
    found = watch.execute("select lease from penstock.leader where until > penstock.clock()").fetchone()
    return found[0] if found else None


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_another_takes_over_what_is_done_by_one_for_all(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    @app.job
    async def work() -> None: ...

    others = asyncio.all_tasks()
    first = app.worker(lease=0.9)
    running = asyncio.create_task(first.run())
    await soon(first.ready.wait())
    of_first = asyncio.all_tasks() - others
    async with working(app, lease=0.9) as second:
        assert await leader(watch) == first.lease
        if how == "stopped":
            first.stop()
        else:
            kill(first, of_first, monkeypatch)

        async def taken_over() -> bool:
            if how == "killed":
                # five seconds later; each time, for a round of its own may have been on its way when it was killed
                watch.execute("update penstock.leader set until = now() where lease = %s", [first.lease])
            return await leader(watch) == second.lease

        await until(taken_over)
        await (await work.using(delay=0.1).aenqueue()).aresult(10)

        await until(lambda: watch.execute("select array_agg(id) from penstock.leases").fetchone() == ([second.lease],))
    await soon(asyncio.wait([running]))


async def test_the_lead_of_a_worker_that_stops_is_taken_over_before_the_next_heartbeat(
    app: Penstock, watch: psycopg.Connection[Any]
) -> None:
    """A lease of an hour has its heartbeats minutes apart."""

    @app.job
    async def work() -> None: ...

    async with AsyncExitStack() as leading:
        await leading.enter_async_context(working(app, lease=3600))
        async with working(app, lease=3600) as idle:
            await until(lambda: watch.execute("select count(*) from penstock.waiting").fetchone() == (2,))
            await leading.aclose()
            await (await work.using(delay=0.1).aenqueue()).aresult(10)
            assert await leader(watch) == idle.lease


def kill(worker: Worker, tasks: "set[asyncio.Task[Any]]", monkeypatch: pytest.MonkeyPatch) -> None:
    """As SIGKILL does: nothing is said any more."""

    async def say_nothing(_: object) -> None:
        raise ConnectionError("killed")

    monkeypatch.setattr(worker.engine, "arun", say_nothing)
    for task in tasks:
        task.cancel()


@pytest.mark.usefixtures("never_looking")
@pytest.mark.parametrize("when", ["before it starts", "while it is idle", "while it is idle and the rate is new"])
async def test_a_queue_with_a_rate_goes_on_by_itself(app: Penstock, watch: psycopg.Connection[Any], when: str) -> None:
    @app.job
    async def work() -> None: ...

    async def set_rate() -> None:
        await app.queues.aset("default", rate=20, rate_period=0.5)

    async def enqueue() -> None:
        await app.aenqueue_many(work.prepare() for _ in range(50))

    async def all_ended() -> bool:
        return watch.execute("select count(*) from penstock.history").fetchone() == (50,)

    if when != "while it is idle and the rate is new":
        await set_rate()
    if when == "before it starts":
        await enqueue()
    async with working(app) as worker:
        await until_waiting(watch, worker)
        if when == "while it is idle and the rate is new":
            await set_rate()
        if when != "before it starts":
            await enqueue()
        await until(all_ended, within=5)
    found = watch.execute("select extract(epoch from started_at)::float from penstock.history order by started_at")
    started = [at for (at,) in found.fetchall()]
    assert all(later - at >= 0.499 for at, later in zip(started, started[20:], strict=False))


@pytest.mark.usefixtures("never_looking")
async def test_a_paused_queue_goes_on_as_soon_as_it_is_resumed(app: Penstock, watch: psycopg.Connection[Any]) -> None:
    @app.job
    async def work() -> int:
        return 1

    await app.queues.apause("default")
    async with working(app) as worker:
        await until_waiting(watch, worker)
        job = await work.aenqueue()
        for _ in range(20):
            assert (await job.arefresh()).state is JobState.READY
        await app.queues.aresume("default")
        assert await job.aresult(10) == 1


@pytest.mark.usefixtures("never_looking")
async def test_a_worker_whose_listening_connection_ends_listens_again(
    app: Penstock, watch: psycopg.Connection[Any]
) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    async with working(app) as worker:
        for number in range(3):
            await until_waiting(watch, worker)
            [backend] = waiting(watch).values()
            watch.execute("select pg_terminate_backend(%s)", [backend])
            # also when nobody is there to be told
            assert await (await work.aenqueue(number)).aresult(10) == number

            async def listens_again(backend: int = backend) -> bool:
                return list(waiting(watch).values()) not in ([], [backend])

            await until(listens_again)
            assert await (await work.aenqueue(number)).aresult(10) == number


async def test_jobs_flow_while_a_worker_cannot_listen(
    app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work(number: int) -> int:
        return number

    refused = asyncio.Event()

    def refuse(url: str) -> Any:
        refused.set()
        raise psycopg.OperationalError("too many connections")

    async with working(app) as worker:
        await until_waiting(watch, worker)
        monkeypatch.setattr(listener_module, "settings_for", refuse)
        watch.execute("select pg_terminate_backend(backend) from penstock.waiting")
        await soon(refused.wait())
        for number in range(3):
            assert await (await work.aenqueue(number)).aresult(10) == number
        monkeypatch.undo()
        before = waiting(watch)

        await until(lambda: waiting(watch) not in ({}, before))
        assert await (await work.aenqueue(3)).aresult(10) == 3


@pytest.mark.usefixtures("never_looking")
async def test_a_listening_connection_that_is_half_open_is_noticed_and_replaced(
    url: str, app: Penstock, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(worker_module, "ANSWER_TIMEOUT", 0.5)

    @app.job
    async def work(number: int) -> int:
        return number

    with open_wire(url, tmp_path) as wire:
        async with Penstock(wire.url) as distant:
            distant.job(work.function)
            async with working(distant, lease=1.5) as worker:
                await until_waiting(watch, worker)
                before = waiting(watch)
                # what is connected is never answered again, and nobody is told
                wire.order("vanish")
                wire.order("heal")
                job = await work.aenqueue(1)
                assert await job.aresult(20) == 1

                await until(lambda: list(waiting(watch).values()) not in ([], list(before.values())))
                assert await (await work.aenqueue(2)).aresult(10) == 2


@pytest.mark.usefixtures("never_looking")
async def test_a_job_that_was_locked_when_a_worker_looked_is_not_forgotten(
    app: Penstock, connect: Connect, watch: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever begins to watch it holds its row for a moment, and a claim passes over what is held."""

    @app.job
    async def work() -> str:
        return "done"

    async with working(app) as worker:
        await until_waiting(watch, worker)
        await app.queues.apause("default")
        job = await work.aenqueue()
        held = connect()
        with held.transaction():
            held.execute("select penstock.watch(%s)", [job.id])
            told = Looks(worker.engine, monkeypatch).another()
            await app.queues.aresume("default")
            await told  # it looks, and finds nothing that it may take
            assert (await job.arefresh()).state is JobState.READY
        assert await job.aresult(10) == "done"

"""What a handler writes and enqueues in the transaction that completes its job: all of it happens, or nothing."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import (
    Backoff,
    Cancel,
    Context,
    Flow,
    JobCancelled,
    JobFailed,
    JobState,
    NewJob,
    Penstock,
    PenstockError,
    SyncContext,
)
from penstock.engine import commands
from penstock.engine.postgres.connections import cut
from penstock.outcome import Outcome
from penstock.testing import adrain, arun_inline
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker import in_process
from tests.worker.losing import atake_back, take_back

SOON = 20.0
AT_ONCE = Backoff.constant(0)
Notes = Callable[[], list[str]]


@pytest.fixture
def notes(connect: Connect) -> Notes:
    """A table of the user's own, as another connection sees it."""
    connection = connect()
    connection.execute("create table notes (note text unique)")
    return lambda: [note for (note,) in connection.execute("select note from notes order by 1").fetchall()]


@pytest.fixture
def another(app: Penstock) -> NewJob:
    """A job that waits in a queue nobody works on."""

    @app.job(queue="elsewhere")
    async def another() -> None: ...

    return another.prepare()


async def enqueued(app: Penstock) -> int:
    return len((await app.jobs.alist(kind="another")).jobs)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_what_a_handler_enqueues_is_there_when_its_job_is_done(
    app: Penstock, another: NewJob, sync: bool
) -> None:
    seen: list[int] = []

    async def work_async(ctx: Context) -> None:
        assert ctx.enqueue(another) == another.id
        seen.append(await enqueued(app))

    def work(ctx: SyncContext) -> None:
        ctx.enqueue(another)
        seen.append(len(app.jobs.list(kind="another").jobs))

    function: Any = work if sync else work_async
    handler = app.job(kind="work")(function)
    async with working(app):
        handle = await handler.aenqueue()
        await handle.aresult(SOON)
        assert (await app.handle(another.id).arefresh()).state is JobState.READY
    assert seen == [0]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_what_a_handler_enqueues_before_it_fails_is_not_there(app: Penstock, another: NewJob, sync: bool) -> None:
    async def work_async(ctx: Context) -> None:
        ctx.enqueue(another)
        raise LookupError

    def work(ctx: SyncContext) -> None:
        ctx.enqueue(another)
        raise LookupError

    function: Any = work if sync else work_async
    handler = app.job(kind="work", max_attempts=1)(function)
    async with working(app):
        with pytest.raises(JobFailed):
            await (await handler.aenqueue()).aresult(SOON)
    assert await enqueued(app) == 0


async def test_a_flow_may_be_enqueued_with_the_completion(app: Penstock) -> None:
    @app.job
    async def part(number: int) -> int:
        return number

    @app.job
    async def add(ctx: Context) -> int:
        return sum(one.output for one in await ctx.outputs())

    @app.job
    async def work(ctx: Context) -> str:
        flow = Flow(then=add.prepare())
        for number in (1, 2, 3):
            flow.add(part.prepare(number))
        return str(ctx.enqueue(flow))

    async with working(app):
        root = await (await work.aenqueue()).aresult(SOON)
        [job] = (await app.jobs.alist(kind="add")).jobs
        assert str(job.id) == root
        assert await app.handle(job.id).aresult(SOON) == 6


async def test_a_job_that_another_worker_has_by_now_enqueues_nothing(app: Penstock, another: NewJob) -> None:
    @app.job(max_attempts=2)
    async def work(ctx: Context) -> int:
        if ctx.attempt == 1:
            await atake_back(app.database, ctx.lease)
            ctx.enqueue(another)
        return ctx.attempt

    async with working(app):
        handle = await work.aenqueue()
        assert await handle.aresult(SOON) == 2
    assert await enqueued(app) == 0


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_rows_and_completion_are_one_commit(app: Penstock, notes: Notes, sync: bool) -> None:
    started: asyncio.Event = asyncio.Event()
    go = threading.Event()
    loop = asyncio.get_running_loop()

    def work(ctx: SyncContext) -> str:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values ('outer')")
            with ctx.transaction() as same:
                assert same is connection
                same.execute("insert into notes values ('inner')")
        with ctx.transaction() as again:
            assert again is connection
            again.execute("insert into notes values ('second')")
        loop.call_soon_threadsafe(started.set)
        go.wait(SOON)
        return "done"

    async def work_async(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values ('outer')")
            async with ctx.transaction() as same:
                assert same is connection
                await same.execute("insert into notes values ('inner')")
        async with ctx.transaction() as again:
            assert again is connection
            await again.execute("insert into notes values ('second')")
        started.set()
        await asyncio.to_thread(go.wait, SOON)
        return "done"

    function: Any = work if sync else work_async
    handler = app.job(kind="work", max_attempts=1)(function)
    async with working(app):
        handle = await handler.aenqueue()
        await soon(started.wait())
        assert notes() == []
        go.set()
        assert await app.handle(handle.id).aresult(SOON) == "done"
    assert notes() == ["inner", "outer", "second"]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_rows_are_rolled_back_when_the_handler_fails_after_the_block(
    app: Penstock, notes: Notes, sync: bool
) -> None:
    def work(ctx: SyncContext) -> None:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values (%s)", [f"attempt {ctx.attempt}"])
        if ctx.attempt == 1:
            raise LookupError

    async def work_async(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values (%s)", [f"attempt {ctx.attempt}"])
        if ctx.attempt == 1:
            raise LookupError

    function: Any = work if sync else work_async
    handler = app.job(kind="work", max_attempts=2, backoff=AT_ONCE)(function)
    async with working(app):
        await (await handler.aenqueue()).aresult(SOON)
    assert notes() == ["attempt 2"]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_rows_are_rolled_back_when_the_job_does_not_succeed(app: Penstock, notes: Notes, sync: bool) -> None:
    def work(ctx: SyncContext) -> Outcome:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values ('row')")
        return Cancel("no longer wanted")

    async def work_async(ctx: Context) -> Outcome:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values ('row')")
        return Cancel("no longer wanted")

    function: Any = work if sync else work_async
    handler = app.job(kind="work")(function)
    async with working(app):
        with pytest.raises(JobCancelled):
            await (await handler.aenqueue()).aresult(SOON)
    assert notes() == []


async def test_a_job_that_is_lost_at_its_end_takes_no_connection_from_the_next(app: Penstock) -> None:
    await app.job(kind="work")(lambda: None).using(queue="here").aenqueue_many([{}, {}])
    lease = await app.engine.arun(commands.OpenLease("w"))
    one, other = await app.engine.arun(commands.Claim(lease, "here", 2))
    sync, on_loop = SyncContext(one, lease, app.engine), Context(other, lease, app.engine)
    with sync.transaction():
        pass
    async with on_loop.transaction():
        pass
    assert sync.complete(None)
    assert await on_loop.complete(None)
    sync.lose()
    on_loop.lose()
    with app.database.pools.sync().connection() as connection:
        connection.execute("select")
    async with (await app.database.pools.of_this_loop()).connection() as of_loop:
        await of_loop.execute("select")


async def test_a_connection_that_is_cut_after_its_last_answer_is_not_used_again(app: Penstock) -> None:
    with app.database.pools.sync().connection() as connection:
        connection.execute("select")
        cut(connection)
    with app.database.pools.sync().connection() as connection:
        connection.execute("select")
    pool = await app.database.pools.of_this_loop()
    async with pool.connection() as of_loop:
        await of_loop.execute("select")
        cut(of_loop)
    async with pool.connection() as of_loop:
        await of_loop.execute("select")


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_rows_are_rolled_back_when_the_job_is_no_longer_this_workers(
    app: Penstock, notes: Notes, sync: bool
) -> None:
    def work(ctx: SyncContext) -> int:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values (%s)", [f"attempt {ctx.attempt}"])
        if ctx.attempt == 1:
            take_back(app.database, ctx.lease)
        return ctx.attempt

    async def work_async(ctx: Context) -> int:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values (%s)", [f"attempt {ctx.attempt}"])
        if ctx.attempt == 1:
            await atake_back(app.database, ctx.lease)
        return ctx.attempt

    function: Any = work if sync else work_async
    handler = app.job(kind="work", max_attempts=2)(function)
    async with working(app):
        assert await app.handle((await handler.aenqueue()).id).aresult(SOON) == 2
    assert notes() == ["attempt 2"]


async def test_a_block_that_raises_is_undone_alone_when_the_handler_goes_on(app: Penstock, notes: Notes) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values ('kept')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            await write_twice(ctx)

    async def write_twice(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values ('undone')")
            await connection.execute("insert into notes values ('kept')")

    async with working(app):
        await (await work.aenqueue()).aresult(SOON)
    assert notes() == ["kept"]


async def test_blocks_entered_at_once_are_one_transaction_or_an_error(app: Penstock, notes: Notes) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        await asyncio.gather(write(ctx, "first"), write(ctx, "second"))

    async def write(ctx: Context, note: str) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values (%s)", [note])

    async with working(app):
        handle = await work.aenqueue()

        async def has_ended() -> bool:
            return (await handle.arefresh()).state.final

        await until(has_ended)
    state = (await handle.arefresh()).state
    assert notes() == (["first", "second"] if state is JobState.SUCCEEDED else [])


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_handlers_that_end_badly_give_their_connection_back(url: str, notes: Notes, sync: bool) -> None:
    async with Penstock(url, pool_size=1) as app:

        def work(ctx: SyncContext) -> None:
            with ctx.transaction() as connection:
                connection.execute("insert into notes values ('row')")
            raise LookupError

        async def work_async(ctx: Context) -> None:
            async with ctx.transaction() as connection:
                await connection.execute("insert into notes values ('row')")
            raise LookupError

        function: Any = work if sync else work_async
        handler = app.job(kind="work", max_attempts=1)(function)
        async with working(app, {"default": 1}):
            for handle in await handler.aenqueue_many([{}] * 3):
                with pytest.raises(JobFailed):
                    await handle.aresult(SOON)
    assert notes() == []


async def test_a_thread_that_was_given_up_rolls_back_and_lets_go_when_it_ends(url: str, notes: Notes) -> None:
    started, go = threading.Event(), threading.Event()
    async with Penstock(url, pool_size=2) as app:

        @app.job(max_attempts=1, timeout=1)
        def work(ctx: SyncContext) -> None:
            with ctx.transaction() as connection:
                connection.execute("insert into notes values ('late')")
            started.set()
            go.wait(SOON)

        async with working(app, {"default": 1}):
            handle = await work.aenqueue()
            assert await asyncio.to_thread(started.wait, SOON)
            with pytest.raises(JobFailed, match="timed out"):
                await handle.aresult(SOON)
            go.set()

            async def nothing_is_open() -> bool:
                count = """select count(*) from pg_stat_activity
                            where state = 'idle in transaction' and datname = current_database()"""
                async with (await app.database.pools.of_this_loop()).connection() as connection:
                    return (await (await connection.execute(count)).fetchone()) == (0,)

            await until(nothing_is_open)
    assert notes() == []


async def test_the_same_holds_in_a_process(app: Penstock, notes: Notes, another: NewJob, tmp_path: Path) -> None:
    started, go = tmp_path / "started", tmp_path / "go"
    for name in ("write_note", "write_note_async", "write_note_and_fail", "write_note_and_wait", "enqueue_another"):
        app.job(isolate=True, max_attempts=1)(getattr(in_process, name))
    async with working(app, {"default": 1}) as worker:
        written = await app.aenqueue(app.prepare("write_note", {"text": "sync"}))
        written_async = await app.aenqueue(app.prepare("write_note_async", {"text": "async"}))
        failing = await app.aenqueue(app.prepare("write_note_and_fail", {"text": "failed"}))
        enqueueing = await app.aenqueue(app.prepare("enqueue_another", {}))
        await written.aresult(SOON)
        await written_async.aresult(SOON)
        with pytest.raises(JobFailed, match="after the block"):
            await failing.aresult(SOON)
        await enqueueing.aresult(SOON)
        assert await enqueued(app) == 1
        assert notes() == ["async", "sync"]

        args = {"started": str(started), "go": str(go)}
        waiting = await app.aenqueue(app.prepare("write_note_and_wait", args, max_attempts=2))

        await until(lambda: started.exists())
        await atake_back(app.database, worker.lease)
        go.touch()
        await waiting.aresult(SOON)
    assert notes() == ["async", "attempt 2", "sync"]


@pytest.mark.parametrize("how", ["async", "thread", "process", "transaction", "tick"])
async def test_the_last_report_of_a_job_that_completes_itself_is_on_record(
    app: Penstock, another: NewJob, how: str
) -> None:
    async def work_async(ctx: Context) -> None:
        await ctx.progress(0, "Starting")
        await asyncio.sleep(0)
        await ctx.progress(100, "Completed")
        if how == "transaction":
            async with ctx.transaction() as connection:
                await connection.execute("select 1")
        else:
            ctx.enqueue(another)

    def work(ctx: SyncContext) -> None:
        ctx.progress(0, "Starting")
        ctx.progress(100, "Completed")
        ctx.enqueue(another)

    functions: dict[str, Any] = {"thread": work, "process": in_process.report_and_enqueue}
    handler = app.job(kind="work", isolate=how == "process")(functions.get(how, work_async))
    handle = await handler.aenqueue()
    if how == "tick":
        await app.atick()
    else:
        async with working(app):
            await handle.aresult(SOON)
    assert (await handle.arefresh()).progress == {"percent": 100, "message": "Completed"}


async def in_a_step(ctx: Context, job: NewJob) -> None:
    async def begin() -> None:
        ctx.enqueue(job)

    async def write() -> None:
        async with ctx.transaction():
            pass

    async def write_in_a_task() -> None:
        await asyncio.create_task(write())

    for name, work in (("enqueue", begin), ("write", write), ("write in a task", write_in_a_task)):
        with pytest.raises(PenstockError, match=rf"step '{name}' is remembered before.* outside of steps"):
            await ctx.step(name, work)
    with pytest.raises(PenstockError, match="outside of steps"):
        await ctx.step("in a thread", ctx.enqueue, job)


def in_a_step_of_a_thread(ctx: SyncContext, job: NewJob) -> None:
    def write() -> None:
        with ctx.transaction():
            pass

    with pytest.raises(PenstockError, match=r"enqueue with app\.enqueue\(\)"):
        ctx.step("enqueue", ctx.enqueue, job)
    with pytest.raises(PenstockError, match="on a connection of your own"):
        ctx.step("write", write)


@pytest.mark.parametrize("way", [in_a_step, in_a_step_of_a_thread])
async def test_a_step_which_is_remembered_does_nothing_that_may_yet_be_rolled_back(
    app: Penstock, another: NewJob, way: Callable[..., Any]
) -> None:
    def in_thread(ctx: SyncContext) -> None:
        way(ctx, another)
        with ctx.transaction():
            ctx.enqueue(another)

    async def on_loop(ctx: Context) -> None:
        await way(ctx, another)
        # beside a step, not in it
        await asyncio.gather(ctx.step("beside", asyncio.sleep, 0), write(ctx))

    async def write(ctx: Context) -> None:
        async with ctx.transaction():
            ctx.enqueue(another)

    handler: Any = app.job(kind="work", max_attempts=1)(on_loop if way is in_a_step else in_thread)
    assert (await arun_inline(handler)).enqueued == [another]
    handle = await handler.aenqueue()
    await adrain(app, queue="default")
    await handle.aresult(SOON)
    assert await enqueued(app) == 1

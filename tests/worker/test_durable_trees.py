"""Jobs that wait below others, in flows and beside limits: each is waited for, cancelled and retried as any other."""

from uuid import UUID

import pytest

from penstock import CallFailed, Context, Flow, Handler, Penstock
from penstock.job import JobState
from penstock.testing import adrain
from tests.kit.fixtures import Connect

Wait = Handler[..., object]


@pytest.fixture
def wait(app: Penstock) -> Wait:
    @app.job
    async def wait(ctx: Context, key: str = "") -> object:
        return await ctx.wait_for("go", key=key)

    return wait


async def states(app: Penstock) -> dict[str, JobState]:
    return {job.kind: job.state for job in (await app.jobs.alist()).jobs}


async def test_a_member_of_a_flow_sleeps_calls_and_waits_before_the_last_step(app: Penstock) -> None:
    @app.job(unique=True)
    async def double(n: int) -> int:
        return 2 * n

    @app.job
    async def member(ctx: Context) -> int:
        await ctx.sleep(0)
        # the same twice: what is unique among jobs that are enqueued is not so here
        doubled = await ctx.gather(*(double.prepare(n) for n in (1, 1, 3)))
        told: int = await ctx.wait_for("go")
        return sum(doubled) + told

    @app.job
    async def finish(ctx: Context) -> list[object]:
        return [each.output for each in await ctx.outputs()]

    flow = Flow(then=finish.prepare())
    flow.add(member.prepare())
    flow.add(double.using(unique=False).prepare(5))
    handle = await app.aenqueue(flow)
    await adrain(app)
    assert await states(app) == {"finish": "blocked", "member": "blocked", "double": "succeeded"}
    await app.aemit("go", payload=100)
    await adrain(app)
    assert await handle.aresult(5) == [110, 10]
    assert (await handle.arefresh()).progress["percent"] == 100


async def test_cancelling_reaches_those_who_wait_below_and_leaves_their_events_to_others(
    app: Penstock, wait: Wait, connect: Connect
) -> None:
    @app.job
    async def middle(ctx: Context) -> object:
        return await ctx.gather(wait.prepare(), wait.prepare("other"))

    @app.job
    async def top(ctx: Context) -> object:
        return await ctx.call(middle)

    handle = await top.aenqueue()
    await adrain(app)
    assert await states(app) == {"top": "blocked", "middle": "blocked", "wait": "blocked"}
    await app.jobs.acancel(handle.id)
    assert set((await states(app)).values()) == {JobState.CANCELLED}
    assert connect().execute("select count(*) from penstock.waits").fetchone() == (0,)
    assert await app.aemit("go", payload=1) is None
    later = await wait.aenqueue()
    await adrain(app)
    assert await later.aresult(5) == 1


async def test_a_child_is_retried_while_its_caller_waits_for_another(app: Penstock, wait: Wait) -> None:
    works = False

    @app.job(max_attempts=1)
    async def flaky() -> str:
        if not works:
            raise ValueError("not yet")
        return "done"

    @app.job
    async def caller(ctx: Context) -> object:
        return await ctx.gather(flaky.prepare(), wait.prepare())

    @app.job
    async def careful_caller(ctx: Context) -> list[object]:
        try:
            await ctx.call(flaky)
        except CallFailed as error:
            return [error.type, error.error, await ctx.wait_for("go")]
        raise AssertionError

    async def retry_child(parent: UUID) -> None:
        nonlocal works
        [child] = (await app.jobs.alist(parent=parent, kind="flaky")).jobs
        assert child.state is JobState.FAILED
        works = True
        await app.jobs.aretry(child.id)
        await adrain(app)
        works = False

    one = await caller.aenqueue()
    await adrain(app)
    await retry_child(one.id)
    assert (await one.arefresh()).state is JobState.BLOCKED
    await app.aemit("go", payload=1)
    await adrain(app)
    assert await one.aresult(5) == ["done", 1]

    other = await careful_caller.aenqueue()
    await adrain(app)
    await retry_child(other.id)
    await app.aemit("go", payload=2)
    await adrain(app)
    # what it has seen of the call stays, whatever became of that since
    assert await other.aresult(5) == ["ValueError", "not yet", 2]


async def test_who_waits_leaves_its_place_under_the_queues_limit_to_others(app: Penstock, wait: Wait) -> None:
    @app.job
    async def work() -> str:
        return "done"

    await app.queues.aset("default", max_running=1)
    waiting = await wait.aenqueue()
    working = await work.aenqueue()
    await adrain(app)
    assert ((await waiting.arefresh()).state, await working.aresult(5)) == (JobState.BLOCKED, "done")
    await app.aemit("go", payload=3)
    await adrain(app)
    assert await waiting.aresult(5) == 3


async def test_a_caller_is_cancelled_though_a_child_that_was_retried_ended_while_it_ran(app: Penstock) -> None:
    works = False

    @app.job(max_attempts=1, queue="flaky")
    async def flaky() -> None:
        if not works:
            raise ValueError("not yet")

    @app.job
    async def careful_caller(ctx: Context) -> None:
        await ctx.gather(flaky.prepare(), return_exceptions=True)
        await ctx.wait_for("go")
        await ctx.wait_for("never")

    handle = await careful_caller.aenqueue()
    await adrain(app)
    [child] = (await app.jobs.alist(parent=handle.id)).jobs
    works = True
    await app.jobs.aretry(child.id)
    await app.aemit("go")
    await adrain(app, "flaky")
    await adrain(app)
    assert (await handle.arefresh()).state is JobState.BLOCKED
    await app.jobs.acancel(handle.id)
    assert (await handle.arefresh()).state is JobState.CANCELLED

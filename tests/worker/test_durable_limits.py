"""How many steps a job may take, and how large what it remembers or is told may be: beyond, nothing is written."""

import random

import msgspec
import psycopg
import pytest

from penstock import Context, InvalidInput, JobState, NewJob, PayloadTooLarge, Penstock, SyncContext
from penstock.engine.commands import (
    Approvals,
    Claim,
    EventsOverview,
    OpenLease,
    RecallSteps,
    RememberStep,
    StepsOf,
    Suspend,
    TakeCallback,
    WaitingStep,
)
from penstock.testing import adrain
from tests.kit.fixtures import Connect

MOST = 10_000
LARGE = random.Random(7).randbytes(1_250_000).hex()
"""Over 1 MiB however it is compressed."""


async def test_steps_and_payloads_have_limits_that_name_the_step(app: Penstock, connect: Connect) -> None:
    await app.engine.aenqueue([NewJob(kind="long")], None)
    lease = await app.engine.arun(OpenLease("test"))
    [job] = await app.engine.arun(Claim(lease, "default", 1))
    mine = (lease, job.id, job.claims)
    large = msgspec.Raw(msgspec.json.encode(LARGE))
    small = msgspec.Raw(b"1")
    assert await app.engine.arun(RememberStep(*mine, "last", small, "step", MOST, None))
    refused = (
        (RememberStep(*mine, "more", small, "step", MOST + 1, None), InvalidInput, "step more: is the 10001th"),
        (Suspend(*mine, WaitingStep("nap", "sleep", MOST + 1, seconds=60)), InvalidInput, "step nap: is the 10001th"),
        (RememberStep(*mine, "big", large, "step", 2, None), PayloadTooLarge, "step big: "),
        (Suspend(*mine, WaitingStep("ask", "approval", 2, event="e", about=LARGE)), PayloadTooLarge, "step ask: "),
    )
    for command, error, told in refused:
        with pytest.raises(error, match=told):
            await app.engine.arun(command)
    with pytest.raises(InvalidInput, match="payload"):
        await app.aemit("paid", payload=LARGE)
    assert [step.name for step in await app.engine.arun(RecallSteps(*mine))] == ["last"]
    # those that ran beside each other have no number to be counted by
    with connect() as connection:
        connection.execute(
            "insert into penstock.steps (job, name, kind, done_at)"
            " select %s, 'beside ' || i, 'step', now() from generate_series(2, %s) as i",
            [job.id, MOST],
        )
    for step in (RememberStep(*mine, "more", small, "step", None, None), Suspend(*mine, WaitingStep("nap", "sleep"))):
        with pytest.raises(InvalidInput, match="is the 10001th"):
            await app.engine.arun(step)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (["word"] * 40_000, "step 'read': 280,012 bytes of JSON, over the limit of 262,144"),
        ({"a": [object()]}, "step 'read'.a[0]: a object has no JSON form"),
    ],
)
async def test_a_result_that_cannot_be_remembered_names_its_step(app: Penstock, result: object, told: str) -> None:
    def read() -> object:
        return result

    @app.job(max_attempts=1)
    async def count(ctx: Context) -> None:
        await ctx.step("read", read)

    @app.job(max_attempts=1)
    def count_in_a_thread(ctx: SyncContext) -> None:
        ctx.step("read", read)

    handles = [await count.aenqueue(), await count_in_a_thread.aenqueue()]
    await adrain(app)
    errors = [str((await handle.arefresh()).last_error) for handle in handles]
    assert [error[: len(told)] for error in errors] == [told, told]


async def test_more_jobs_than_a_step_may_call_are_refused_before_any_is_started(app: Penstock) -> None:
    @app.job
    async def one() -> None: ...

    @app.job(max_attempts=1)
    async def many(ctx: Context) -> None:
        await ctx.gather(*[one.prepare()] * (MOST + 1))

    handle = await many.aenqueue()
    [ended] = await app.atick()
    assert (ended.id, ended.state) == (handle.id, JobState.FAILED)
    assert "jobs: 'call one' is of 10,001; at most 10,000" in str(ended.error)


async def test_an_event_of_penstocks_own_is_not_emitted_by_others(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match=r"^event: 'penstock.approval' is one of Penstock's own"):
        await app.aemit("penstock.approval", key="1", payload={"approved": True})


async def test_nor_is_it_from_sql(app: Penstock, connect: Connect) -> None:
    connection = connect()
    with pytest.raises(psycopg.Error, match=r"^event: penstock.approval is one of Penstock's own"):
        connection.execute("""select penstock.emit('penstock.approval', 'job', '{"approved": true}')""")
    assert connection.execute("select count(*)::int from penstock.events").fetchall() == [(0,)]


async def test_names_of_penstocks_own_are_the_same_in_a_schema_of_another_name(empty_url: str) -> None:
    """They begin as the schema's does in the SQL files, where another is put in its place."""
    async with Penstock(empty_url, migrate=True, schema="jobs") as app:

        @app.job
        async def ship(ctx: Context) -> list[object]:
            answer = await ctx.approve("Ship it?")
            return [answer.approved, await ctx.wait_for("paid", key=ctx.id)]

        handle = await ship.aenqueue()
        await adrain(app)
        assert [each.job for each in await app.engine.arun(Approvals())] == [handle.id]
        assert await app.engine.arun(EventsOverview()) == []
        await app.operator("grace").aapprove(handle.id)
        assert await app.engine.arun(TakeCallback(handle.id, "callback_url paid", "paid", msgspec.Raw(b"1")))
        assert "callback_url paid" in [each.name for each in await app.engine.arun(StepsOf(handle.id))]
        await adrain(app)
        assert await handle.aresult(10) == [True, 1]


async def test_what_was_called_back_and_never_asked_for_goes_with_its_job(app: Penstock, connect: Connect) -> None:
    async def call_back() -> None:
        [made] = await app.engine.aenqueue([NewJob(kind="paid")], None)
        id = made.id
        assert await app.engine.arun(TakeCallback(id, "callback_url paid", "paid", msgspec.Raw(b"1")))
        await app.jobs.acancel(id)

    def events() -> int:
        [(count,)] = connect().execute("select count(*)::int from penstock.events").fetchall()
        return int(count)

    await call_back()
    assert events() == 1
    await app.jobs.apurge_where(state=JobState.CANCELLED)
    assert events() == 0
    await call_back()
    later = connect()
    later.execute("select set_config('penstock_clock.now', (now() + interval '40 days')::text, false)")
    for _ in range(2):  # the job, then what belonged to it
        later.execute("select penstock.drop_old_history()")
    assert events() == 0

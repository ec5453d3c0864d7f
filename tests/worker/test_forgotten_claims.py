"""A claim does not wait for the disk: a crash of Postgres may undo it, and the same worker may make it again."""

import asyncio

import pytest

from penstock import Context, JobState, Penstock
from tests.kit.fixtures import Connect
from tests.kit.until import until
from tests.kit.working import working


async def test_a_claim_that_postgres_forgot_does_not_start_the_job_twice(app: Penstock, connect: Connect) -> None:
    starts: list[str] = []
    started, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def wait(name: str) -> str:
        starts.append(name)
        started.set()
        await go_on.wait()
        return name

    async with working(app):
        first = await wait.aenqueue("first")
        await started.wait()
        # what a crash right after the claim leaves: the row as it was before
        connect().execute(
            "update penstock.jobs set state = 'ready', lease = null, claims = claims - 1, attempt = attempt - 1"
        )
        # it comes after the forgotten one, so that one was claimed when this one runs
        started.clear()
        second = await wait.aenqueue("second")
        await started.wait()

        async def claimed_again() -> bool:
            return (await first.arefresh()).state is JobState.RUNNING

        await until(claimed_again)
        go_on.set()
        assert [await first.aresult(5), await second.aresult(5)] == ["first", "second"]
    assert sorted(starts) == ["first", "second"]
    assert (await first.arefresh()).attempt == 1


async def test_a_claim_that_was_forgotten_and_made_again_has_a_number_of_its_own(
    app: Penstock, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """Its first run has ended, and that was refused: a report of the first must not pass for one of the second."""
    claims: list[int] = []
    started, go_on = asyncio.Event(), asyncio.Event()

    @app.job
    async def wait(ctx: Context) -> None:
        claims.append(ctx.job.claims)
        started.set()
        await go_on.wait()

    async with working(app):
        job = await wait.aenqueue()
        await started.wait()
        # a replica took over that has not heard of the claim; and nobody claims until its outcome was refused
        await app.queues.apause("default")
        connect().execute(
            "update penstock.jobs set state = 'ready', lease = null, claims = claims - 1, attempt = attempt - 1"
        )
        with caplog.at_level("WARNING", logger="penstock.worker"):
            go_on.set()
            await until(lambda: "refused" in caplog.text)
        await app.queues.aresume("default")
        await job.aresult(20)
    assert claims == [1, 2]
    assert (await job.arefresh()).attempt == 1

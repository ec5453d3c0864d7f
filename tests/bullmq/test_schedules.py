"""What a schedule says of its jobs is kept by BullMQ's schedulers."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from penstock import JobState, Penstock
from penstock.engine import commands as c
from penstock.job import ClaimedJob, Job, Lease
from tests.kit.redis import fresh_redis
from tests.kit.until import until


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    async with Penstock(fresh_redis()) as app:
        yield app


async def first_of(app: Penstock, lease: Lease) -> tuple[list[ClaimedJob], Job]:
    """What the first claim gives that takes a job of the schedule, and the job."""

    async def take() -> list[ClaimedJob] | None:
        claimed = await app.engine.arun(c.Claim(lease, "default"))
        return claimed if (await app.schedules.alist())[0].last_job else None

    claimed = await until(take, so=lambda told: told is not None)
    [schedule] = await app.schedules.alist()
    assert claimed is not None
    assert schedule.last_job is not None
    return claimed, await app.handle(schedule.last_job).arefresh()


@pytest.mark.parametrize("delay", [0.0, 3600.0])
async def test_a_schedule_s_jobs_are_put_off_from_its_tick(app: Penstock, delay: float) -> None:
    lease = await app.engine.arun(c.OpenLease("a worker", queues=["default"]))
    await app.schedules.aset("ticks", "* * * * * *", "work", delay=delay)
    claimed, job = await first_of(app, lease)
    [schedule] = await app.schedules.alist()
    assert schedule.last_tick is not None
    if not delay:
        assert ([each.id for each in claimed], job.state) == ([job.id], JobState.RUNNING)
        return
    assert (claimed, job.state, job.attempt) == ([], JobState.SCHEDULED, 0)
    assert abs(job.run_at - schedule.last_tick - timedelta(seconds=delay)) < timedelta(seconds=0.1)


async def test_one_that_is_put_off_runs_when_it_is_due(app: Penstock) -> None:
    lease = await app.engine.arun(c.OpenLease("a worker", queues=["default"]))
    await app.schedules.aset("ticks", "* * * * * *", "work", delay=0.2)
    taken, job = await first_of(app, lease)
    [schedule] = await app.schedules.alist()
    await app.schedules.apause("ticks")

    async def take() -> list[ClaimedJob]:
        return await app.engine.arun(c.Claim(lease, "default"))

    # on a busy machine the first claim may come when it is due
    [claimed] = taken or await until(take)
    assert (claimed.id, claimed.attempt) == (job.id, 1)
    started_at = (await app.handle(job.id).arefresh()).started_at
    assert started_at is not None
    assert schedule.last_tick is not None
    assert started_at - schedule.last_tick >= timedelta(seconds=0.2)


async def test_a_run_by_hand_is_put_off_too(app: Penstock) -> None:
    await app.schedules.aset("yearly", "0 0 1 1 *", "work", delay=3600.0)
    job = await app.schedules.arun_now("yearly")
    assert (await app.handle(job.id).arefresh()).state is JobState.SCHEDULED

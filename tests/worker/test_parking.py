"""A rolling deploy: workers of two versions on one queue, and jobs that only one of them knows."""

import logging
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from penstock import Job, JobState, NewJob, Penstock
from penstock.context import JobContext
from penstock.middleware import CallNext
from penstock.worker.failures import PERIOD, ParkingLog
from tests.kit.until import until
from tests.kit.working import working
from tests.worker import in_process

SOON = 20.0


@pytest.fixture(autouse=True)
def new_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process tells of a kind once a minute, whichever test it was that parked one."""
    monkeypatch.setattr("penstock.worker.completer.parking_log", ParkingLog())


async def enqueue(app: Penstock, kind: str, args: bytes = b"{}") -> UUID:
    """As the other version of the application does, whose handler takes these arguments."""
    [enqueued] = await app.engine.aenqueue([NewJob(kind=kind, args=args, max_attempts=1)], None)
    return enqueued.id


async def parked(app: Penstock, id: UUID) -> Job:
    async def is_parked() -> bool:
        job = await app.jobs.aget(id)
        return job is not None and job.parked_reason is not None

    await until(is_parked)
    job = await app.jobs.aget(id)
    assert job is not None
    return job


async def has_ended(app: Penstock, id: UUID) -> bool:
    job = await app.jobs.aget(id)
    return job is not None and job.state.final


async def test_what_the_old_version_does_not_know_is_done_by_the_new_one_on_its_first_attempt(
    app: Penstock, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    @app.middleware
    async def note(ctx: JobContext, call_next: CallNext) -> object:
        calls.append(ctx.job.kind)
        return await call_next()

    @app.job
    async def resize(width: int) -> int:
        return width

    @app.job
    def crop(width: int) -> int:
        return width

    async with AsyncExitStack() as old:
        await old.enter_async_context(working(app))
        ids = {
            "new kind": await enqueue(app, "rotate", b'{"angle": 90}'),
            "async": await enqueue(app, "resize", b'{"width": 1, "height": 2}'),
            "thread": await enqueue(app, "crop", b'{"width": "wide"}'),
        }
        jobs = {name: await parked(app, id) for name, id in ids.items()}
        reasons = {name: job.parked_reason for name, job in jobs.items()}
        assert reasons == {
            "new kind": "this worker has no handler of kind 'rotate'",
            "async": "the handler here takes other arguments: height: is no argument of this handler; it takes width",
            "thread": "the handler here takes other arguments: width: Expected `int`, got `str`",
        }
        for job in jobs.values():
            assert (job.state, job.attempt, job.errors) == (JobState.SCHEDULED, 0, [])
        assert calls == []

        async with Penstock(url) as new:

            @new.job
            async def rotate(angle: int) -> int:
                return angle

            @new.job(kind="resize")
            async def resize_both(width: int, height: int) -> int:
                return width * height

            @new.job(kind="crop")
            def crop_by_name(width: str) -> str:
                return width

            # its next heartbeat, at which it sees that nobody leads, is soon
            async with working(new, lease=2.0):
                # while both are there, whichever asks first has a job that is due, and the old one puts it aside again
                await old.aclose()
                for id in ids.values():
                    await until(lambda id=id: has_ended(app, id))  # type: ignore[misc]
    ended = {name: await app.jobs.aget(id) for name, id in ids.items()}
    assert [(job.state, job.attempt, job.output) for job in ended.values() if job is not None] == [
        (JobState.SUCCEEDED, 1, 90),
        (JobState.SUCCEEDED, 1, 2),
        (JobState.SUCCEEDED, 1, "wide"),
    ]
    warned = [record.getMessage() for record in caplog.records if "parked" in record.getMessage()]
    assert any("kind 'rotate'" in line and "penstock jobs cancel --kind rotate" in line for line in warned)


async def test_in_a_batch_only_what_does_not_fit_is_parked(app: Penstock) -> None:
    seen: list[int] = []

    @app.job(batch=10)
    async def count(numbers: list[int]) -> None:
        seen.extend(numbers)

    given = (b'{"numbers": 1}', b'{"numbers": "two"}', b"{}", b'{"numbers": 3}')
    ids = [await enqueue(app, "count", args) for args in given]
    async with working(app, {"default": 1}):
        jobs = [await parked(app, id) for id in ids[1:3]]
        await until(lambda: has_ended(app, ids[3]))
    assert sorted(seen) == [1, 3]
    assert [job.attempt for job in jobs] == [0, 0]
    assert "numbers: Expected `int`" in str(jobs[0].parked_reason)
    assert "numbers: is missing" in str(jobs[1].parked_reason)


async def test_a_process_of_its_own_parks_too(app: Penstock) -> None:
    app.job(isolate=True)(in_process.mirror)
    id = await enqueue(app, "mirror", b'{"point": {"x": 1, "y": 2}, "axis": "x"}')
    async with working(app, {"default": 1}):
        assert "axis: is no argument" in str((await parked(app, id)).parked_reason)


async def test_a_tick_parks_says_so_and_does_not_take_it_again_at_once(app: Penstock) -> None:
    @app.job
    async def resize(width: int) -> None: ...

    unknown = await enqueue(app, "rotate")
    misfit = await enqueue(app, "resize", b'{"height": 1}')
    results = {each.id: each for each in await app.atick()}
    for id in (unknown, misfit):
        assert (results[id].state, results[id].attempt) == (JobState.SCHEDULED, 1)
        assert results[id].error == (await parked(app, id)).parked_reason
    assert await app.atick() == []


async def test_a_handler_that_asks_for_an_unknown_kind_itself_has_failed(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def ask() -> None:
        app.handler("nothing")

    await ask.aenqueue()
    [result] = await app.atick()
    assert (result.state, result.error) == (JobState.FAILED, "no handler 'nothing' is registered")


def test_a_kind_is_told_of_once_a_minute_and_each_of_its_jobs_counts_once(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    noted = ParkingLog(lambda: now)
    returning = uuid4()
    with caplog.at_level(logging.WARNING):
        for second in range(int(2 * PERIOD)):
            now = float(second)
            noted.note(uuid4(), "rotate", "why")
            noted.note(returning, "mail", "why")
            if second % 10 == 0:
                noted.note(uuid4(), "crop", "why")
        for _ in range(2000):
            noted.note(uuid4(), "many", "why")
        now += PERIOD
        noted.note(uuid4(), "many", "why")
    told = [record.getMessage().split(" parked")[0] for record in caplog.records]
    assert told == [
        "1 job of kind 'rotate'", "1 job of kind 'mail'", "1 job of kind 'crop'",
        "60 jobs of kind 'rotate'", "1 job of kind 'mail'", "6 jobs of kind 'crop'",
        "1 job of kind 'many'", "1,000 or more jobs of kind 'many'",
    ]  # fmt: skip

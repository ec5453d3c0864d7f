"""drain: everything that is ready, in this process, until nothing is."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock import Backoff, Context, Flow, InvalidInput, JobState, Penstock, PenstockError, Snooze
from penstock.testing import FakeClock, adrain, drain


def test_it_runs_what_is_ready_in_every_queue_and_says_what_became_of_it(app: Penstock) -> None:
    ran: list[int] = []

    @app.job
    def note(n: int) -> None:
        ran.append(n)

    note.enqueue(1)
    note.using(queue="elsewhere").enqueue(2)
    later = note.using(delay=3600).enqueue(3)
    results = drain(app)
    assert sorted(ran) == [1, 2]
    assert [(result.kind, result.state, result.attempt) for result in results] == [("note", "succeeded", 1)] * 2
    assert later.refresh().state is JobState.SCHEDULED
    assert drain(app) == []


def test_a_queue_has_one_run_at_a_time_in_the_order_of_claims(app: Penstock) -> None:
    events: list[str] = []

    @app.job
    async def work(ctx: Context, n: int) -> None:
        events.append(f"start {n}")
        await app.jobs.alist()
        events.append(f"end {n}")

    for n in (1, 2):
        work.enqueue(n)
    work.using(priority=1).enqueue(0)
    drain(app)
    assert events == [f"{what} {n}" for n in (0, 1, 2) for what in ("start", "end")]


def test_only_the_queues_that_are_named(app: Penstock) -> None:
    ran: list[str] = []

    @app.job
    def note(name: str) -> None:
        ran.append(name)

    for name in ("a", "b", "c"):
        note.using(queue=name).enqueue(name)
    drain(app, "b")
    assert ran == ["b"]
    drain(app, ["a"])
    assert ran == ["b", "a"]


def test_what_jobs_enqueue_and_what_waits_for_them_is_run_too(app: Penstock) -> None:
    ran: list[str] = []

    @app.job
    def note(name: str) -> None:
        ran.append(name)

    @app.job
    def split() -> None:
        flow = Flow(then=note.using(queue="last").prepare("then"))
        first = flow.add(note.prepare("first"))
        flow.add(note.using(queue="middle").prepare("second"), after=[first])
        app.enqueue(flow)

    split.enqueue()
    results = drain(app)
    assert ran == ["first", "second", "then"]
    assert len(results) == 4


def test_retries_that_are_due_are_run(app: Penstock) -> None:
    attempts: list[int] = []

    @app.job(max_attempts=3, backoff=Backoff(0))
    async def flaky(ctx: Context) -> None:
        attempts.append(ctx.attempt)
        raise OSError("again")

    @app.job(max_attempts=3, backoff=Backoff(3600))
    def slow() -> None:
        raise OSError("later")

    flaky.enqueue()
    slow.enqueue()
    results = drain(app)
    assert attempts == [1, 2, 3]
    assert [result.state for result in results if result.kind == "flaky"] == ["failed"] * 3
    assert [(result.state, result.error) for result in results if result.kind == "slow"] == [("scheduled", "later")]


def test_it_ends_at_the_limit(app: Penstock) -> None:
    @app.job(max_attempts=100, backoff=Backoff(0))
    def for_ever() -> Snooze:
        return Snooze(0)

    for_ever.enqueue()
    assert len(drain(app, limit=7)) == 7


def test_the_limit_is_for_all_of_it_together(app: Penstock) -> None:
    @app.job
    def note() -> None: ...

    @app.job
    def split() -> None:
        for _ in range(3):
            note.using(queue="made up").enqueue()

    split.enqueue()
    assert [result.kind for result in drain(app, limit=2)] == ["split", "note"]


def test_with_a_fake_clock_what_is_due_by_it_is_run(app: Penstock) -> None:
    ran: list[int] = []

    @app.job
    def note(n: int) -> None:
        ran.append(n)

    with FakeClock(app) as clock:
        note.using(delay=3600).enqueue(1)
        note.using(run_at=clock.now + timedelta(days=2)).enqueue(2)
        drain(app)
        assert ran == []
        clock.move(hours=1)
        drain(app)
        assert ran == [1]
        clock.move(days=2)
        drain(app)
        assert ran == [1, 2]


def test_a_schedule_fires_when_the_fake_clock_passes_its_tick(app: Penstock) -> None:
    ran: list[datetime] = []

    with FakeClock(app, datetime(2030, 1, 1, 1, 59, tzinfo=UTC)) as clock:

        @app.cron("0 2 * * *", queue="nightly")
        def nightly() -> None:
            ran.append(clock.now)

        drain(app)
        assert ran == []
        clock.move(minutes=2)
        drain(app)
        assert ran == [datetime(2030, 1, 1, 2, 1, tzinfo=UTC)]


def test_until_idle_moves_the_fake_clock_to_what_is_scheduled(app: Penstock) -> None:
    ran: list[datetime] = []
    start = datetime(2030, 1, 1, tzinfo=UTC)

    @app.job(max_attempts=3, backoff=Backoff(60, factor=2, jitter=0))
    def flaky() -> None:
        ran.append(clock.now)
        raise OSError("again")

    with FakeClock(app, start) as clock:
        job = flaky.using(delay=10).enqueue()
        results = drain(app, until_idle=True)
        assert [result.attempt for result in results] == [1, 2, 3]
        assert ran == [start + timedelta(seconds=seconds) for seconds in (10, 70, 190)]
        assert clock.now == ran[-1]
    assert job.refresh().state is JobState.FAILED


def test_until_idle_ends_although_another_queue_has_jobs(app: Penstock) -> None:
    @app.job
    def note() -> None: ...

    with FakeClock(app):
        other = note.using(queue="other", delay=60).enqueue()
        mine = note.using(queue="mine", delay=120).enqueue()
        assert [result.id for result in drain(app, "mine", until_idle=True)] == [mine.id]
        assert other.refresh().state is JobState.READY


def test_until_idle_without_a_clock_to_move_is_refused(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match="FakeClock"):
        drain(app, until_idle=True)


async def test_adrain_is_for_where_a_loop_runs(app: Penstock) -> None:
    @app.job
    async def answer() -> int:
        return 42

    job = await answer.aenqueue()
    with pytest.raises(PenstockError, match=r"await adrain\("):
        drain(app)
    assert len(await adrain(app)) == 1
    assert await job.aresult() == 42
    await app.aclose()

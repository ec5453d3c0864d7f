"""What a worker counts of its runs, and hands over."""

import timeit
from datetime import UTC, datetime

import pytest

from penstock import Backoff, Context, Fail, Penstock
from penstock.engine import commands
from penstock.job import ClaimedJob, Lease, new_job_id
from penstock.worker import statistics
from penstock.worker.ending import NOTHING
from penstock.worker.run import Lane, Run
from penstock.worker.statistics import RunCounts
from tests.kit.until import until
from tests.kit.working import working


async def test_a_worker_reports_its_runs_and_errors_and_how_it_is(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "EVERY", 0.05)

    @app.job(max_attempts=2, backoff=Backoff.constant(0))
    async def work(ctx: Context, number: int) -> None:
        if number == 1:
            raise Fail(f"no page {ctx.job.id}")
        if number == 2:
            raise LookupError(f"row {number} of 'users'")

    await work.aenqueue_many([{"number": number} for number in (0, 0, 0, 1, 2)])
    async with working(app, {"default": 7}) as worker:
        series = await until(
            lambda: app.statistics.aseries("default"), so=lambda found: sum(runs.failed for runs in found) == 2
        )
        [seen] = await until(app.workers.alist, so=lambda found: found[0].slots)
        assert (seen.lease, seen.slots) == (worker.lease, 7)
        assert (seen.memory or 0) > 1_000_000
        assert (seen.load or 0) > 0
    assert sum(runs.succeeded for runs in series) == 3
    assert sum(runs.retried for runs in series) == 1
    assert any(runs.waited.p50 and runs.ran.p50 for runs in series)
    await app.engine.arun(commands.Maintain())
    groups = await app.errors.alist()
    assert {(each.type, each.message, each.attempts, each.jobs) for each in groups} == {
        ("Fail", "no page <id>", 1, 1), ("LookupError", "row <number> of <text>", 2, 1),
    }  # fmt: skip


async def test_a_tick_reports_before_it_leaves(app: Penstock) -> None:
    @app.job
    def work() -> None: ...

    work.enqueue()
    await app.atick()
    assert sum(runs.succeeded for runs in app.statistics.series("default")) == 1


def test_counting_a_run_takes_a_microsecond_or_so() -> None:
    lane, counted = Lane("default", 1), RunCounts()
    job = ClaimedJob(
        new_job_id(), "work", 0, 1, 1, 5, 1, 0, None, None, None, datetime.now(UTC), "{}", None
    )  # fmt: skip
    ended = [(lane, Run(job, Lease(1), 0.0, "default", ran=0.01), NOTHING)] * 1000
    best = min(timeit.repeat(lambda: counted.note(ended), number=1, repeat=20))
    assert best < 0.005, f"{best * 1000:.2f} µs a run"
    [runs], [] = counted.take()
    assert (runs.succeeded, sum(runs.ran), sum(runs.waited)) == (20_000,) * 3
    assert counted.take() == ([], [])

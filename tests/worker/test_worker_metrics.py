"""What a worker tells Prometheus, and that it makes room when its memory has grown."""

import asyncio
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock import Backoff, Context, InvalidInput, Penstock, Snooze
from penstock.worker.memory import MemoryWatch, bytes_given
from penstock.worker.metrics import WorkerMetrics, serve_metrics
from penstock.worker.process_memory import resident_bytes
from tests.kit.until import soon, until
from tests.kit.working import working


def samples(text: str) -> dict[tuple[str, str, str], float]:
    """By name, queue and outcome or bound."""
    return {
        (each.name, each.labels.get("queue", ""), each.labels.get("outcome", each.labels.get("le", ""))): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


async def test_a_worker_counts_how_its_runs_ended_and_how_long_they_took(app: Penstock) -> None:
    @app.job(max_attempts=2, backoff=Backoff.constant(0))
    async def work(ctx: Context, what: str) -> Snooze | None:
        if what == "fail":
            raise ValueError(what)
        return Snooze(0) if what == "poll" and ctx.job.snoozes == 0 else None

    metrics = WorkerMetrics(["default", "empty"])
    async with working(app, {"default": 5, "empty": 1}) as worker:
        worker.observers.hooks.append(metrics.note)
        jobs = [await work.aenqueue(what=what) for what in ("go", "fail", "poll")]

        async def all_ended() -> bool:
            return all([(await job.arefresh()).state.final for job in jobs])

        await until(all_ended)
    server = await serve_metrics(metrics, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    answer = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/metrics", timeout=10)
    told = samples(answer.read().decode())
    server.close()
    for outcome, times in {"succeeded": 2, "failed": 2, "snoozed": 1}.items():
        assert told["penstock_worker_runs_total", "default", outcome] == times
    assert told["penstock_worker_dead_total", "default", ""] == 1
    assert told["penstock_worker_run_seconds_count", "default", ""] == 5
    assert told["penstock_worker_wait_seconds_bucket", "default", "+Inf"] == 3
    assert told["penstock_worker_runs_total", "empty", "failed"] == 0
    assert told["penstock_worker_run_seconds_count", "empty", ""] == 0
    assert told["penstock_process_memory_bytes", "", ""] > 10_000_000


async def test_a_worker_that_has_grown_lets_its_jobs_finish_and_leaves(app: Penstock) -> None:
    running, go = asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> str:
        running.set()
        await go.wait()
        return "done"

    worker = app.worker({"default": 5}, grace=0)
    task = asyncio.create_task(worker.run())
    await soon(worker.ready.wait())
    job = await work.aenqueue()
    await soon(running.wait())
    watch = MemoryWatch(worker, resident_bytes() // 2)
    watch.start()

    await until(lambda: worker.stopping)
    go.set()
    await soon(task)
    await watch.stop()
    assert worker.recycling
    assert worker.finished_in_time
    assert await job.aresult(5) == "done"


@pytest.mark.parametrize(("text", "size"), [("500MB", 500_000_000), ("2GiB", 2**31), ("1.5g", 1_500_000_000), ("7", 7)])
def test_memory_is_written_as_people_write_it(text: str, size: int) -> None:
    assert bytes_given(text) == size


@pytest.mark.parametrize("text", ["much", "0", "-1MB", "5TB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="500MB"):
        bytes_given(text)

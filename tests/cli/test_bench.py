"""`penstock bench` measures the database that it is given, and leaves nothing behind."""

from pathlib import Path

import msgspec

from penstock import NewJob, Penstock
from penstock.cli.bench import KIND, QUEUE
from tests.cli.conftest import Command
from tests.cli.test_ctrl_c import Terminal


def assert_nothing_is_left(app: Penstock) -> None:
    assert app.jobs.list(queue=QUEUE).jobs == []
    assert QUEUE not in [queue.name for queue in app.queues.list()]


def test_it_tells_how_fast_jobs_go_and_how_soon_they_start(penstock: Command, app: Penstock) -> None:
    told = msgspec.json.decode(penstock("bench", "--jobs", "30", "--json").stdout)
    assert told["jobs"] == 30
    assert min(told["enqueued_per_second"], told["run_per_second"]) > 0
    assert 0 < told["to_start_ms"]["p50"] <= told["to_start_ms"]["p99"]
    assert [line.split()[0] for line in penstock.lines("bench", "--jobs", "1")] == ["enqueued", "run", "to"]
    assert_nothing_is_left(app)


def test_jobs_of_another_bench_are_left_alone(penstock: Command, app: Penstock) -> None:
    app.engine.enqueue([NewJob(kind=KIND, queue=QUEUE)])
    refused = penstock("bench", "--jobs", "1")
    assert (refused.exit_code, f"penstock jobs cancel --queue {QUEUE}" in refused.output) == (1, True)
    assert penstock("jobs", "cancel", "--queue", QUEUE, "--yes").exit_code == 0
    assert penstock("bench", "--jobs", "1").exit_code == 0


def test_ctrl_c_cleans_up_too(app: Penstock, url: str, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, url, "bench", "--jobs", "1000000")
    try:
        terminal.until_it_shows("enqueueing .* [1-9][0-9]*000/1000000")
        terminal.press_ctrl_c()
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.shows
    finally:
        terminal.end()
    assert_nothing_is_left(app)

"""What a client costs is measured; what a million need follows from it, and is written where it is told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import client_needs, clients, pages
from bench.client_needs import Habit

ROOT = Path(__file__).parent.parent.parent
COSTS = {
    "machine": {
        "cpu": "a processor", "cores": 2, "memory_gb": 8, "system": "Linux", "python": "3.11.2", "postgres": "18.0",
        "penstock": "0.1.0", "measured_at": "2026-11-16",
    },
    "process_mb": 90.0,
    "connections_per_process": 10_000,
    "processes": 2,
    "seconds": 20.0,
    "stream": {
        "streams": 8_000, "kb": 30.0, "open_api_us": 900, "open_postgres_us": 600, "open_transactions": 3.0,
        "idle_api_us": 3.0, "idle_transactions_per_s": 0.0, "update_api_us": 100, "update_postgres_us": 100,
        "update_transactions": 0.03, "update_p50_ms": 8.0, "update_p99_ms": 20.0,
    },
    **{
        name: {
            "api_us": 600, "postgres_us": 300, "transactions": 1.0, "p50_ms": 2.0, "p99_ms": 9.0, "kb": 10.0,
            "connections": 300, "sampled_per_s": 300.0, "per_s_of_a_process": 1_000,
        }
        for name in ("poll", "poll_unchanged", "poll_new_connection", "start")
    },
}  # fmt: skip


def test_needs_grow_with_clients_and_streams_cost_the_database_their_updates_alone() -> None:
    polling = client_needs.needs(1_000_000, Habit("", 1.0, 1.0, streams=False, lasts=1e9), COSTS)
    assert polling.requests_per_s == pytest.approx(1_000_000, rel=0.01)
    assert polling.api_cores == pytest.approx(1_000_000 * 600 / 1e6 / client_needs.BUSY, rel=0.01)
    assert polling.postgres_cores == pytest.approx(1_000_000 * 300 / 1e6 / client_needs.BUSY, rel=0.01)
    streams = client_needs.needs(1_000_000, Habit("", 1.0, 10.0, streams=True, lasts=1e9), COSTS)
    assert streams.postgres_cores == pytest.approx(100_000 * 100 / 1e6 / client_needs.BUSY, rel=0.01)
    assert streams.api_processes == 100, "one has ten thousand connections at most"
    one = client_needs.needs(1, Habit("", 1.0, 1.0, streams=False), COSTS)
    assert (one.api_processes, one.connections) == (1, 1.0)


def test_the_figures_are_written_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "scale.md"
    page.write_text(clients.PAGE.read_text())
    around = [part for part in clients.PAGE.read_text().split(clients.BEGIN)[0].splitlines() if part]
    for _ in range(2):
        pages.write_between(page, clients.BEGIN, clients.END, clients.written(COSTS, 1_000_000))
    text = page.read_text()
    assert text.count(clients.BEGIN) == text.count("| 1,000,000 clients |") == 1
    assert "Measured on 2026-11-16: Penstock 0.1.0; a processor, 2 cores, 8 GB, Linux;" in text
    assert all(line in text for line in around)
    assert text.rstrip().endswith(clients.PAGE.read_text().split(clients.END, 1)[1].rstrip())
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="has no lines"):
        pages.write_between(page, clients.BEGIN, clients.END, "")


@pytest.mark.parametrize(("asked", "whole"), [([], True), (["--streams", "40"], False), (["--seconds", "2"], False)])
def test_a_short_run_leaves_the_page_alone(asked: list[str], whole: bool) -> None:
    assert clients.is_whole(clients.options(asked)) is whole


@pytest.mark.slow
def test_the_clients_benchmark_measures_polls_starts_and_streams(tmp_path: Path) -> None:
    page, results = tmp_path / "scale.md", tmp_path / "clients.json"
    page.write_text(clients.PAGE.read_text())
    few = ["--pollers", "20", "--streams", "40", "--processes", "2", "--seconds", "2"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results), "--page", str(page)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.clients", *few, *where], cwd=ROOT, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(results.read_text())
    assert told["poll"]["transactions"] == pytest.approx(1.0, abs=0.3)
    assert told["stream"]["streams"] == 80
    assert told["stream"]["idle_transactions_per_s"] < 1
    assert told["stream"]["updates"] > 0
    assert "| 1,000,000 clients |" in page.read_text()

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import before, worker_report
from bench.goals import MISSED

ROOT = Path(__file__).parent.parent.parent


def test_the_worker_benchmark_runs_our_worker_and_writes_what_it_measured(tmp_path: Path) -> None:
    results = tmp_path / "worker.json"
    few = ["--jobs", "500", "--rounds", "1", "--samples", "5", "--skip-memory", "--skip-sleep"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker", "--only", "penstock", "--payload", "0", "10240", *few, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, MISSED), done.stderr
    measured = json.loads(results.read_text())
    assert measured["drain"].keys() == measured["drain2"].keys() == measured["cpu_us"].keys() == {"penstock"}
    assert measured["drain"]["penstock"] > 0
    assert measured["drain_10k"]["penstock"] > 0
    assert 0 < measured["idle_ms"]["penstock"]["p50"] <= measured["idle_ms"]["penstock"]["p99"]
    assert measured["ratios"] == {}, "there is nobody to compare with"
    assert measured["goals"].keys() == {"wal_after", "wal_after_10k"}
    assert measured["sleep_ratio"] is None

    enqueue, after, whole = (measured[f"wal_{part}bytes"]["penstock"] for part in ("enqueue_", "after_", ""))
    assert 100 < enqueue["0"] < 1000
    assert enqueue["10k"] > 5000, "random words do not compress to nothing"
    assert whole == pytest.approx({size: enqueue[size] + after[size] for size in ("0", "10k")})


def test_what_was_before_runs_by_its_own_package_and_is_judged(tmp_path: Path) -> None:
    (tmp_path / "penstock.py").write_text("print('as it was')")
    system = before.of_folder(tmp_path)
    python = [sys.executable, "-c", "import penstock"]
    done = subprocess.run(python, cwd=ROOT, env=system.environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "as it was\n", done.stderr
    results = {"payloads": [0], "ratios": {"drain/before": 0.94}, "wal_after_bytes": {}, "sleep_ratio": None}
    every, measured = worker_report.judged(results)
    assert {goal.name: goal.met(measured[goal.name]) for goal in every if goal.name in measured} == {
        "drain/before": False
    }

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_worker_benchmark_runs_our_worker_and_writes_what_it_measured(tmp_path: Path) -> None:
    results = tmp_path / "worker.json"
    few = ["--jobs", "2000", "--rounds", "1", "--samples", "10", "--skip-memory", "--skip-sleep"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker", "--only", "penstock", *few, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert measured["drain"].keys() == measured["drain2"].keys() == measured["cpu_us"].keys() == {"penstock"}
    assert measured["drain"]["penstock"] > 0
    assert 0 < measured["idle_ms"]["penstock"]["p50"] <= measured["idle_ms"]["penstock"]["p99"]
    assert measured["ratios"] == measured["goals"] == {}, "there is nobody to compare with"
    assert measured["sleep_ratio"] is None

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_snapshot_benchmark_tells_how_a_flow_fares_and_leaves_what_others_wrote(tmp_path: Path) -> None:
    results = tmp_path / "engine.json"
    results.write_text('{"ratio": 0.9, "snapshot_p99_ratio": 7}')
    short = ["--minutes", "0.05", "--rate", "500", "--only", "penstock"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.snapshot", *short, *where], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert measured["ratio"] == 0.9, "of another benchmark"
    assert measured["snapshot_p99_ratio"] != 7, "measured anew"
    assert "snapshot_enqueue_ratio" in measured
    ours = measured["snapshot"]["penstock"]
    assert ours["rate"] == 500
    assert [part["held"] for part in ours["parts"]] == [False] + 9 * [True] + 2 * [False]
    for figure in ("p50_ms", "p99_ms", "enqueue_ms", "run_per_s"):
        assert any(part[figure] for part in ours["parts"]), figure
    assert ours["parts"][-1]["disk_mb"] > 0

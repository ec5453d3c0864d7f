import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import snapshot, steady

ROOT = Path(__file__).parent.parent.parent
SHORT = "snapshot_0.05_minutes"


def test_the_snapshot_benchmark_tells_how_a_flow_fares_and_leaves_what_others_wrote(tmp_path: Path) -> None:
    results = tmp_path / "engine.json"
    others = {"awa": {"rate": 7}, "penstock": {"rate": 7}}
    results.write_text(json.dumps({"ratio": 0.9, "snapshot_p99_ratio": 7, "snapshot": others, SHORT: others}))
    short = ["--minutes", "0.05", "--rate", "100", "--systems", "penstock"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.snapshot", *short, *where], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert measured["ratio"] == 0.9, "of another benchmark"
    assert measured["snapshot_p99_ratio"] == 7, "of ten minutes"
    assert measured["snapshot"] == others
    assert measured[SHORT]["awa"] == others["awa"], "measured by another run"
    judged = {goal.name for goal in snapshot.ALL}
    assert judged - {"reused_ratio"} <= measured[f"{SHORT}_goals_met"].keys() <= judged, "a second may add nothing"
    ours = measured[SHORT]["penstock"]
    assert ours["rate"] == 100
    held = sum(part["held"] for part in ours["parts"])
    assert held * ours["seconds"] == pytest.approx(0.05 * 60), "minutes are those of the snapshot"
    assert [part["held"] for part in ours["parts"]] == [False] + 10 * [True] + 2 * [False]
    for figure in ("p50_ms", "p99_ms", "enqueue_ms", "run_per_s"):
        assert any(part[figure] for part in ours["parts"]), figure
    assert ours["parts"][-1]["disk_mb"] > 0
    assert ours["dead_rows_per_job"] >= 0
    assert set(ours["bytes_per_job"]) == {"before", "held", "after"}
    assert all(len(sizes) == 3 for sizes in ours["tables_mb"].values())


def test_the_ratios_of_the_usual_time_are_told_by_their_names() -> None:
    ours = {
        "snapshot_p99_ratio": 1.5,
        "snapshot_enqueue_ratio": 2.5,
        "snapshot_rate_ratio": 1.0,
        "dead_rows_per_job": 1.9,
        "dead_rows_left": 0.1,
        "reused_ratio": 1.3,
    }
    told = snapshot.written({"penstock": ours}, snapshot.MINUTES)
    assert told["snapshot"] == {"penstock": ours}
    assert (told["snapshot_p99_ratio"], told["snapshot_enqueue_ratio"]) == (1.5, 2.5)
    assert [name for name, met in told["snapshot_goals_met"].items() if not met] == [
        "snapshot_enqueue_ratio",
        "reused_ratio",
    ]
    assert snapshot.written({"awa": {}}, snapshot.MINUTES) == {"snapshot": {"awa": {}}}, "ours are those of another run"


def seen(ran: int, dead: int, disk: int, *, held: bool) -> steady.Part:
    return steady.Part(held, ran=ran, grown=steady.Grown(dead, {"jobs": disk, "history": 2 * disk}))


def test_what_a_snapshot_keeps_is_told_for_each_job_and_what_is_reused_after_it() -> None:
    parts = [
        seen(100, 10, 1_000, held=False),
        seen(100, 110, 11_000, held=True),
        seen(100, 210, 21_000, held=True),
        seen(100, 21, 21_000, held=False),
    ]
    told = snapshot.growth(steady.Grown(0, {"jobs": 1_000, "history": 1_000}), parts)
    assert told["dead_rows_per_job"] == 1.0
    assert told["dead_rows_left"] == 0.1
    assert told["bytes_per_job"] == {"before": 10.0, "held": 300.0, "after": 0.0}
    assert told["reused_ratio"] == 0.0, "what was left is reused"
    assert list(told["tables_mb"]) == ["history", "jobs"], "that which grew most comes first"

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.goals import MISSED

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_the_dashboard_s_benchmark_looks_at_every_page_and_writes_what_it_measured(tmp_path: Path) -> None:
    results = tmp_path / "dashboard.json"
    few = ["--live", "2000", "--finished", "5000", "--seconds", "2"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.dashboard", *few, *where], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, MISSED), done.stderr
    measured = json.loads(results.read_text())
    assert {
        "SearchJobs",
        "QueueOverview",
        "StatisticsSeries",
        "ErrorGroups",
        "SumUsage",
        "PreviewOperation",
        "DeadJobs",
    } <= {row["query"] for row in measured["queries"]}
    assert measured["slowest_ms"] == max(row["ms"] for row in measured["queries"])
    assert {"/?over=7d", "/errors?over=7d"} <= {row["page"] for row in measured["queries"]}
    assert 0 < measured["queries_per_s"] < 10
    assert measured["operation_s"] >= 0
    assert measured["operation_jobs"] > 0

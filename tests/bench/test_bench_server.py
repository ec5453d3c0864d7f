"""The benchmark of the API, in a short form."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.goals import MISSED

ROOT = Path(__file__).parent.parent.parent


def run(folder: Path, *options: str) -> dict[str, Any]:
    """Its results, in a folder that is not there yet."""
    results = folder / "results" / "server.json"
    few = ["--rounds", "1", "--seconds", "0.2", "--connections", "2", *options]
    where = ["--folder", str(folder / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.server", *few, *where], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, MISSED), done.stderr
    measured: dict[str, Any] = json.loads(results.read_text())
    return measured


def test_the_server_benchmark_measures_requests_beside_a_bare_route_and_judges_them(tmp_path: Path) -> None:
    measured = run(tmp_path, "--skip-live")
    for what in ("status", "start"):
        assert measured[f"{what}_ratio"] > 0
        assert measured[f"{what}_per_s"].keys() == {"ours", "bare"}
    assert measured["goals_met"].keys() == {"status_ratio", "start_ratio"}, "streams were not measured"


@pytest.mark.slow
def test_the_server_benchmark_measures_streams_too(tmp_path: Path) -> None:
    measured = run(tmp_path, "--clients", "50")
    assert measured["sse_clients"] == 50
    assert measured["goals_met"]["sse_clients"] is False, "five thousand are asked for"
    assert measured["goals_met"].keys() >= {"sse_idle_queries_per_s", "sse_kb_per_client", "sse_fanout_p99_ms"}

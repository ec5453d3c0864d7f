"""Many queues, owners, schedules and jobs of a flow cost no more than they must."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import scale

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_the_benchmark_of_scale_tells_every_figure_that_has_a_goal(tmp_path: Path) -> None:
    results = tmp_path / "scale.json"
    small = ["--queues", "20", "--owners", "200", "--schedules", "300", "--flow", "200"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale", *small, *where], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert {goal.name for goal in scale.GOALS} <= set(measured)
    assert set(measured["goals_met"]) == {goal.name for goal in scale.GOALS}

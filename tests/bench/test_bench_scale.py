"""Many queues, owners, schedules and jobs of a flow cost no more than they must."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import clients, pages, scale
from bench.goals import MISSED

ROOT = Path(__file__).parent.parent.parent
MACHINE = {
    "cpu": "a processor", "cores": 2, "memory_gb": 8, "system": "Linux", "python": "3.11.2", "postgres": "18.0",
    "penstock": "0.1.0", "measured_at": "2026-11-16",
}  # fmt: skip


def test_the_page_tells_every_cost_on_both_sides_and_which_goal_is_not_met(tmp_path: Path) -> None:
    cost = {"small": 1.0, "large": 2.5, "ratio": 2.5}
    results: dict[str, Any] = {"machine": MACHINE}
    for name, case in scale.CASES.items():
        for goal in case.goals:
            what = goal.name.removeprefix(f"{name}_").removesuffix("_ratio").removesuffix("_ms")
            results.setdefault(name, {"few": case.few, "many": case.many})[what] = cost
            results[goal.name] = cost["ratio" if goal.name.endswith("_ratio") else "large"]
    text = scale.written(results)
    assert "| **owners: 100,000 beside 10** | | | | |" in text
    assert "| a single enqueue | 1.00 | 2.50 | 2.50 | ≤ 1.50, **not met** |" in text
    assert "| overview of all queues | 1.00 | 2.50 | 2.50 | ≤ 100.0 ms |" in text
    page = tmp_path / "scale.md"
    page.write_text(scale.PAGE.read_text())
    pages.write_between(page, scale.BEGIN, scale.END, text)
    assert text in page.read_text()
    assert "writes its figures here" not in page.read_text()
    assert clients.BEGIN in page.read_text(), "the other benchmark's figures stay"


@pytest.mark.parametrize(("asked", "whole"), [([], True), (["--only", "queues"], False), (["--queues", "20"], False)])
def test_a_run_of_a_part_leaves_the_page_alone(asked: list[str], whole: bool) -> None:
    assert scale.is_whole(scale.options(asked)) is whole


@pytest.mark.slow
@pytest.mark.time_limit(400)
def test_the_benchmark_of_scale_tells_every_figure_that_has_a_goal(tmp_path: Path) -> None:
    results = tmp_path / "scale.json"
    small = ["--queues", "20", "--owners", "200", "--schedules", "300", "--flow", "200"]
    page = tmp_path / "scale.md"
    page.write_text(f"{scale.BEGIN}\n{scale.END}\n")
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results), "--page", str(page)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale", *small, *where], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, MISSED), done.stderr
    measured = json.loads(results.read_text())
    assert {goal.name for goal in scale.GOALS} <= set(measured)
    assert set(measured["goals_met"]) == {goal.name for goal in scale.GOALS}
    told = page.read_text()
    for case in scale.CASES.values():
        assert all(goal.label.removesuffix(", in ms") in told for goal in case.goals)

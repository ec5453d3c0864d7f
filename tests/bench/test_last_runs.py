"""What the last runs gave stands on a page, from the files that they left."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import last_runs, pages, snapshot

MACHINE = {"measured_at": "2026-11-19"}
LEDGER = {
    "machine": MACHINE, "enqueued": 12_345, "lost": 0, "double_accepted": 0, "ghosts": 0, "effects_wrong": 0,
    "recovery_s": 7.0, "faults": [{}] * 4, "seed": 20,
}  # fmt: skip
HELD: dict[str, Any] = {
    "measured_at": "2026-11-18", "rate": 5_000, "seconds": 60.0, "snapshot_p99_ratio": 1.1,
    "snapshot_enqueue_ratio": 1.0, "snapshot_rate_ratio": 1.0, "dead_rows_per_job": 2.5, "reused_ratio": 0.9,
    "parts": [
        {"held": held, "p99_ms": p99, "run_per_s": 5_000.0, "disk_mb": mb}
        for held, p99, mb in ((False, 20.0, 100.0), (True, 21.0, 500.0), (True, 22.0, 900.0), (False, None, 950.0))
    ],
}  # fmt: skip


def table(folder: Path, **files: dict[str, Any]) -> list[str]:
    for name, found in files.items():
        (folder / f"{name}.json").write_text(json.dumps(found))
    return last_runs.table(folder).splitlines()


@pytest.mark.parametrize(("name", "said"), [("chaos", "≤ 10.0"), ("ha", "≤ 5.0, **not met**")])
def test_each_figure_stands_below_its_command_beside_its_goal(tmp_path: Path, name: str, said: str) -> None:
    lines = table(tmp_path, **{name: LEDGER})
    command = {"chaos": "make chaos", "ha": "make chaos-ha"}[name]
    assert lines[2] == f"| **`{command}`**, 2026-11-19, 12,345 jobs, 4 faults, seed 20 | | |"
    assert "| acknowledged, and never finished | 0 | ≤ 0 |" in lines
    assert lines[-1] == f"| the longest until everybody was back at work, in seconds | 7.0 | {said} |"


def test_who_never_came_back_stands_there(tmp_path: Path) -> None:
    lines = table(tmp_path, ha={**LEDGER, "recovery_s": None, "good": False})
    assert lines[-1] == "| the longest until everybody was back at work, in seconds | never | ≤ 5.0, **not met** |"


def test_what_was_not_run_or_not_judged_is_not_there(tmp_path: Path) -> None:
    soak = {"machine": MACHINE, "jobs": 30_000, "lost": 0, "worker_rss_ratio": None}
    lines = table(tmp_path, soak=soak, engine={"machine": MACHINE, "snapshot": {"penstock": HELD, "awa": {}}})
    assert [line for line in lines if "**`" in line] == [
        "| **`make bench-snapshot`**, 2026-11-18, 5,000 jobs/s, a snapshot held for 120 s | | |",
        "| **`make soak`**, 2026-11-19, 30,000 jobs | | |",
    ]
    assert "| dead rows that a job leaves under it | 2.50 | ≤ 2.00, **not met** |" in lines
    assert not any("memory" in line for line in lines)


@pytest.mark.parametrize("minutes", [snapshot.MINUTES, 2.0])
def test_what_a_run_under_a_snapshot_writes_can_be_read(tmp_path: Path, minutes: float) -> None:
    systems = {"penstock": HELD | {"dead_rows_left": 0.1}, "awa": {"failed": "no"}}
    lines = table(tmp_path, engine={"machine": MACHINE, **snapshot.written(systems, minutes)})
    assert len([line for line in lines if "**`" in line]) == 1
    assert len(last_runs.under_a_snapshot(tmp_path).splitlines()) == 4


def test_every_system_of_a_run_under_a_snapshot_stands_beside_ours(tmp_path: Path) -> None:
    assert last_runs.under_a_snapshot(tmp_path) == ""
    awa = {**HELD, "dead_rows_per_job": 0.1, "reused_ratio": None}
    found = {"machine": MACHINE, "snapshot_2_minutes": {"penstock": HELD, "awa": awa, "pgqueuer": {"failed": "no"}}}
    (tmp_path / "engine.json").write_text(json.dumps(found))
    empty, head, rule, *rows = last_runs.under_a_snapshot(tmp_path).splitlines()
    assert (empty, head.count("|"), rule.count("|")) == ("", 7, 7)
    assert head.startswith("| a snapshot held for 120 s | jobs/s |")
    assert rows == [
        "| penstock | 5,000 | 20.0, 22.0 | 2.50 | 100, 900, 950 | 0.90 |",
        "| awa | 5,000 | 20.0, 22.0 | 0.10 | 100, 900, 950 | – |",
    ]


def test_the_page_has_a_place_for_it(tmp_path: Path) -> None:
    page = tmp_path / "measured.md"
    page.write_text(last_runs.PAGE.read_text())
    pages.write_between(page, last_runs.BEGIN, last_runs.END, table(tmp_path, ha=LEDGER)[2])
    assert "chaos-ha" in page.read_text().partition(last_runs.BEGIN)[2].partition(last_runs.END)[0]

"""The benchmark of handlers that wait, in a short form."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench import durable
from bench.processes import Failed

ROOT = Path(__file__).parent.parent.parent


def test_the_benchmark_of_handlers_that_wait_writes_what_it_measured(tmp_path: Path, server: str) -> None:
    results = tmp_path / "durable.json"
    few = [
        "--workflows",
        "3",
        "--parents",
        "1",
        "--events",
        "2",
        "--waiting",
        "100",
        "--claims",
        "200",
        "--rounds",
        "2",
    ]
    where = ["--server", server, "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.durable", "--alone", *few, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(results.read_text())
    assert [measured[each].keys() for each in ("steps", "fanout", "event_ms")] == [{"penstock"}] * 3
    assert all(measured[each]["penstock"] > 0 for each in ("steps", "fanout", "event_ms"))
    assert measured["waiting"] == 100
    assert all(measured[each] > 0 for each in ("claims_beside_waiting", "waking_ms", "idle_ms"))


def test_who_cannot_be_installed_is_left_out_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def python_of(name: str) -> str:
        if name == "absurd":
            raise Failed("pip for absurd ended with 1\nWARNING: slow\nERROR: no matching distribution\n")
        return "python"

    monkeypatch.setattr(durable, "python_of", python_of)
    found = durable.systems(False, Console(width=200))
    assert [name for name, _ in found] == ["penstock", "dbos"]
    assert capsys.readouterr().out == "without absurd, which cannot be installed: ERROR: no matching distribution\n"

"""The benchmark of handlers that wait, in a short form."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bench import durable, durable_waiting
from bench.goals import MISSED
from bench.processes import Failed

ROOT = Path(__file__).parent.parent.parent
STANDING = {"steps": 100.0, "fanout": 50.0, "event_ms": 8.0}


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
    assert done.returncode in (0, MISSED), done.stderr
    measured = json.loads(results.read_text())
    assert [measured[each].keys() for each in ("steps", "fanout", "event_ms")] == [{"penstock"}] * 3
    assert all(measured[each]["penstock"] > 0 for each in ("steps", "fanout", "event_ms"))
    assert measured["waiting"] == 100
    assert all(measured[each] > 0 for each in ("claims_beside_waiting", "waking_ms", "idle_ms"))
    assert measured["goals_met"].keys() == {"claims_beside_waiting", "waking_ratio"}, "there is nobody to compare with"


def test_who_crashes_is_told_of_and_keeps_nobody_from_being_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def measured(_: str, name: str, python: str, __: object) -> dict[str, float]:
        del python
        if name == "dbos":
            raise Failed("dbos ended with 1\nTraceback\nOSError: no file\n")
        return {"steps": 300.0, "fanout": 90.0, "event_ms": 4.0} if name == "penstock" else STANDING

    async def waking_and_idle(*_: object) -> tuple[float, float]:
        return 3.0, 2.0

    monkeypatch.setattr(durable, "measured", measured)
    monkeypatch.setattr(durable, "python_of", lambda _: "python")
    monkeypatch.setattr(durable, "fresh_database", lambda server, _: server)
    monkeypatch.setattr(durable_waiting, "claims_beside", lambda *_: 0.9)
    monkeypatch.setattr(durable_waiting, "waking_and_idle", waking_and_idle)
    results = tmp_path / "durable.json"
    monkeypatch.setattr(sys, "argv", ["bench.durable", "--server", "nowhere", "--results", str(results)])
    with pytest.raises(SystemExit) as ended:
        durable.main()
    assert ended.value.code == MISSED
    told = json.loads(results.read_text())
    assert told["steps"] == {"penstock": 300.0, "absurd": 100.0}
    assert told["failed"] == {"dbos": "OSError: no file"}
    assert "dbos failed: OSError: no file" in capsys.readouterr().out
    assert told["goals_met"] == {
        "steps_ratio": True, "fanout_ratio": False, "event_ratio": True, "claims_beside_waiting": False,
        "waking_ratio": True,
    }  # fmt: skip


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

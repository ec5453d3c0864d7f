import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import engine
from bench.goals import MISSED

ROOT = Path(__file__).parent.parent.parent


def test_the_engine_benchmark_measures_small_flows_too_and_leaves_what_others_wrote(tmp_path: Path) -> None:
    results = tmp_path / "engine.json"
    results.write_text('{"snapshot_p99_ratio": 7, "ratio": 7}')
    few = ["--jobs", "500", "--flow", "1000", "--rounds", "1", "--payload", "0", "1024"]
    where = ["--folder", str(tmp_path / "postgres"), "--results", str(results)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.engine", *few, *where], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, MISSED), done.stderr
    measured = json.loads(results.read_text())
    assert measured["snapshot_p99_ratio"] == 7, "of another benchmark"
    assert measured["ratio"] != 7, "measured anew"
    assert measured["ratio_1k"] > 0
    assert len(measured["flow_per_s"]) == len(measured["pinned_flow_per_s"]) == 10
    for system in ("bare", "penstock"):
        assert measured["wal_bytes"][system]["1k"] > 1024
        assert measured["cpu_us_1k"][system]["worker"] > 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--flow", "5"], "argument --flow: '5' is not a whole number of at least 10"),
        (["--payload", "0", "-1"], "argument --payload: '-1' is not a whole number of at least 0"),
        (["--payload", "5"], "argument --payload: no document has 5 bytes"),
    ],
)
def test_numbers_that_cannot_be_measured_are_refused(
    options: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.engine", *options])
    with pytest.raises(SystemExit):
        engine.options()
    assert complaint in capsys.readouterr().err

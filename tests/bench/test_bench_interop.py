import json
import sys
from pathlib import Path

import pytest

from bench import interop, interop_pgmq
from bench.goals import MISSED


def test_the_same_messages_go_through_ours_and_the_real_pgmq(server: str) -> None:
    told = interop_pgmq.measured(server, batches=2, rounds=1, real=interop_pgmq.real_sql(None))
    assert isinstance(told["pgmq_ratio"], float)
    assert told["pgmq_ratio"] > 0
    rates = told["pgmq_messages_per_s"]
    assert isinstance(rates, dict)
    assert {name: set(steps) for name, steps in rates.items()} == {
        "penstock": {"send", "read", "archive", "all"}, "pgmq": {"send", "read", "archive", "all"},
    }  # fmt: skip


def test_whether_its_goals_are_met_is_written_beside_the_figures_and_its_exit_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"pgmq": lambda _: {"pgmq_ratio": 0.8}, "bullmq": lambda _: {"bullmq_ratio": 1.2}}
    monkeypatch.setattr(interop, "PARTS", parts)
    results = tmp_path / "interop.json"
    monkeypatch.setattr(sys, "argv", ["bench.interop", "--results", str(results)])
    with pytest.raises(SystemExit) as ended:
        interop.main()
    assert (ended.value.code, capsys.readouterr().err) == (MISSED, "missed: pgmq_ratio\n")
    assert json.loads(results.read_text())["goals_met"] == {"pgmq_ratio": False, "bullmq_ratio": True}
    monkeypatch.setitem(parts, "pgmq", lambda _: {"pgmq_ratio": 0.9})
    interop.main()

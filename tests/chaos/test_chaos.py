"""The short form of `make chaos`: each of the commonest faults once, and the books balance."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.storm import Plan, run_storm

FAULTS = ("kill workers", "stop a worker", "kill postgres", "cut", "half-open")


class Printed:
    """Shown by pytest when the test fails."""

    def say(self, line: str) -> None:
        print(line)

    def now(self, doing: str) -> None: ...


def traces() -> set[str]:
    """What a storm might leave behind: folders, child processes, and a Postgres, which works in such a folder."""
    temporary = Path(tempfile.gettempdir())
    left = {str(folder) for name in ("chaos", "ledger") for folder in temporary.glob(f"penstock-{name}-*")}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"\nPPid:\t{os.getpid()}\n" in (process / "status").read_text():
                left.add(f"child {process.name}")
            folder = str((process / "cwd").readlink())
            if "penstock-chaos-" in folder:
                left.add(f"process {process.name} in {folder}")
    return left


@pytest.mark.parametrize(
    ("guarded", "faults"),
    [
        pytest.param(False, FAULTS, id="directly"),
        pytest.param(
            True, FAULTS, id="through roles and PgBouncer", marks=[pytest.mark.slow, pytest.mark.time_limit(900)]
        ),
    ],
)
def test_whatever_strikes_no_job_is_lost_and_none_counts_twice(
    tmp_path: Path, guarded: bool, faults: tuple[str, ...]
) -> None:
    before = traces()
    plan = Plan(20, 0, faults, lease=1.5, workers=2, producers=2, guarded=guarded, logs=tmp_path / "logs")
    outcome = run_storm(plan, Printed())
    assert sorted(each.kind for each in outcome.struck) == sorted(faults)
    assert outcome.reckoning.enqueued > 100
    assert outcome.reckoning.rerun > 0, "the faults hit nobody"
    assert outcome.good, outcome
    assert traces() == before

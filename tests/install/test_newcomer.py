"""The way of a newcomer, walked: `make newcomer` prints what each leg takes."""

import subprocess
import sys

import pytest

from tests.install.environments import ROOT


@pytest.mark.slow
@pytest.mark.time_limit(1800)
@pytest.mark.parametrize("way", ["clone", "pip"])
def test_a_newcomer_sees_a_finished_job_in_the_dashboard(way: str) -> None:
    walked = subprocess.run([sys.executable, ROOT / "scripts" / "newcomer", way], capture_output=True, text=True)
    assert walked.returncode == 0, walked.stdout + walked.stderr
    assert "seen in the dashboard" in walked.stdout

"""What stands twice in the package says why beside it: scripts/walk looks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_no_ten_lines_stand_twice_without_a_reason() -> None:
    walked = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "walk"), "--repeated"], capture_output=True, text=True, cwd=ROOT
    )
    assert (walked.returncode, walked.stdout) == (0, ""), walked.stderr

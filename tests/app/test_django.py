"""Jobs commit and roll back with Django's transactions."""

import subprocess
import sys


def test_jobs_follow_djangos_transactions(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.app.django_program", url], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "the Django connection is to sqlite, not to PostgreSQL\n"

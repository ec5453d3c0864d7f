"""A Django project on Penstock: its own tests, run by Django's runner, and a worker of it."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]


def environment(url: str) -> Mapping[str, str]:
    return os.environ | {
        "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.interop.django.settings", "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def run(url: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", *arguments],
        env=environment(url),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_tests_of_a_project_pass(url: str) -> None:
    told = run(url, "django", "test", "tests.interop.django.shop")
    ran = re.search(r"^Ran (\d+) tests", told, re.MULTILINE)
    assert ran is not None
    assert int(ran[1]) >= 40, told
    assert "skipped" not in told


def test_a_worker_of_a_project_runs_its_tasks(empty_url: str) -> None:
    told = run(empty_url, "tests.interop.django.program")
    assert "No changes detected" in told

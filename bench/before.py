"""Penstock as of an earlier commit, as one more system: the same runner over that commit's package."""

import subprocess
import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from bench.goals import Goal
from bench.processes import ROOT
from bench.systems import OURS, System

FOLDER = ROOT / ".cache" / "bench-before"
NAME = "before"
GOALS = (
    Goal("drain/before", "drain / before", at_least=0.95),
    Goal("enqueue/before", "in bulk / before", at_least=0.95),
    Goal("idle_p50/before", "idle p50 / before", at_most=1.1),
)
"""What is left between two runs of one commit is a twentieth."""


def of_commit(commit: str) -> System:
    folder = FOLDER / _git("rev-parse", "--short", "--verify", f"{commit}^{{commit}}").decode().strip()
    if not folder.exists():
        with tarfile.open(fileobj=BytesIO(_git("archive", commit, "penstock"))) as packed:
            packed.extractall(folder, filter="data")
        (folder / "bench").symlink_to(ROOT / "bench")
    return of_folder(folder)


def of_folder(folder: Path) -> System:
    """Its database is made anew for each measurement: the tables that are emptied are ours of today."""
    # not what lies in the folder where it is started
    environment = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(folder)}
    return replace(OURS, name=NAME, tables="", environment=environment)


def _git(*command: str) -> bytes:
    done = subprocess.run(("git", *command), cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"git {command[0]}: {done.stderr.decode().strip()}")
    return done.stdout

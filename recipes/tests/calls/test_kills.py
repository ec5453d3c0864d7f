"""Workers killed at every boundary of every stage: in the end there is what an undisturbed run leaves."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from calls.asking import ACME, SOUND, Calls
from calls.conftest import Make
from calls.expected import files_made_of
from calls.program import POINTS
from penstock.engine import commands
from penstock.job import Lease
from shared.asking import names_in
from shared.programs import environment
from tests.kit.fixtures import Connect


@dataclass(frozen=True)
class Where:
    url: str
    jobs_url: str | None
    files: Path


class Workers:
    """Processes of workers, forked by a program that has everything loaded."""

    def __init__(self, program: "subprocess.Popen[str]") -> None:
        self._program = program
        self.running: set[int] = set()

    def start(self, where: Where, point: str = "") -> int:
        pid = self._ask({"run": [where.url, where.jobs_url, str(where.files), point]})
        self.running.add(pid)
        return pid

    async def end(self, pid: int, *, kill: bool = False) -> int:
        """How it ended."""
        code = await asyncio.wait_for(asyncio.to_thread(self._ask, {"end": pid, "kill": kill}), 60)
        self.running.discard(pid)
        return code

    def _ask(self, command: dict[str, object]) -> int:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(command) + "\n")
        self._program.stdin.flush()
        return int(self._program.stdout.readline())


@pytest.fixture(scope="module")
def program() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "calls.program"]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program
        assert program.stdin is not None
        program.stdin.close()
        program.wait(20)


@pytest.fixture
def workers(program: "subprocess.Popen[str]") -> Iterator[Workers]:
    workers = Workers(program)
    yield workers
    for pid in workers.running:
        # not by the program, which may be waiting for one that did not end: whoever asked hears of it now
        os.kill(pid, signal.SIGKILL)


# what was about to be removed is the sweep's from then on, and the job does not come to the moment after it
BEFORE_REMOVALS = [point for point in POINTS if ": before " in point]
ALL_OTHERS = [point for point in POINTS if point not in BEFORE_REMOVALS]
# there a completion is not written together with anything else
ON_BULLMQ = [point for point in ALL_OTHERS if ": completed" not in point]


@pytest.mark.parametrize(
    ("points", "jobs_url"),
    [
        pytest.param(BEFORE_REMOVALS, "postgres", id="before each removal"),
        pytest.param(ALL_OTHERS, "postgres", id="at all other points"),
        pytest.param(ON_BULLMQ, "bullmq", id="on BullMQ"),
        *(pytest.param([point], "postgres", id=point, marks=pytest.mark.slow) for point in POINTS),
    ],
    indirect=["jobs_url"],
)
async def test_killed_workers_leave_the_same_files_as_one_that_was_not(
    make: Make,
    url: str,
    jobs_url: str | None,
    files: Path,
    connect: Connect,
    workers: Workers,
    points: Sequence[str],
) -> None:
    """One at each point of the same call, or a call for each point."""
    async with make(max_attempts=len(POINTS)) as calls:
        await check_killed(calls, Where(url, jobs_url, files), connect, workers, points)


async def as_if_its_time_had_passed(calls: Calls, connect: Connect) -> None:
    if calls.app.engine.capabilities.database:
        connect().execute("update penstock.heartbeats set expires_at = '-infinity'")
        connect().execute("update penstock.leader set until = '-infinity'")
        return
    for worker in await calls.app.workers.alist():
        await calls.app.engine.arun(commands.ExpireLease(Lease(worker.lease)))


async def check_killed(calls: Calls, where: Where, connect: Connect, workers: Workers, points: Sequence[str]) -> None:
    files = where.files
    ada = calls.user()
    id = await ada.upload()
    for point in points:
        killed = workers.start(where, point)
        assert await workers.end(killed) == -signal.SIGKILL, point
        await as_if_its_time_had_passed(calls, connect)
    worker = workers.start(where)
    call = await ada.done(id)
    await workers.end(worker, kill=True)

    # a removal that was cut short is for the sweep that workers do now and then
    await calls.app.artifacts.asweep()
    made = {type: await ada.file(call, type) for type in ("audio", "transcript", "analysis")}
    assert made == files_made_of(SOUND)
    left = [f"_{ACME}/{id}/{name}" for name in ("analysis.json", "audio.flac", "transcript.json")]
    assert names_in(files) == left
    rows = connect().execute("select path, state from penstock.artifacts order by path").fetchall()
    assert rows == [(path, "stored") for path in left]
    assert connect().execute("select path from calls.artifacts order by path").fetchall() == [(path,) for path in left]

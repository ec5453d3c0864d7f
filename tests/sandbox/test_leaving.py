"""Of a sandboxed program nothing is left, however its caller leaves."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest

from penstock.sandbox import Limits, call, started, work_folder
from tests.kit.until import wait_until

pytestmark = pytest.mark.root

HOSTILE = Path(__file__).with_name("hostile.py")
LIMITS = Limits(wall=600)
FLOODING = [sys.executable, "-c", "import os\nwhile True: os.write(1, bytes(65536))"]


def running(words: str) -> list[int]:
    """Processes that have these words in their command line, and run."""
    return [
        each.pid
        for each in psutil.process_iter(["cmdline", "status"])
        if each.info["status"] != psutil.STATUS_ZOMBIE and words in (each.info["cmdline"] or ())
    ]


async def stay(how: int) -> None:
    """One that reads nothing of what it is sent, one that sleeps, one that says more than anybody reads."""
    if how == 0:
        await call(HOSTILE, "sleep", LIMITS, data=bytes(2_000_000), asked={"deaf": True})
    elif how == 1:
        await call(HOSTILE, "sleep", LIMITS)
    else:
        async with started(FLOODING, LIMITS, env={}) as process:
            await process.reader.readexactly(1)
            await asyncio.sleep(600)


async def test_cancelling_at_any_moment_leaves_nobody_and_nothing_hangs() -> None:
    random = Random(7)
    before = psutil.Process().children()

    async def cancelled(how: int) -> None:
        task = asyncio.create_task(stay(how))
        await asyncio.sleep(random.random() * random.choice((0.002, 0.02, 0.2)))
        task.cancel()
        if random.random() < 0.3:
            # and again, while it is tidying up
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async with asyncio.timeout(60):
        for _ in range(10):
            await asyncio.gather(*map(cancelled, range(3)))
    assert psutil.Process().children() == before


async def test_one_that_says_more_than_is_read_does_not_hold_its_caller() -> None:
    async with asyncio.timeout(30):
        async with started(FLOODING, LIMITS, env={}) as process:
            await process.reader.readexactly(1)
    assert not psutil.pid_exists(process.pid)


async def test_what_a_program_has_started_goes_with_it() -> None:
    words = "breed-and-leave"
    program = "import os, time\nfor _ in range(3):\n    if os.fork() == 0: time.sleep(600)\nos.write(1, b'x')\n"
    async with asyncio.timeout(30), started([sys.executable, "-c", program, words], LIMITS, env={}) as process:
        # its children have its output, so there is an end only when they are gone
        assert await process.reader.read() == b"x"
        assert await process.wait() == 0
    assert running(words) == []


async def test_what_has_left_its_group_is_known_by_its_command_line(tmp_path: Path) -> None:
    words = str(tmp_path)
    child = "import os, sys, time; os.setsid(); os.write(1, b'x'); time.sleep(600)"
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]]).wait()"
    command = [sys.executable, "-c", program, child, words]
    async with asyncio.timeout(30), started(command, LIMITS, env={}, known_by=words) as process:
        assert await process.reader.readexactly(1) == b"x"
        assert len(running(words)) == 2
    assert running(words) == []


def test_a_work_folder_is_gone_in_the_end_and_so_are_those_that_were_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("ours-dead", "ours-busy", "theirs-dead"):
        (tmp_path / name).mkdir()
        if name.endswith("dead"):
            os.utime(tmp_path / name, (0, 0))
    with suppress(OSError), work_folder("ours") as folder:
        (folder / "below").mkdir()
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, "ours-busy", "theirs-dead"}
        raise OSError
    assert not folder.exists()


async def test_a_program_that_cannot_be_run_is_one_that_ended() -> None:
    async with asyncio.timeout(30), started(["/no/such/program"], LIMITS, env={}) as process:
        assert await process.wait() == 1


LEAVING = """
import asyncio, sys
from penstock.sandbox import Limits, started
async def main():
    # who leaves by itself takes along what its programs have started, too; who is killed cannot
    command = {"exit": "sleep 600 & echo x; wait", "kill": "echo x; exec sleep 600"}[sys.argv[1]]
    async with started(["/bin/sh", "-c", command, "leaving"], Limits(wall=600), env={}) as process:
        await process.reader.readline()
        print(process.pid, flush=True)
        if sys.argv[1] == "exit":
            raise SystemExit
        await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_who_leaves_takes_its_programs_along(how: str) -> None:
    with subprocess.Popen([sys.executable, "-c", LEAVING, how], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        if how == "kill":
            worker.kill()
        assert worker.wait(30) in (0, -9)
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)

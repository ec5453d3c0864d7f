"""Several processes under one: the dead are replaced and their jobs run again at once, and all end together."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import JobState, Penstock
from penstock.engine.commands import Cancel
from penstock.job import NewJob
from penstock.worker import supervisor
from penstock.worker.program import FINISHED, GAVE_BACK
from penstock.worker.supervisor import Supervisor
from tests.kit.until import soon, until, wait_until
from tests.worker.processes import Commands, runs
from tests.worker.processes import commands as commands


def test_the_jobs_of_a_killed_process_run_again_at_once_and_it_is_replaced(commands: Commands) -> None:
    commands.start_worker("--processes", 2, "--queues", "default:1", "--lease", 600, processes=2)
    jobs = [commands.enqueue_and_start("wait", "a") for _ in range(2)]
    first, second = commands.started("a")
    assert first != second
    os.kill(first, signal.SIGKILL)
    # well before ten minutes have passed; the other process has no slot free, so this is the new one
    wait_until(lambda: len(commands.started("a")) == 3)
    commands.go("a")
    third = commands.started("a")[-1]
    assert {job.result(10) for job in jobs} == {second, third}
    assert set(commands.leases.values()) == {second, third}
    again = next(record for job in jobs if (record := job.refresh()).attempt == 2)
    assert [error["error"] for error in again.errors] == [again.last_error]
    assert "was lost" in (again.last_error or "")


def test_all_processes_end_with_a_killed_supervisor(commands: Commands) -> None:
    process = commands.start_worker("--processes", 2, processes=2)
    job = commands.enqueue_and_start("wait", "a")
    pids = list(commands.leases.values())
    process.kill()
    # gracefully: nobody is there to give back what they have
    wait_until(lambda: process.complaint.count("stopping: 1 job") == 1)
    commands.go("a")
    wait_until(lambda: not any(map(runs, pids)))
    assert job.refresh().state is JobState.SUCCEEDED
    assert commands.leases == {}


def test_processes_that_have_hardly_begun_end_with_a_killed_supervisor_too(commands: Commands) -> None:
    process = commands.start("worker", "tasks:app", "--processes", 2)
    wait_until(lambda: len(children_of(process.pid)) == 2)
    pids = children_of(process.pid)
    process.kill()
    try:
        wait_until(lambda: not any(map(runs, pids)))
    finally:
        for pid in filter(runs, pids):
            os.kill(pid, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_supervisor_lets_all_finish(commands: Commands, number: signal.Signals) -> None:
    process = commands.start_worker("--processes", 2, "--queues", "default:1", processes=2)
    jobs = [commands.enqueue_and_start("wait", "a") for _ in range(2)]
    pids = set(commands.leases.values())
    if number is signal.SIGINT:
        process.send_to_group(number)  # a terminal's Ctrl-C reaches everybody in it, and is one signal
    else:
        process.send(number)
    wait_until(lambda: process.complaint.count("stopping: 1 job") == 2)
    commands.go("a")
    assert process.wait() == 0
    assert {job.result(1) for job in jobs} == pids
    assert commands.leases == {}
    assert not any(map(runs, pids))


def test_a_second_signal_to_the_supervisor_ends_all_at_once(commands: Commands) -> None:
    process = commands.start_worker("--processes", 2, "--grace", 600, processes=2)
    jobs = [commands.enqueue_and_start(kind) for kind in ("stuck", "stuck_inside")]
    process.send(signal.SIGTERM)
    # whoever has a job: a process that has not heard of the first signal yet would take the two for one
    wait_until(lambda: "stopping: 2 jobs" in process.complaint or process.complaint.count("stopping: 1 job") == 2)
    process.send(signal.SIGTERM)
    assert process.wait() == 3
    assert [(job.refresh().state, job.refresh().attempt) for job in jobs] == [(JobState.READY, 0)] * 2
    assert commands.leases == {}


class Lives:
    """A worker's stand-in: a program that notes each of its lives in a file, and does as it is told."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self.command = [sys.executable, "-S", "-c", f"import os, pathlib, sys, time\n{program}", str(folder)]

    @property
    def pids(self) -> list[int]:
        return [int(path.name) for path in self.folder.iterdir()]


NOTE = "pathlib.Path(sys.argv[1], str(os.getpid())).touch()"


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A supervisor takes the signals of its process; this one is the tests'."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


async def test_a_process_that_dies_at_once_again_and_again_is_started_less_and_less_often(
    app: Penstock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lives = Lives(tmp_path, f"{NOTE}; sys.exit(7)")
    keeper = Supervisor(lives.command, app.engine, queues={"default": 1}, least=1, most=1)
    running = asyncio.create_task(keeper.run())

    async def three() -> bool:
        return len(lives.pids) == 3

    began = asyncio.get_running_loop().time()
    await until(three)
    assert asyncio.get_running_loop().time() - began > 1.5  # pauses of 0.5 and 1 s
    assert "a worker process ended with exit code 7" in caplog.text
    keeper.stop()
    await soon(running, within=5)
    assert len(lives.pids) <= 4


@pytest.mark.parametrize(
    ("says", "dies", "code"),
    [
        ("7\\n\\n", "os.kill(os.getpid(), signal.SIGTERM)", FINISHED),
        ("7\\n", "os.kill(os.getpid(), signal.SIGTERM)", GAVE_BACK),
        ("7\\n", "os._exit(4)", FINISHED),
        ("7\\n", "os._exit(3)", GAVE_BACK),
    ],
    ids=["signalled when all was done", "signalled", "replaced as it grew", "gave back"],
)
async def test_a_process_that_is_stopped_while_it_leaves_has_finished(
    app: Penstock, tmp_path: Path, says: str, dies: str, code: int
) -> None:
    ends = f"signal.signal(signal.SIGTERM, signal.SIG_DFL); {dies}"
    lives = Lives(
        tmp_path,
        f"import signal; os.write(int(sys.argv[-1]), b'{says}'); "
        f"signal.signal(signal.SIGTERM, lambda *_: exec({ends!r})); {NOTE}; time.sleep(60)",
    )
    keeper = Supervisor(lives.command, app.engine, queues={"default": 1}, least=1, most=1)
    running = asyncio.create_task(keeper.run())

    async def begun() -> bool:
        return bool(lives.pids)

    await until(begun)
    keeper.stop()
    assert await soon(running) == code


async def test_processes_follow_the_load_up_and_down(
    app: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(supervisor, "CALM", 0.3)
    lives = Lives(tmp_path, f"{NOTE}; time.sleep(60)")
    keeper = Supervisor(lives.command, app.engine, queues={"default": 2}, least=1, most=3)
    running = asyncio.create_task(keeper.run())

    async def number_is(wanted: int) -> bool:
        return len(keeper.pids) == wanted and len([pid for pid in lives.pids if alive(pid)]) == wanted

    try:
        await until(lambda: number_is(1))
        # as many as have slots for what is there, and no more than allowed
        jobs = [*await app.engine.aenqueue([NewJob(kind="work") for _ in range(4)])]
        await until(lambda: number_is(2))
        jobs += await app.engine.aenqueue([NewJob(kind="work") for _ in range(20)])
        await until(lambda: number_is(3))
        loop = asyncio.get_running_loop()
        calm_since = loop.time()
        await app.engine.arun(Cancel([job.id for job in jobs]))
        await until(lambda: number_is(1))
        assert loop.time() - calm_since > 0.3
    finally:
        keeper.stop()
        await soon(running)
    assert not [pid for pid in lives.pids if alive(pid)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

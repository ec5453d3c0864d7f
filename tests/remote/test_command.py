"""`penstock worker --api` as a shell would run it: a process without a database."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock import JobState
from tests.kit.serving import KEY
from tests.kit.until import soon, until
from tests.remote.enqueueing import enqueue
from tests.remote.serving import Api

MODULE = """
import asyncio
import os
from pathlib import Path

from penstock import Context, Penstock, SyncContext

app = Penstock()
here = Path(__file__).parent


@app.job
async def where() -> int:
    return os.getpid()


@app.job(isolate=True)
def apart(ctx: SyncContext) -> int:
    ctx.progress(50, "half-way")
    ctx.artifacts.put("apart.txt", b"from a process of its own")
    ctx.enqueue(where.prepare())
    return ctx.step("pid", os.getpid)


@app.job(isolate=True)
async def apart_async(ctx: Context) -> int:
    return await ctx.step("pid", os.getpid)


@app.job
async def wait(name: str) -> int:
    with (here / f"{name}.started").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    while not (here / name).exists():
        await asyncio.sleep(0.01)
    return os.getpid()
"""


class Command:
    def __init__(self, folder: Path, process: asyncio.subprocess.Process) -> None:
        self._folder = folder
        self.process = process

    @property
    def said(self) -> str:
        return (self._folder / "log").read_text()

    async def ended(self) -> int:
        return await soon(self.process.wait(), within=30)


class Shell:
    """A folder with an application in it."""

    def __init__(self, folder: Path, api: Api) -> None:
        self.folder = folder
        self._api = api
        self._started: list[asyncio.subprocess.Process] = []
        (folder / "tasks.py").write_text(MODULE)

    async def worker(self, *options: str, key: str = KEY) -> Command:
        unwanted = ("DATABASE_URL", "PENSTOCK")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        with (self.folder / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "penstock.cli", "worker", "tasks:app", "--api", self._api.address, *options,
                cwd=self.folder, env=environment | {"PENSTOCK_SERVICE_KEY": key, "COLUMNS": "200"},
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        return Command(self.folder, process)

    def started(self, name: str) -> list[int]:
        with suppress(FileNotFoundError):
            return [int(line) for line in (self.folder / f"{name}.started").read_text().splitlines()]
        return []

    async def until_started(self, name: str, times: int = 1) -> None:
        await until(lambda: len(self.started(name)) >= times, within=40)

    async def close(self) -> None:
        for process in self._started:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


@pytest.fixture
async def shell(tmp_path: Path, api: Api) -> AsyncIterator[Shell]:
    shell = Shell(tmp_path, api)
    yield shell
    await shell.close()


async def test_a_worker_without_a_database_runs_jobs_of_every_kind(shell: Shell, api: Api) -> None:
    command = await shell.worker("--queues", "default:10", "--log-level", "debug")
    pids = [await (await enqueue(api, kind)).aresult(40) for kind in ("where", "apart", "apart_async")]
    assert pids[0] == command.process.pid
    assert command.process.pid not in pids[1:]

    async def second_one_ran() -> bool:
        jobs = (await api.app.jobs.alist(kind="where", state="succeeded")).jobs
        return len(jobs) == 2

    await until(second_one_ran)
    command.process.send_signal(signal.SIGTERM)
    assert await command.ended() == 0
    assert not (shell.folder / ".penstock").exists()
    assert KEY not in command.said


async def test_the_jobs_of_a_killed_worker_come_back(shell: Shell, api: Api) -> None:
    first = await shell.worker("--lease", "1.5")
    job = await enqueue(api, "wait", name="a")
    await shell.until_started("a")
    first.process.kill()
    await first.ended()
    second = await shell.worker("--lease", "1.5")
    # when the lease is over; the server sees to that, for there is no other worker
    await shell.until_started("a", 2)
    (shell.folder / "a").touch()
    assert await job.aresult(30) == second.process.pid
    record = await job.arefresh()
    assert (record.attempt, len(record.errors)) == (2, 1)


async def test_a_supervisor_gives_back_the_jobs_of_a_dead_process_at_once(shell: Shell, api: Api) -> None:
    command = await shell.worker("--processes", "2", "--queues", "default:1", "--lease", "600")
    jobs = [await enqueue(api, "wait", name="a") for _ in range(2)]
    await shell.until_started("a", 2)
    first, second = shell.started("a")
    os.kill(first, signal.SIGKILL)
    await shell.until_started("a", 3)
    (shell.folder / "a").touch()
    assert {await job.aresult(30) for job in jobs} == {second, shell.started("a")[-1]}
    command.process.send_signal(signal.SIGTERM)
    assert await command.ended() == 0


async def test_what_is_not_finished_in_time_goes_back(shell: Shell, api: Api) -> None:
    command = await shell.worker("--grace", "0.2")
    job = await enqueue(api, "wait", name="a")
    await shell.until_started("a")
    command.process.send_signal(signal.SIGTERM)
    assert await command.ended() == 3
    record = await job.arefresh()
    assert (record.state, record.attempt) == (JobState.READY, 0)


@pytest.mark.parametrize("processes", ["1", "2"])
async def test_a_wrong_key_is_said_and_ends_it(shell: Shell, processes: str) -> None:
    command = await shell.worker("--processes", processes, key="a key of somebody else")
    assert await command.ended() == 1
    assert "does not take this service key" in command.said
    assert "somebody else" not in command.said
    assert "Traceback" not in command.said


async def test_an_api_that_is_not_there_is_said_and_ends_it(shell: Shell, api: Api) -> None:
    await api.stop()
    command = await shell.worker()
    assert await command.ended() == 1
    assert "gave no answer" in command.said

"""`penstock worker` as a shell would run it: real processes, each ended by its id when the test is over."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import JobHandle, NewJob, Penstock
from tests.kit.fixtures import Connect
from tests.kit.until import wait_until

MODULE = '''
import asyncio
import os
import time
from pathlib import Path

from penstock import Context, Penstock, SyncContext

app = Penstock()
here = Path(__file__).parent


def note(started: Path) -> None:
    with started.open("a") as file:
        file.write(f"{os.getpid()}\\n")


@app.job
async def quick() -> int:
    return os.getpid()


@app.job(max_attempts=3)
async def wait(name: str) -> int:
    """Until the file of this name is there."""
    note(here / f"{name}.started")
    while not (here / name).exists():
        await asyncio.sleep(0.01)
    return os.getpid()


@app.job(kind="stuck", max_attempts=3)
def stuck(ctx: SyncContext) -> None:
    """In a thread, and deaf."""
    note(here / "stuck.started")
    while True:
        time.sleep(0.05)


@app.job(max_attempts=3)
async def stuck_inside() -> None:
    """In a thread of the handler's own, and deaf."""
    note(here / "stuck_inside.started")
    await asyncio.to_thread(stuck.function, None)
'''


class Process:
    """A `penstock` command under way. What it writes goes to files."""

    def __init__(self, folder: Path, url: str, *arguments: object) -> None:
        self.folder = folder
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK")}
        with (folder / "out").open("ab") as out, (folder / "err").open("ab") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli", *map(str, arguments)],
                cwd=folder,
                env=environment | {"DATABASE_URL": url, "COLUMNS": "200"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def send_to_group(self, number: signal.Signals) -> None:
        """As a terminal does."""
        os.killpg(self.pid, number)

    def wait(self, within: float = 30.0) -> int:
        return self.process.wait(within)

    @property
    def complaint(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it logged."""
        return [json.loads(line) for line in self.complaint.splitlines()]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Commands:
    """A folder with an application in it, where commands run."""

    def __init__(self, folder: Path, url: str, watch: psycopg.Connection[Any], ending: ExitStack) -> None:
        self.folder = folder
        self.url = url
        self.watch = watch
        self._ending = ending
        (folder / "tasks.py").write_text(MODULE)
        self.app = ending.enter_context(Penstock(url))

    def start(self, *arguments: object, url: str | None = None) -> Process:
        process = Process(self.folder, url or self.url, *arguments)
        self._ending.callback(process.kill)
        return process

    def start_worker(self, *options: object, processes: int = 1) -> Process:
        """Returns when it has its lease, or when each of its processes has."""
        before = set(self.leases)
        process = self.start("worker", "tasks:app", *options)
        wait_until(lambda: len(set(self.leases) - before) >= processes or process.process.poll() is not None)
        assert process.process.poll() is None, process.complaint
        return process

    @property
    def leases(self) -> dict[int, int]:
        """The workers there are: the lease of each, and its process."""
        return dict(self.watch.execute("select id, pid from penstock.leases").fetchall())

    def enqueue(self, kind: str, name: str | None = None) -> JobHandle[Any]:
        args = json.dumps({"name": name} if name else {}).encode()
        [job] = self.app.engine.enqueue([NewJob(kind=kind, args=args, max_attempts=3)])
        return self.app.handle(job.id)

    def enqueue_and_start(self, kind: str, name: str | None = None) -> JobHandle[Any]:
        """Returns when its handler is at work."""
        before = len(self.started(name or kind))
        job = self.enqueue(kind, name)
        wait_until(lambda: len(self.started(name or kind)) > before)
        return job

    def started(self, name: str) -> list[int]:
        """The processes that began to work on jobs of this name, one for each time."""
        with suppress(FileNotFoundError):
            return [int(line) for line in (self.folder / f"{name}.started").read_text().splitlines()]
        return []

    def go(self, name: str) -> None:
        """Lets the jobs of this name finish."""
        (self.folder / name).touch()


def runs(pid: int) -> bool:
    """Whether this is a `penstock` command that has not ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return b"penstock.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextmanager
def commands_in(folder: Path, url: str, connect: Connect) -> Iterator[Commands]:
    with ExitStack() as ending:
        commands = Commands(folder, url, connect(), ending)
        try:
            yield commands
        finally:
            # supervised processes end with the one that started them: see to it all the same
            for pid in commands.leases.values():
                if runs(pid):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def commands(tmp_path: Path, url: str, connect: Connect) -> Iterator[Commands]:
    with commands_in(tmp_path, url, connect) as commands:
        yield commands

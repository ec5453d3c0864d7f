"""A process with limits and nothing of ours, of which nothing is left in the end."""

import asyncio
import atexit
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import IO

from penstock.sandbox.launcher import STRANGERS

_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_TO_END = 10.0
"""Seconds that a killed process is waited for: the kernel may hold one that is at a disk which does not answer."""
_LATE = 5
"""Seconds after which it ends itself, if nobody has ended it in time."""
_running: set["_Child"] = set()


@dataclass(frozen=True, slots=True)
class Limits:
    """`cpu` is in seconds of a processor, `wall` in seconds on the clock, for the machine may be busy; `memory`,
    `file_size` (of each file) and `output` are in bytes. `processes` are all that its account has, so it is for one
    that has an account of its own. None is no limit.

    ```python
    from penstock.sandbox import Limits

    limits = Limits(wall=20, cpu=5, memory=512 * 1024**2, output=10 * 1024**2)
    ```
    """

    wall: float
    cpu: int | None = None
    memory: int | None = None
    file_size: int | None = 0
    processes: int | None = None
    output: int = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class Process:
    """`reader` and `writer` are its standard output and input."""

    pid: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _child: "_Child"

    async def wait(self) -> int:
        """How it ended: its exit code, or the signal that ended it as a negative number."""
        return await asyncio.shield(self._child.ended)


@asynccontextmanager
async def started(
    command: Sequence[str],
    limits: Limits,
    *,
    env: Mapping[str, str],
    cwd: str | Path = "/",
    account: int | None = None,
    wired: bool = False,
    nice: int = 0,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    max_line: int = 64 * 1024,
    known_by: str | None = None,
) -> AsyncIterator[Process]:
    """Runs a program (an absolute path, and its arguments) while the block runs.

    It inherits no environment but `env` and no descriptor but the three that every process has. `account` is another
    user's number, which root may give it. `wired`: it has its input at 3 and its output at 4, and none at 0 and 1.
    However the block ends, the process and its whole group are killed and reaped. A program that starts others which
    leave its group has something in all their command lines, such as a folder of its own: these are `known_by` it.

        async with started(["/bin/cat"], Limits(wall=5), env={}) as process:
            process.writer.write(b"hello")
            process.writer.write_eof()
            assert await process.reader.read() == b"hello"
    """
    order = _order(limits, account=account, wired=wired, nice=nice)
    # -I -S: neither our settings nor our libraries are of use to it, and finding them takes time
    interpreter = [sys.executable, "-I", "-S", "-B", _LAUNCHER, json.dumps(order)]
    async with _launched([*interpreter, *command], env, cwd, stderr, max_line, known_by) as process:
        yield process


@asynccontextmanager
async def launched_call(
    program: Path, function: str, limits: Limits, env: Mapping[str, str], *, locked: bool
) -> AsyncIterator[Process]:
    order = _order(limits) | {"program": str(program), "function": function, "lock": locked}
    # -P: the folder of the program is not where its imports are; -B: it may not write files, compiled ones neither
    command = [sys.executable, "-P", "-B", _LAUNCHER, json.dumps(order)]
    async with _launched(command, env, "/", subprocess.DEVNULL, limits.output) as process:
        yield process


def random_account() -> int:
    """Of nobody: two programs that get one each do not meet."""
    return random.choice(STRANGERS)  # noqa: S311  (not a secret)


def _order(limits: Limits, **more: object) -> dict[str, object]:
    return {
        "parent": os.getpid(),
        "program": None,
        "cpu": limits.cpu,
        "wall": ceil(limits.wall) + _LATE,
        "memory": limits.memory,
        "file_size": limits.file_size,
        "processes": limits.processes,
        "account": None,
        "nice": 0,
        **more,
    }


@asynccontextmanager
async def _launched(
    command: list[str],
    env: Mapping[str, str],
    cwd: str | Path,
    stderr: IO[bytes] | int,
    max_line: int,
    known_by: str | None = None,
) -> AsyncIterator[Process]:
    # Sockets, not pipes. asyncio's own processes have pipes, and wait for these to be read to their end: one that was
    # killed with a full pipe is waited for until the end of days (in Python 3.11.2, among others). Two, for an answer
    # is not lost by what was left unread.
    with ExitStack() as ours:
        with ExitStack() as theirs:
            to_it, its_input = _pair(ours, theirs)
            from_it, its_output = _pair(ours, theirs)
            child = _Child(command, env, cwd, (its_input, its_output), stderr, known_by)
        try:
            reader, other = await asyncio.open_unix_connection(sock=from_it, limit=max_line)
            ours.callback(other.transport.abort)
            _, writer = await asyncio.open_unix_connection(sock=to_it)
            ours.callback(writer.transport.abort)
            yield Process(child.pid, reader, writer, child)
        finally:
            child.kill()
            ours.close()
            await child.gone()


def _pair(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket, socket.socket]:
    one, other = socket.socketpair()
    return ours.enter_context(one), theirs.enter_context(other)


class _Child:
    """Is reaped by a thread, whatever becomes of the event loop; its group is killed when it ends."""

    def __init__(
        self,
        command: list[str],
        env: Mapping[str, str],
        cwd: str | Path,
        both: tuple[socket.socket, socket.socket],
        stderr: IO[bytes] | int,
        known_by: str | None,
    ) -> None:
        self._known_by = known_by
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        self._lock = threading.Lock()
        self._reaped = False
        # a session of its own: Ctrl-C at a terminal is for the worker, which lets what runs finish
        self._popen = subprocess.Popen(  # noqa: S603 (what the worker chose, without a shell)
            command,
            stdin=both[0].fileno(),
            stdout=both[1].fileno(),
            stderr=stderr,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
        self.pid = self._popen.pid
        _running.add(self)
        try:
            threading.Thread(target=self._watch, name=f"sandbox {self.pid}", daemon=True).start()
        except BaseException:
            self.kill()
            self._reap()
            raise

    def kill(self) -> None:
        with self._lock:
            if not self._reaped:
                self._kill_group()

    async def gone(self) -> None:
        """Waits for its end, also when cancelled meanwhile: it is on its way."""
        deadline = time.monotonic() + _TO_END
        cancelled: asyncio.CancelledError | None = None
        while not self.ended.done() and (left := deadline - time.monotonic()) > 0:
            try:
                await asyncio.wait([self.ended], timeout=left)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _watch(self) -> None:
        if sys.platform == "linux":
            # without reaping it: until the group is killed, nobody else may get its number
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            with self._lock:
                self._kill_group()
            deadline = time.monotonic() + _TO_END
            while _are_left(self.pid, self._known_by) and time.monotonic() < deadline:
                # what was killed may go on writing for a moment
                time.sleep(0.005)
        code = self._reap()
        # the loop may be closed by now
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, code)

    def _reap(self) -> int:
        code = self._popen.wait()
        with self._lock:
            self._reaped = True
        _running.discard(self)
        return code

    def _tell(self, code: int) -> None:
        if not self.ended.done():
            self.ended.set_result(code)

    def _kill_group(self) -> None:
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)


def _are_left(group: int, known_by: str | None) -> bool:
    """Whether any but the first process of a group still runs, or one that has left it: such are killed here. What only
    waits to be buried (Z) does not count: that is for the one who adopted it."""
    found = False
    for each in os.listdir("/proc"):  # noqa: PTH208  (there may be thousands)
        if each.isdecimal() and int(each) != group:
            with suppress(OSError), open(f"/proc/{each}/stat", "rb") as file:  # noqa: PTH123
                state, _, its_group, *_ = file.read().rpartition(b")")[2].split()
                if state in b"ZX":
                    continue
                if int(its_group) == group:
                    found = True
                elif known_by is not None and known_by.encode() in Path(f"/proc/{each}/cmdline").read_bytes():
                    found = True
                    os.kill(int(each), signal.SIGKILL)
    return found


@atexit.register
def _kill_all() -> None:
    """Who leaves without finishing takes its programs along, and those that these have started."""
    for child in list(_running):
        child.kill()

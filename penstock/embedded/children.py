"""Postgres programs as children of the keeper: run as the right account, and never outliving it. And what it waits for:
a child's end, a request to stop, or the last user's leaving."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from queue import Empty, SimpleQueue

from penstock.embedded import locks
from penstock.embedded.account import Account
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, last_lines


class NotWanted(Exception):
    """Nobody wants the server any more, or somebody asked it to stop."""


class _Event(Enum):
    CHILD_ENDED = auto()
    STOP_ASKED = auto()
    UNUSED = auto()


class Watch:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._events: SimpleQueue[_Event] = SimpleQueue()
        # The starter's mask is inherited, and it may block what we wait for.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGCHLD, lambda *_: self._events.put(_Event.CHILD_ENDED))
        signal.signal(signal.SIGTERM, lambda *_: self._events.put(_Event.STOP_ASKED))
        signal.signal(signal.SIGINT, lambda *_: self._events.put(_Event.STOP_ASKED))

    def pause(self, seconds: float) -> None:
        """Wait for a moment, or until a child ends; raise NotWanted when there is no reason to go on.

        Asks for the users' lock instead of waiting for it in a thread: children are still to be forked.
        """
        event = self._next(seconds)
        if event is _Event.STOP_ASKED or locks.take(self._layout.users_lock) is not None:
            raise NotWanted

    def finish(self, child: subprocess.Popen[bytes]) -> int:
        """Wait for a short-lived child and return its exit code."""
        while (code := child.poll()) is None:
            self.pause(0.02)
        return code

    def serve(self, server: subprocess.Popen[bytes], chore: Callable[[], None], every: float = 60) -> None:
        """Wait until the server ends or is not wanted, doing a small chore now and then."""
        threading.Thread(target=self._wait_for_the_last_user, daemon=True).start()
        while server.poll() is None:
            match self._next(every):
                case _Event.STOP_ASKED | _Event.UNUSED:
                    raise NotWanted
                case _Event.CHILD_ENDED | None:
                    chore()

    def ended(self, child: subprocess.Popen[bytes], within: float) -> bool:
        """Wait for a child that was told to end."""
        deadline = time.monotonic() + within
        while child.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._next(left)
        return True

    def _next(self, seconds: float) -> _Event | None:
        try:
            return self._events.get(timeout=seconds)
        except Empty:
            return None

    def _wait_for_the_last_user(self) -> None:
        lock = locks.wait_alone(self._layout.users_lock)
        if self._layout.stay.exists():
            locks.release(lock)
            return
        # The lock is kept to the end of the process: whoever comes now waits until the server is down.
        self._events.put(_Event.UNUSED)


PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Place:
    """A folder as a child knows it: by its path, or by a handle that the child inherits."""

    path: str
    handles: tuple[int, ...] = ()


@dataclass(frozen=True)
class Children:
    layout: Layout
    binaries: Path
    account: Account
    watch: Watch
    server_lock: int
    log: int

    def start(
        self, program: str, *arguments: str, place: Place, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        """Start a program that uses a place. It logs to postgres.log and holds `server.lock` to its end."""
        try:
            return subprocess.Popen(  # noqa: S603 (programs we chose)
                [self.binaries / program, *arguments],
                cwd="/",
                env=_environment(),
                stdin=stdin,
                stdout=self.log,
                stderr=self.log,
                pass_fds=(self.server_lock, *place.handles),
                user=self.account.uid,
                group=self.account.gid,
                extra_groups=self.account.groups,
                umask=0o077,
                preexec_fn=_end_with(os.getpid()),
            )
        except (OSError, subprocess.SubprocessError) as problem:
            raise EmbeddedError(
                f"cannot run {self.binaries / program} as {self.account.name}: {problem}; "
                "run as an ordinary user, set PENSTOCK_PG_BIN to the bin folder of another Postgres, "
                "or set DATABASE_URL to a server you have"
            ) from problem

    def run(self, program: str, *arguments: str, place: Place, stdin: str = "") -> None:
        """Run a program to its end, or raise with what it logged."""
        logged = self.layout.log.stat().st_size
        child = self.start(program, *arguments, place=place, stdin=subprocess.PIPE)
        try:
            assert child.stdin is not None
            child.stdin.write(stdin.encode())
            child.stdin.close()
            code = self.watch.finish(child)
        except BaseException:
            self.end(child, signal.SIGTERM)
            raise
        if code:
            raise EmbeddedError(f"{program} failed (exit code {code}); {last_lines(self.layout.log, logged)}")

    def end(self, child: subprocess.Popen[bytes], politely: signal.Signals) -> None:
        """Ask a child to end, and insist after a while."""
        for how, timeout in ((politely, 30), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
            child.send_signal(how)
            if self.watch.ended(child, within=timeout):
                return

    @contextmanager
    def within(self, folder: Path) -> Iterator[Place]:
        """A name by which the account can use this folder of its own.

        Under a closed parent, such as /root, it cannot follow the path, but a process may always use what it
        was given open. So the data stays where the user wants it, and no other folder is opened up for it.
        """
        if self.account.can_reach(folder):
            yield Place(str(folder))
            return
        if not Path("/proc/self/fd").exists():
            raise EmbeddedError(
                f"as root, Postgres runs as the user {self.account.name!r}, who cannot reach {folder}; "
                "name a folder whose parents every user may pass through, or run as an ordinary user"
            )
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield Place(f"/proc/self/fd/{handle}", (handle,))
        finally:
            os.close(handle)


def _environment() -> dict[str, str]:
    """Ours without PGDATA, PGPORT and the like, which would change what the programs do."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return inherited | {"LC_ALL": "C"}


def _end_with(keeper: int) -> Callable[[], None] | None:
    """Have the kernel shut the child down when the keeper dies, however it dies. Only Linux can.

    Runs in the child after the change of user, which would cancel it.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGINT)
        if os.getppid() != keeper:
            os._exit(1)

    return arrange

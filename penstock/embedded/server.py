"""Start, join, leave and stop the server that the processes of one folder share."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType

from penstock.embedded import locks, run_keeper
from penstock.embedded.binaries import find_binaries, shipped_binaries
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, last_lines, open_log
from penstock.embedded.running import READY, Request, RunningServer

START_SECONDS = 120.0


def launch_keeper(layout: Layout, request: Request, keeper_lock: int) -> None:
    """Start a keeper, hand it its lock, and return when its server is ready.

    Whatever interrupts us, nothing is left to undo: the keeper ends when no user holds the users' lock.
    """
    log = report_end = message_end = -1
    try:
        binaries = find_binaries()
        layout.running.unlink(missing_ok=True)
        log = open_log(layout.log)
        logged = os.fstat(log).st_size
        report_end, message_end = os.pipe()
        shipped = "shipped" if binaries in shipped_binaries() else "chosen"
        # Returns at once: the keeper forks and its parent ends.
        subprocess.run(  # noqa: S603 (ourselves)
            [
                *(sys.executable, "-P", run_keeper.__file__),
                *(layout.folder, binaries, shipped, request.to_json(), str(message_end), str(keeper_lock)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(message_end, keeper_lock),
            start_new_session=True,
        )
        os.close(message_end)
        message_end = -1
        message = _read_message(report_end)
    finally:
        for handle in (log, report_end, message_end, keeper_lock):
            if handle >= 0:
                os.close(handle)
    if message is None:
        raise EmbeddedError(f"no server after {START_SECONDS:.0f} s; {last_lines(layout.log, logged)}")
    if not message:
        raise EmbeddedError(f"the keeper ended before its server was ready; {last_lines(layout.log, logged)}")
    if message != READY:
        raise EmbeddedError(message)


def _read_message(pipe: int) -> str | None:
    """All that is written to the pipe until its other end closes, or None if that takes too long."""
    waiting = select.poll()
    waiting.register(pipe)
    message = b""
    while waiting.poll(START_SECONDS * 1000):
        part = os.read(pipe, 65536)
        if not part:
            return message.decode()
        message += part
    return None


NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
A_MOMENT = 0.005


class EmbeddedPostgres:
    """A hold on a running server. The server stops when the last hold is let go, or its process has died.

    Forgetting it does not let go: only `close` or the end of the process does. A forked child shares its
    parent's hold, so the server stays until both have let go of it.
    """

    def __init__(self, layout: Layout, running: RunningServer, hold: int) -> None:
        password = layout.read_password()
        self.folder: Path = layout.folder
        self.url: str = running.url(password)
        self.tcp_url: str | None = running.tcp_url(password)
        self._layout = layout
        self._hold: int | None = hold

    def close(self) -> None:
        """Let go. The last one out waits until the server is down, so that its folder may be removed."""
        hold, self._hold = self._hold, None
        if hold is None:
            return
        # Not unlocked, only closed: a forked child may still need the server.
        os.close(hold)
        if self._layout.stay.exists():
            return
        deadline = time.monotonic() + START_SECONDS
        while not locks.is_free(self._layout.keeper_lock) and not locks.is_shared(self._layout.users_lock):
            if time.monotonic() > deadline:
                return
            time.sleep(A_MOMENT)

    def __enter__(self) -> "EmbeddedPostgres":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<EmbeddedPostgres in {self.folder}{'' if self._hold is not None else ', closed'}>"


def start(
    folder: str | Path = ".penstock",
    *,
    tcp: bool = False,
    port: int = 0,
    stay: bool = False,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> EmbeddedPostgres:
    """Start the server of this folder, or join it if it is running.

    `tcp` lets it listen on 127.0.0.1 too, on `port` or any free one. `stay` keeps it running after its users
    have left, until `stop`. `settings` are Postgres settings, such as {"log_statement": "all"}.
    """
    request = Request(tcp, port, dict(settings))
    layout = Layout.at(folder)
    layout.create()
    with _telling_whose_it_is(layout), locks.alone(layout.start_lock):
        # Waits while a keeper shuts down: it holds the users' lock alone until it has gone.
        hold = locks.wait_shared(layout.users_lock)
        try:
            running = _join_or_launch(layout, request)
            running.refuse_unless_it_fits(request, layout)
            if stay:
                layout.stay.touch(mode=0o600)
            return EmbeddedPostgres(layout, running, hold)
        except BaseException:
            os.close(hold)
            raise


def _join_or_launch(layout: Layout, request: Request) -> RunningServer:
    """Called by one process at a time, which counts as a user already."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        if (keeper_lock := locks.take(layout.keeper_lock)) is not None:
            launch_keeper(layout, request, keeper_lock)
        elif locks.is_free(layout.keeper_lock):
            continue  # somebody was only looking at it
        running = RunningServer.read(layout)
        if running and running.answers():
            return running
        # A keeper that was just told to stop, or whose starter was killed: it will end or be ready soon.
        if time.monotonic() > deadline:
            raise EmbeddedError(f"the server in {layout.folder} neither starts nor ends; see {layout.log}")
        time.sleep(A_MOMENT)


def stop(folder: str | Path = ".penstock") -> bool:
    """Stop the server of this folder, whoever uses it. False if none was running."""
    layout = Layout.at(folder)
    if not layout.keeper_lock.exists():
        return False
    asked = False
    deadline = time.monotonic() + START_SECONDS
    with _telling_whose_it_is(layout), locks.alone(layout.start_lock):
        while not locks.is_free(layout.keeper_lock):
            running = RunningServer.read(layout)
            if running and not asked:
                with suppress(ProcessLookupError):
                    os.kill(running.keeper, signal.SIGTERM)
                asked = True
            if time.monotonic() > deadline:
                raise EmbeddedError(f"the server in {layout.folder} does not stop; see {layout.log}")
            time.sleep(A_MOMENT)
    return asked


def running_url(folder: str | Path = ".penstock") -> str | None:
    """The URL of the server of this folder if it is running, without holding on to it."""
    layout = Layout.at(folder)
    with _telling_whose_it_is(layout):
        if locks.is_free(layout.keeper_lock):
            return None
        running = RunningServer.read(layout)
        return running.url(layout.read_password()) if running and running.answers() else None


@contextmanager
def _telling_whose_it_is(layout: Layout) -> Iterator[None]:
    try:
        yield
    except PermissionError as problem:
        raise EmbeddedError(
            f"{problem.strerror}: {problem.filename or layout.folder}; "
            f"run as the user who owns {layout.folder}, or name another folder"
        ) from problem

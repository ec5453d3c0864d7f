"""Start, join, leave and stop the server that the processes of one folder share."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType

from penstock.embedded import locks
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Home
from penstock.embedded.launch import START_SECONDS, launch_keeper
from penstock.embedded.running import Request, RunningServer

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
A_MOMENT = 0.005


class EmbeddedPostgres:
    """A hold on a running server. The server stops when the last hold is let go, or its process has died.

    Forgetting it does not let go: only `close` or the end of the process does. A forked child shares its
    parent's hold, so the server stays until both have let go of it.
    """

    def __init__(self, home: Home, running: RunningServer, hold: int) -> None:
        password = home.read_password()
        self.folder: Path = home.folder
        self.url: str = running.url(password)
        self.tcp_url: str | None = running.tcp_url(password)
        self._home = home
        self._hold: int | None = hold

    def close(self) -> None:
        """Let go. The last one out waits until the server is down, so that its folder may be removed."""
        hold, self._hold = self._hold, None
        if hold is None:
            return
        # Not unlocked, only closed: a forked child may still need the server.
        os.close(hold)
        if self._home.stay.exists():
            return
        deadline = time.monotonic() + START_SECONDS
        while not locks.is_free(self._home.keeper_lock) and not locks.is_shared(self._home.users_lock):
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
    home = Home.at(folder)
    home.create()
    with _telling_whose_it_is(home), locks.alone(home.start_lock):
        # Waits while a keeper shuts down: it holds the users' lock alone until it has gone.
        hold = locks.wait_shared(home.users_lock)
        try:
            running = _join_or_launch(home, request)
            running.refuse_unless_it_fits(request, home)
            if stay:
                home.stay.touch(mode=0o600)
            return EmbeddedPostgres(home, running, hold)
        except BaseException:
            os.close(hold)
            raise


def _join_or_launch(home: Home, request: Request) -> RunningServer:
    """Called by one process at a time, which counts as a user already."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        if (keeper_lock := locks.take(home.keeper_lock)) is not None:
            launch_keeper(home, request, keeper_lock)
        elif locks.is_free(home.keeper_lock):
            continue  # somebody was only looking at it
        running = RunningServer.read(home)
        if running and running.answers():
            return running
        # A keeper that was just told to stop, or whose starter was killed: it will end or be ready soon.
        if time.monotonic() > deadline:
            raise EmbeddedError(f"the server in {home.folder} neither starts nor ends; see {home.log}")
        time.sleep(A_MOMENT)


def stop(folder: str | Path = ".penstock") -> bool:
    """Stop the server of this folder, whoever uses it. False if none was running."""
    home = Home.at(folder)
    if not home.keeper_lock.exists():
        return False
    asked = False
    deadline = time.monotonic() + START_SECONDS
    with _telling_whose_it_is(home), locks.alone(home.start_lock):
        while not locks.is_free(home.keeper_lock):
            running = RunningServer.read(home)
            if running and not asked:
                with suppress(ProcessLookupError):
                    os.kill(running.keeper, signal.SIGTERM)
                asked = True
            if time.monotonic() > deadline:
                raise EmbeddedError(f"the server in {home.folder} does not stop; see {home.log}")
            time.sleep(A_MOMENT)
    return asked


def running_url(folder: str | Path = ".penstock") -> str | None:
    """The URL of the server of this folder if it is running, without holding on to it."""
    home = Home.at(folder)
    with _telling_whose_it_is(home):
        if locks.is_free(home.keeper_lock):
            return None
        running = RunningServer.read(home)
        return running.url(home.read_password()) if running and running.answers() else None


@contextmanager
def _telling_whose_it_is(home: Home) -> Iterator[None]:
    try:
        yield
    except PermissionError as problem:
        raise EmbeddedError(
            f"{problem.strerror}: {problem.filename or home.folder}; "
            f"run as the user who owns {home.folder}, or name another folder"
        ) from problem

"""The Postgres that is killed and whose disk is filled. It comes back at the same socket, with its data."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import psycopg

from penstock import embedded
from penstock.embedded.folder import Layout
from penstock.embedded.postmaster import read_pid_file
from tests.embedded.users import processes_in

TIMEOUT = 30.0
DISK = 512 * 1024 * 1024
"""Bytes, to be filled in no time. Of 256 MB four minutes of jobs and the ledgers took all."""
SETTINGS = {"max_wal_size": "48MB", "min_wal_size": "32MB", "max_connections": "100"}


class Disk:
    """A small file system of its own, that can be filled up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """To the last page, also while the server gives some back and takes others."""
        with self._ballast.open("ab") as ballast:
            for size in (16 << 20, 1 << 20, 64 << 10, 4 << 10):
                with suppress(OSError):
                    while True:
                        os.posix_fallocate(ballast.fileno(), ballast.seek(0, os.SEEK_END), size)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


class Reached(Protocol):
    """What a storm asks of its server, be it one or several."""

    @property
    def url(self) -> str: ...
    @property
    def disk(self) -> Disk | None: ...
    def connect(self) -> psycopg.Connection[Any]: ...


class Server:
    def __init__(self, folder: Path, disk: Disk | None) -> None:
        self.disk = disk
        self._folder = folder
        self._hold: embedded.EmbeddedPostgres | None = None

    @property
    def url(self) -> str:
        assert self._hold is not None
        return self._hold.url

    def start(self) -> None:
        """Starts it, or makes sure that it runs."""
        earlier, self._hold = self._hold, embedded.start(self._folder, settings=SETTINGS)
        if earlier is not None:
            earlier.close()

    def kill(self) -> None:
        """All its processes at once: a backend that outlived the postmaster would end in good order."""
        data = Layout.at(self._folder).data
        while processes := self._processes(data):
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def _processes(self, data: Path) -> list[int]:
        """The postmaster first, for it replaces those it misses. Never processes of another folder."""
        [postmaster, *_] = read_pid_file(data) or [""]
        return sorted(processes_in(data), key=lambda process: str(process) != postmaster)

    def close(self) -> None:
        if self._hold is not None:
            self._hold.close()
            embedded.stop(self._folder)

    def connect(self) -> psycopg.Connection[Any]:
        """Past the proxy, and however long the server takes to be back."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return psycopg.connect(self.url, autocommit=True, connect_timeout=5)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


@contextmanager
def run_server(say: Callable[[str], None], *, small_disk: bool) -> Iterator[Server]:
    """A server in a folder of its own; nothing of it is left in the end."""
    parent = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    try:
        # as root the server is another user's, who has to pass through
        parent.chmod(0o755)
        with mounted(parent / "disk", say) if small_disk else no_disk(parent / "disk") as disk:
            server = Server(parent / "disk" / "pg", disk)
            try:
                server.start()
                yield server
            finally:
                server.close()
    finally:
        shutil.rmtree(parent)


@contextmanager
def no_disk(folder: Path) -> Iterator[None]:
    folder.mkdir(0o755)
    yield None


@contextmanager
def mounted(folder: Path, say: Callable[[str], None]) -> Iterator[Disk | None]:
    """A tmpfs, or None and the reason said when it cannot be had."""
    folder.mkdir(0o755)
    if os.geteuid() != 0:
        say("not root, so no small disk can be mounted: the full disk is left out")
        yield None
        return
    options = ["-t", "tmpfs", "-o", f"size={DISK},mode=755,nosuid,nodev", "tmpfs", str(folder)]
    tried = subprocess.run(["mount", *options], capture_output=True, text=True)
    if tried.returncode:
        say(f"the full disk is left out: {tried.stderr.strip()}")
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        unmount(folder)


def unmount(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while subprocess.run(["umount", folder], capture_output=True).returncode:
        if time.monotonic() > deadline:
            # out of sight at once, and gone with its last user
            subprocess.run(["umount", "--lazy", folder], check=True)
            return
        time.sleep(0.1)

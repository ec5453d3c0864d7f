"""What an earlier server left behind in the same folder: processes that are still going, files that lie."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.embedded import locks
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Home
from penstock.embedded.watch import Watch

PATIENCE = 60.0


@contextmanager
def after_an_earlier_server(home: Home, watch: Watch) -> Iterator[int]:
    """Hold `server.lock` from when the last process of an earlier server has gone."""
    waited = 0.0
    while (lock := locks.take(home.server_lock)) is None:
        if waited == 0 and (earlier := _living_postmaster(home.data)):
            # Where the kernel does not tell a child of its parent's death, we do.
            os.kill(earlier, signal.SIGINT)
        if waited > PATIENCE:
            raise EmbeddedError(
                f"an earlier server in {home.folder} has not ended after {PATIENCE:.0f} s; "
                f"end the postgres processes that hold {home.server_lock} and try again"
            )
        watch.pause(0.01)
        waited += 0.01
    try:
        yield lock
    finally:
        # Not unlocked, only closed: processes that we failed to end go on holding it.
        os.close(lock)


def clear_traces(home: Home, socket_folder: Path) -> None:
    """Remove the pid files of a server that was killed.

    Postgres believes such a file when some other process has got that number meanwhile, as happens after each
    restart of a container. We know better: `server.lock` is free.
    """
    if not Path("/proc/self").exists():
        return
    if foreign := _living_postmaster(home.data):
        raise EmbeddedError(
            f"a Postgres that penstock did not start (process {foreign}) uses {home.data}; "
            "stop it first, or name another folder"
        )
    (home.data / "postmaster.pid").unlink(missing_ok=True)
    for trace in socket_folder.glob(".s.PGSQL.*"):
        trace.unlink()


def _living_postmaster(data: Path) -> int | None:
    """The process that postmaster.pid names, if it lives and (where we can tell) works in this folder."""
    lines = read_pid_file(data)
    if not lines or not lines[0].isdigit():
        return None
    pid = int(lines[0])
    try:
        if Path("/proc/self").exists():
            return pid if Path(f"/proc/{pid}/cwd").samefile(data) else None
        os.kill(pid, 0)
    except OSError:
        return None
    return pid


def read_pid_file(data: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return (data / "postmaster.pid").read_text().splitlines()
    return []

"""The server process itself: its settings, its port, when it is ready, and what an earlier one left in its folder."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.embedded import locks
from penstock.embedded.children import Children, Watch
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.folder import Layout, last_lines
from penstock.embedded.running import Request

STOP_TIMEOUT = 60.0


@contextmanager
def after_an_earlier_server(layout: Layout, watch: Watch) -> Iterator[int]:
    """Hold `server.lock` from when the last process of an earlier server has gone."""
    waited = 0.0
    while (lock := locks.take(layout.server_lock)) is None:
        if waited == 0 and (earlier := _living_postmaster(layout.data)):
            # Where the kernel does not tell a child of its parent's death, we do.
            os.kill(earlier, signal.SIGINT)
        if waited > STOP_TIMEOUT:
            raise EmbeddedError(
                f"an earlier server in {layout.folder} has not ended after {STOP_TIMEOUT:.0f} s; "
                f"end the postgres processes that hold {layout.server_lock} and try again"
            )
        watch.pause(0.01)
        waited += 0.01
    try:
        yield lock
    finally:
        # Not unlocked, only closed: processes that we failed to end go on holding it.
        os.close(lock)


def clear_traces(layout: Layout, socket_folder: Path) -> None:
    """Remove the pid files of a server that was killed.

    Postgres believes such a file when some other process has got that number meanwhile, as happens after each
    restart of a container. We know better: `server.lock` is free.
    """
    if not Path("/proc/self").exists():
        return
    if foreign := _living_postmaster(layout.data):
        raise EmbeddedError(
            f"a Postgres that penstock did not start (process {foreign}) uses {layout.data}; "
            "stop it first, or name another folder"
        )
    (layout.data / "postmaster.pid").unlink(missing_ok=True)
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


SOCKET_PORT = 5432  # only a part of the socket's name
DEFAULTS = {"max_connections": "200", "shared_buffers": "128MB"}
TRIES = 5


def start_postmaster(children: Children, request: Request, socket_folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server and wait until it accepts connections; return it with its port."""
    any_port = request.tcp and not request.port
    for tries_left in reversed(range(TRIES)):
        port = _free_port() if any_port else request.port or SOCKET_PORT
        try:
            return _start_on(port, children, request, socket_folder), port
        except EmbeddedError:
            # Somebody may take a free port between our look and the server's start.
            if not (any_port and tries_left) or _is_free(port):
                raise
    raise AssertionError("the last try returns or raises")


def _start_on(port: int, children: Children, request: Request, socket_folder: Path) -> subprocess.Popen[bytes]:
    layout = children.layout
    logged = layout.log.stat().st_size
    # Seen from the data, where the server stands, this name is short and needs no quoting.
    socket_path = f"../{layout.run.name}" if socket_folder == layout.run else f'"{socket_folder}"'
    settings = DEFAULTS | dict(request.settings)
    settings |= {
        "listen_addresses": "127.0.0.1" if request.tcp else "",
        "port": str(port),
        "unix_socket_directories": socket_path,
        "unix_socket_permissions": "0700",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with children.within(layout.data) as data:
        server = children.start("postgres", "-D", data.path, *options, place=data)
    try:
        while not _is_ready(layout.data, server.pid):
            if server.poll() is not None:
                raise EmbeddedError(f"Postgres did not start; {last_lines(layout.log, logged)}")
            children.watch.pause(0.005)
    except BaseException:
        stop_postmaster(server, children)
        raise
    return server


def stop_postmaster(server: subprocess.Popen[bytes], children: Children) -> None:
    """Shut down fast: end every session, write everything, go."""
    children.end(server, signal.SIGINT)


def _is_ready(data: Path, pid: int) -> bool:
    """Postgres writes its state in the eighth line of postmaster.pid, which may be an earlier server's."""
    lines = read_pid_file(data)
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

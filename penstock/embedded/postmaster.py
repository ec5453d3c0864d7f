"""The server process itself: its settings, its port, and when it is ready."""

import signal
import socket
import subprocess
from pathlib import Path

from penstock.embedded.children import Children
from penstock.embedded.earlier_server import read_pid_file
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.running import Request
from penstock.embedded.server_log import last_lines

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
    home = children.home
    logged = home.log.stat().st_size
    # Seen from the data, where the server stands, this name is short and needs no quoting.
    socket_path = f"../{home.run.name}" if socket_folder == home.run else f'"{socket_folder}"'
    settings = DEFAULTS | dict(request.settings)
    settings |= {
        "listen_addresses": "127.0.0.1" if request.tcp else "",
        "port": str(port),
        "unix_socket_directories": socket_path,
        "unix_socket_permissions": "0700",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with children.within(home.data) as data:
        server = children.start("postgres", "-D", data.path, *options, place=data)
    try:
        while not _is_ready(home.data, server.pid):
            if server.poll() is not None:
                raise EmbeddedError(f"Postgres did not start; {last_lines(home.log, logged)}")
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

"""The server as a program: a socket of its own, uvicorn on it, and an end that waits for nobody for long."""

import errno
import gc
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from penstock.errors import PenstockError
from penstock.server.asgi import Server
from penstock.server.http.protocol import protocol_for

log = logging.getLogger("penstock.server")

BACKLOG = 4096
LAST_REQUESTS = 10
"""Seconds that requests under way have when the server is stopped."""

OTHER_FILES = 240
"""Descriptors that are kept for the database, files and programs. With them the default needs 10,240 in all, which is
the most that macOS gives."""


class CannotListen(PenstockError):
    """The address is taken, or not this machine's."""


def open_socket(host: str, port: int) -> socket.socket:
    """Before anything else is started: a port that is taken is the most likely thing to be wrong."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}; {_instead(error)}") from None
    return listening


def _instead(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "choose another --port (0 takes a free one), or stop what uses it"
    if error.errno == errno.EACCES:
        return "choose a --port above 1023"
    return "--host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0"


def address_of(listening: socket.socket) -> str:
    """Where it is reached from this machine: 0.0.0.0 and :: are no addresses, but all that it has."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not to listen there
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def room_for(connections: int) -> int:
    """For how many of them there are descriptors, and asks the system for as many as it takes. Whoever connects often
    enough would otherwise keep the server from its database, and everybody else from the server: 1,024 are usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return connections
    wanted = connections + OTHER_FILES
    if soft < wanted and soft != hard:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    room = max(soft // 2, soft - OTHER_FILES)
    if room < connections:
        log.warning(
            "with %d open files (ulimit -n, LimitNOFILE=) there is room for %d connections at once, and not for %d",
            soft, room, connections,
        )  # fmt: skip
    return min(connections, room)


class HttpServer:
    """Runs until `stop` is called: first gently, then at once."""

    def __init__(self, server: Server, listening: socket.socket) -> None:
        self._server = server
        self._socket = listening
        settings = server.services.settings
        config = uvicorn.Config(
            server.asgi,
            http=protocol_for(settings, room_for(settings.max_connections)),
            timeout_keep_alive=settings.idle_timeout,  # type: ignore[arg-type]
            loop="none",
            lifespan="on",
            log_config=None,
            # its lines would hold the query strings of signed links and of streams
            access_log=False,
            # who is trusted is our own setting
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=LAST_REQUESTS,
            backlog=BACKLOG,
        )
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self._uvicorn = _Uvicorn(config)

    @property
    def address(self) -> str:
        return address_of(self._socket)

    def listen(self) -> None:
        """Whoever connects from here on waits until it runs, and is not refused: its address can be told."""
        self._socket.listen(BACKLOG)

    async def run(self) -> None:
        # what is there by now stays: the collector need not look through it again, 50 ms each time
        gc.collect()
        gc.freeze()
        await self._uvicorn.serve(sockets=[self._socket])

    def stop(self) -> None:
        self._server.leave()
        if self._uvicorn.should_exit:
            self._uvicorn.force_exit = True
            # it would log the traceback of what it leaves behind
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._uvicorn.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

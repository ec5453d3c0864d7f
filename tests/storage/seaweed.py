"""A real S3 server on loopback: SeaweedFS, with one user, in a folder that is thrown away."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from penstock.errors import PenstockError
from penstock.storage import store_at
from tests.kit.until import wait_until

KEY = "penstock-tests"
SECRET = "not-much-of-a-secret"
WITHIN = 60.0


@dataclass(frozen=True)
class Seaweed:
    endpoint: str
    ports: frozenset[int]

    def address(self, prefix: str, bucket: str = "artifacts") -> str:
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1"


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def _end_with_the_tests() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@contextmanager
def seaweed_in(folder: Path) -> Iterator[Seaweed]:
    user = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    (folder / "users.json").write_text(json.dumps({"identities": [user]}))
    process, server = _start(folder)

    def is_there() -> bool:
        nonlocal process, server
        if process.poll() is not None:
            # somebody took a port between our look and its own
            process, server = _start(folder)
        return _is_there(server, process)

    try:
        wait_until(is_there, WITHIN, every=0.1, what=(folder / "log").read_text)
        yield server
    finally:
        # it takes more than five seconds to end by itself
        process.kill()
        process.wait()
        for left in Path("/tmp").glob("seaweedfs-*.sock"):
            if int(left.stem.rpartition("-")[2]) in server.ports:
                with suppress(OSError):  # somebody else's, of another time, whose port was the same
                    left.unlink()


def _start(folder: Path) -> "tuple[subprocess.Popen[bytes], Seaweed]":
    data = folder / uuid4().hex
    data.mkdir()
    names = ["master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"]
    names += ["s3.port", "s3.port.grpc"]
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    options = [f"-{name}={port}" for name, port in ports.items()]
    options += ["-s3", f"-s3.config={folder / 'users.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    options += [f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-volume.max=8", "-master.volumeSizeLimitMB=256"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("weed")), "server", *options, "-master.telemetry=false"],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            # its state goes there, not into the home of whoever runs the tests
            env=os.environ | {"HOME": str(folder)},
            preexec_fn=_end_with_the_tests,
        )
    return process, Seaweed(f"http://127.0.0.1:{ports['s3.port']}", frozenset(ports.values()))


def _is_there(server: Seaweed, process: "subprocess.Popen[bytes]") -> bool:
    """Whether it can store something."""
    try:
        urllib.request.urlopen(server.endpoint, timeout=1)
    except urllib.error.HTTPError:
        pass  # it refuses strangers
    except OSError:
        return False
    try:
        store_at(server.address("hello")).put("there", b"?", content_type="text/plain", filename="there")
    except (PenstockError, FileNotFoundError):  # it answers before it can make the bucket
        return False
    return process.poll() is None

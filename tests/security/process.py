"""A server in a process of its own, to be attacked over real sockets."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.tokens import mint
from tests.kit.serving import KEY, SECRET
from tests.kit.until import wait_until


@dataclass
class Served:
    port: int
    process: "subprocess.Popen[str]"

    def listens(self) -> bool:
        """Its address is taken before it is said, and it listens a moment later."""
        with suppress(ConnectionError):
            return self.ask("GET", "/readyz").status == 200
        return False

    @property
    def memory(self) -> int:
        """Megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) // 1024

    @property
    def event_loop(self) -> float:
        """Seconds of a processor that the thread of the event loop has had."""
        ran = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text()
        return int(ran.split()[0]) / 1e9

    def open(self, sent: bytes = b"") -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        opened.sendall(sent)
        return opened

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None, **headers: str) -> "Answer":
        """One request on a connection of its own."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers |= {
            "Host": "shop",
            "Connection": "close",
            "Content-Length": str(len(content)),
            "Content-Type": "application/json",
        }
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        began = time.monotonic()
        with self.open(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + content) as opened:
            return read_answer(opened, began)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


def read_answer(opened: socket.socket, began: float | None = None) -> Answer:
    """Until the other side ends the connection."""
    began = began or time.monotonic()
    received = b""
    with suppress(ConnectionError):
        while piece := opened.recv(65536):
            received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split(" ")[1]) if first else 0
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(status, headers, body, time.monotonic() - began)


def token(subject: str = "mallory") -> str:
    return mint(SECRET, subject=subject)


@contextmanager
def served(url: str, *, open_files: int | None = None, **settings: str) -> Iterator[Served]:
    """With `open_files` it may open so many at first, and ask for more."""
    environment: Mapping[str, str] = {
        **os.environ, "DATABASE_URL": url, "PENSTOCK_SERVICE_KEY": KEY, "PENSTOCK_JWT_SECRET": SECRET, **settings,
    }  # fmt: skip
    command = [sys.executable, "-m", "penstock.cli", "server", "tests.security.shop:app", "--port", "0"]
    if open_files is not None:
        command = ["/bin/sh", "-c", f'ulimit -Sn {open_files} && exec "$@"', "sh", *command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise AssertionError("it did not start")
        served = Served(int(found[1]), process)
        wait_until(served.listens)
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        process.stderr.read()
        process.stderr.close()
        process.wait(20)

"""A program for the sandbox whose functions do what a broken decoder might, or whoever has taken it over."""

import ctypes
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

Answer = tuple[dict[str, Any], bytes]


class Refused(Exception):
    pass


def prepare(deaf: bool = False, **_: object) -> None:
    if deaf:
        # before its data is read, of which there is more than is under way
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)


def echo(data: bytes, times: int = 1) -> Answer:
    return {"size": len(data)}, data * times


def crash(data: bytes) -> Answer:
    ctypes.string_at(0)
    return {}, b""


def leave(data: bytes) -> Answer:
    os._exit(7)


def swell(data: bytes) -> Answer:
    held = []
    while True:
        held.append(bytearray(10_000_000))


def spin(data: bytes) -> Answer:
    while True:
        pass


def sleep(data: bytes) -> Answer:
    time.sleep(600)
    return {}, b""


def flood(data: bytes) -> Answer:
    while True:
        sys.stdout.buffer.write(bytes(1_000_000))


def babble(data: bytes) -> Answer:
    sys.stdout.buffer.write(b"\0\0\0\x05{nope")
    sys.stdout.buffer.flush()
    os._exit(0)


def refuse(data: bytes) -> Answer:
    raise Refused("It says so itself")


def fail(data: bytes) -> Answer:
    raise ZeroDivisionError("at /some/path of ours")


def write(data: bytes, to: BinaryIO) -> Answer:
    to.write(data)
    return {}, b""


def copy(data: bytes, source: BinaryIO, to: BinaryIO) -> Answer:
    to.write(source.read())
    return {}, b""


def look_around(data: bytes) -> Answer:
    open_ones = []
    for number in range(256):
        with suppress(OSError):
            os.fstat(number)
            open_ones.append(number)
    return {"environment": dict(os.environ), "descriptors": open_ones, "argv": sys.argv}, b""


def attack(data: bytes, victim: str, worker: int, port: int) -> Answer:
    """What succeeds of all that one might try from within. `victim` is a file of the worker's."""
    libc = ctypes.CDLL(None, use_errno=True)

    def c(function: str, *arguments: int | bytes) -> None:
        if getattr(libc, function)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), function)

    def connect() -> None:
        with socket.socket() as to:
            to.connect(("127.0.0.1", port))

    def talk_on_what_is_open() -> None:
        socket.socket(fileno=1).connect("/run/anything")

    def start_thread() -> None:
        try:
            threading.Thread(target=int).start()
        except RuntimeError as error:
            raise OSError from error

    path = victim.encode()
    tries: dict[str, Callable[[], object]] = {
        "read": lambda: Path(victim).read_bytes(),
        "list": lambda: os.listdir("/"),  # noqa: PTH208
        "stat": lambda: os.stat(victim),  # noqa: PTH116
        "write": lambda: Path(victim).write_bytes(b"mine"),
        "truncate": lambda: c("truncate", path, 0),
        "unlink": lambda: os.unlink(victim),  # noqa: PTH108
        "rename": lambda: os.rename(victim, f"{victim}.mine"),  # noqa: PTH104
        "chmod": lambda: os.chmod(victim, 0o777),  # noqa: PTH101
        "mkdir": lambda: os.mkdir(f"{victim}.folder"),  # noqa: PTH102
        "link": lambda: os.symlink("/etc/passwd", f"{victim}.link"),  # noqa: PTH211
        "folder": lambda: os.chdir("/tmp"),
        "environment of the worker": lambda: Path(f"/proc/{worker}/environ").read_bytes(),
        "memory": lambda: os.memfd_create("mine"),
        "pipe": os.pipe,
        "connect": connect,
        "socket": socket.socket,
        "udp": lambda: socket.socket(type=socket.SOCK_DGRAM),
        "pair": socket.socketpair,
        "old socket": talk_on_what_is_open,
        "fork": lambda: os.fork() or os._exit(0),
        "execute": lambda: os.execv("/bin/true", ["true"]),
        "signal the worker": lambda: os.kill(worker, 0),
        "signal all": lambda: os.kill(-1, 0),
        "debug the worker": lambda: c("ptrace", 16, worker, 0, 0),
        "shared memory": lambda: c("shmget", 7, 4096, 0o1777),
        "queue": lambda: c("msgget", 7, 0o1777),
        "more descriptors": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        "the worker's limits": lambda: resource.prlimit(worker, resource.RLIMIT_NOFILE),
        "become root": lambda: os.setresuid(0, 0, 0),
        "outlive the worker": lambda: c("prctl", 1, 0),
        "namespace": lambda: c("unshare", 0x10000000),
        "thread": start_thread,
    }
    reached: list[str] = []
    for name, attempt in tries.items():
        try:
            attempt()
            reached.append(name)
        except (OSError, ValueError):
            pass
    return {"reached": reached}, b""

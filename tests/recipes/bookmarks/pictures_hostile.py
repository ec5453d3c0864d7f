"""A program for run_apart whose functions do what a broken decoder might. Run by child.py, in a process of its own."""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

Answer = tuple[dict[str, Any], bytes]


class Unreadable(Exception):
    pass


def prepare() -> None:
    pass


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
    raise Unreadable("It says so itself")


def fail(data: bytes) -> Answer:
    raise ZeroDivisionError("at /some/path of ours")


def reach_out(data: bytes) -> Answer:
    """What it can still get at."""
    tries: dict[str, Callable[[], object]] = {
        "file": lambda: open("/etc/passwd"),  # noqa: PTH123, SIM115
        "socket": socket.socket,
        "listing": lambda: os.listdir("/"),  # noqa: PTH208
    }
    reached = {}
    for name, attempt in tries.items():
        try:
            attempt()
            reached[name] = True
        except OSError:
            reached[name] = False
    return {"environment": sorted(os.environ), "reached": reached}, b""

"""Runs one function on what it is given, with no more rights than that takes. Knows nothing of Penstock; see run_apart.

It answers with four bytes that say how long the facts are, the facts as JSON, and the bytes that were made.
"""

import importlib.util
import json
import resource
import signal
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

Answer = tuple[dict[str, Any], bytes]


def main() -> None:
    order = json.loads(sys.argv[1])
    limit(order["seconds"], order["wall"], order["megabytes"])
    facts, content = answer(order)
    told = json.dumps(facts).encode()
    sys.stdout.buffer.write(len(told).to_bytes(4) + told + content)
    sys.stdout.buffer.flush()


def answer(order: dict[str, Any]) -> Answer:
    program = load(order["program"])
    try:
        # the libraries are imported here, while files can still be opened
        program.prepare()
    except ImportError as error:
        return {"missing": error.name or "a library"}, b""
    lock()
    data = sys.stdin.buffer.read()
    try:
        done: Answer = getattr(program, order["function"])(data, **order["asked"])
    except program.Unreadable as error:
        return {"failed": str(error)}, b""
    except MemoryError:
        return {"failed": "The file takes too much memory to open"}, b""
    except Exception as error:
        return {"failed": "The file is damaged", "why": repr(error)[:300]}, b""
    return done


def limit(seconds: int, wall: int, megabytes: int) -> None:
    # should the worker that watches it be gone
    signal.alarm(wall)
    for what, most, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        # at the first it is told (SIGXCPU), at the second it is killed
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, megabytes * 1024**2, megabytes * 1024**2),
    ):
        # a system need not know them all
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, hard))


def lock() -> None:
    """Nothing more is opened, connected or started: whoever takes this process over has its memory, and no more."""
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (0, 0))


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


if __name__ == "__main__":
    main()

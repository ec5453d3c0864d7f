"""Programs that are not to be trusted, or may crash, swell or never end: in a process of their own, with limits.

`call` asks a function of a file of Python; `started` runs any program. Both give it no environment, no descriptors and
a limit to everything; both kill and reap it, with all that it has started, however the caller ends or is cancelled.
Should the caller be killed, the kernel ends the program.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from penstock.errors import PenstockError
from penstock.sandbox.process import Limits, Process, launched_call, random_account, started
from penstock.sandbox.room import Slots, work_folder

__all__ = [
    "Answer",
    "Limits",
    "Process",
    "ProgramFailed",
    "Reason",
    "Slots",
    "call",
    "random_account",
    "started",
    "work_folder",
]

log = logging.getLogger(__name__)
Facts = TypeVar("Facts")

# where Python and its libraries are; keys and database URLs stay here
_ENVIRONMENT = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
_PIECE = 1024 * 1024


class Reason(StrEnum):
    """Why a program gave no answer: `ProgramFailed.reason`."""

    REFUSED = "refused"
    """The program says so itself."""
    RAISED = "raised"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    """It was too slow by the clock, and may be quicker on a machine that is less busy."""
    CPU = "cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    """It has said more than it may."""
    MISSING = "missing"
    """A library that it needs is not installed; the text is its name."""


class ProgramFailed(PenstockError):
    """A program gave no answer. What it says itself is a stranger's text."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program gave. Somebody may have taken it over, so check both the facts and the content."""

    facts: Any
    content: bytes = field(repr=False)

    def read(self, type: type[Facts]) -> Facts:
        """The facts, if they have this shape. A program that gives others has failed, as if it had crashed: whoever
        breaks it writes its answer."""
        try:
            return msgspec.convert(self.facts, type)
        except msgspec.ValidationError as error:
            raise ProgramFailed(Reason.CRASHED, f"gave other facts than it should: {error}") from None


async def call(
    program: Path,
    function: str,
    limits: Limits,
    *,
    data: bytes = b"",
    asked: Mapping[str, object] | None = None,
    reads: Mapping[str, Path] | None = None,
    writes: Mapping[str, Path] | None = None,
    locked: bool = True,
) -> Answer:
    """Calls `function(data, **files, **asked)` of a file of Python, which gives facts for JSON and bytes.

    The file needs nothing but its libraries, so that the process costs little: 40 ms, 100 ms with Pillow. It has a
    function `prepare(**asked)` that imports them, and an exception `Refused` whose text is meant for people. `reads`
    and `writes` are opened before, and come as files.

    When it is prepared, the process is `locked`: it opens nothing, reaches no network, starts nothing and signals
    nobody; whoever takes it over has the data and those files. Raises ProgramFailed.
    """
    order = json.dumps({"asked": dict(asked or {}), "reads": _paths(reads), "writes": _paths(writes)}).encode()
    env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    async with launched_call(program, function, limits, env, locked=locked) as process:
        telling = asyncio.create_task(_tell(process.writer, len(order).to_bytes(4) + order, data))
        try:
            async with asyncio.timeout(limits.wall):
                said = await _hear(process.reader, limits.output)
                code = await process.wait()
        except TimeoutError:
            raise ProgramFailed(Reason.TIMEOUT, f"did not end within {limits.wall:g} seconds") from None
        finally:
            telling.cancel()
    if code == -signal.SIGXCPU:
        raise ProgramFailed(Reason.CPU, f"did not end within {limits.cpu} seconds of a processor")
    if code:
        raise ProgramFailed(Reason.CRASHED, f"ended by {_name(-code)}" if code < 0 else f"ended with {code}")
    return _understood(said)


async def _tell(writer: asyncio.StreamWriter, *parts: bytes) -> None:
    with suppress(ConnectionError):
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.write_eof()


async def _hear(reader: asyncio.StreamReader, most: int) -> bytes:
    said = bytearray()
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            said += piece
            if len(said) > most:
                raise ProgramFailed(Reason.OUTPUT, f"said more than {most} bytes")
    return bytes(said)


def _understood(said: bytes) -> Answer:
    size = int.from_bytes(said[:4])
    try:
        told = json.loads(said[4 : 4 + size])
        if "facts" not in told:
            raise ProgramFailed(Reason(told["reason"]), str(told["text"])[:300])
        if not told["locked"]:
            _warn()
        return Answer(told["facts"], said[4 + size :])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ProgramFailed(Reason.CRASHED, "gave no answer that can be read") from None


@cache
def _warn() -> None:
    log.warning("this kernel or processor has no filter for system calls: sandboxed programs are held by limits alone")


def _paths(files: Mapping[str, Path] | None) -> dict[str, str]:
    return {name: str(path) for name, path in (files or {}).items()}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""Strangers' pictures and PDFs are opened by a process of its own, which may crash, swell or never end."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from penstock import PenstockError
from penstock.recipes.bookmarks.failures import PageFailed

log = logging.getLogger(__name__)
Facts = TypeVar("Facts")

PICTURES = Path(__file__).with_name("picture.py")
PDFS = Path(__file__).with_name("pdf.py")
MAX_BYTES = 64 * 1024 * 1024
_CHILD = Path(__file__).with_name("child.py")
_PIECE = 1024 * 1024
# where Python and its libraries are; keys and database URLs stay here
_ENVIRONMENT = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")
_TOO_LATE = (-signal.SIGXCPU, -signal.SIGALRM)
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class Limits(NamedTuple):
    """`seconds` are of CPU; `wall` are of the clock, for the machine may be busy."""

    seconds: int = 10
    wall: int = 30
    megabytes: int = 1024


async def run_apart(
    program: Path,
    function: str,
    data: bytes,
    facts: type[Facts],
    asked: Mapping[str, object] | None = None,
    limits: Limits | None = None,
) -> tuple[Facts, bytes]:
    """What a function of a program's says about the data, and the bytes that it made of them. PageFailed if it could
    not; whatever went wrong, this process goes on.

    The program is a file that needs nothing but its libraries, so that the process costs little: 40 ms, 100 ms
    with Pillow, 200 ms with pdfium. It is not forked from this one, which has threads.
    """
    if len(data) > MAX_BYTES:
        raise PageFailed(f"The file is larger than {MAX_BYTES // 1024**2} MB")
    loop = asyncio.get_running_loop()
    # as many as there are cores: more would take their memory and be no sooner
    async with _turns.setdefault(loop, asyncio.Semaphore(os.cpu_count() or 1)):
        answer, code = await _converse(program, function, data, asked or {}, limits or Limits())
    if code in _TOO_LATE:
        raise PageFailed("The file took too long to read")
    if code:
        raise PageFailed("The file broke the program that reads it")
    return _understood(answer, facts)


async def _converse(
    program: Path, function: str, data: bytes, asked: Mapping[str, object], limits: Limits
) -> tuple[bytes, int]:
    order = {"program": str(program), "function": function, "asked": asked, **limits._asdict()}
    # -P: the folder of the program is not where its imports are; -B: it may not write files, compiled ones neither
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-B",
        str(_CHILD),
        json.dumps(order | {"wall": limits.wall + 2}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        # Ctrl-C at a terminal is for the worker, which lets what runs finish
        start_new_session=True,
    )
    telling = asyncio.create_task(_tell(process, data))
    try:
        async with asyncio.timeout(limits.wall):
            answer = await _hear(process)
            return answer, await process.wait()
    except TimeoutError:
        raise PageFailed("The file took too long to read") from None
    finally:
        telling.cancel()
        if process.returncode is None:
            process.kill()
        await asyncio.gather(telling, return_exceptions=True)
        await _drain(process)
        await process.wait()


async def _tell(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _hear(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    answer = bytearray()
    while piece := await process.stdout.read(_PIECE):
        answer += piece
        if len(answer) > MAX_BYTES:
            raise PageFailed("The file becomes too large when it is opened")
    return bytes(answer)


async def _drain(process: asyncio.subprocess.Process) -> None:
    """What a killed process left in its pipe, or the pipe would stay open."""
    assert process.stdout is not None
    while await process.stdout.read(_PIECE):
        pass


def _understood(answer: bytes, facts: type[Facts]) -> tuple[Facts, bytes]:
    """Not trusted, either: who breaks the program writes its answer."""
    size = int.from_bytes(answer[:4])
    try:
        told = msgspec.json.decode(answer[4 : 4 + size])
        if isinstance(told, dict) and isinstance(told.get("failed"), str):
            if "why" in told:
                log.info("a stranger's file could not be read: %.300s", told["why"])
            raise PageFailed(told["failed"][:200])
        if isinstance(told, dict) and isinstance(told.get("missing"), str):
            raise PenstockError(f"bookmarks need {told['missing'][:50]}: pip install 'penstock[bookmarks]'")
        return msgspec.convert(told, facts), answer[4 + size :]
    except msgspec.MsgspecError:
        raise PageFailed("The file broke the program that reads it") from None

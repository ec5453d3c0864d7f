"""The functions of `audio`, each call in a process of its own: bounded in time and memory, ended when cancelled.

A handler awaits these and needs no `isolate=True`: a decoder that crashes takes only its process along, cancelling the
job ends it, and the event loop stays free. The process gets no environment, so no keys, and one call's files.
"""

import asyncio
import os
import signal
import sys
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from penstock.recipes.calls.audio import MAX_SECONDS, Asked, AudioFacts, NoAudio

_SECONDS = 900.0
_MEMORY = 1 << 30
_KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "LANG")
_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGXCPU"})

# Limits are set by the process itself: what runs between fork and exec in a program with threads may hang.
# It dies with us (prctl), for a worker that is killed must not leave decoders behind.
_LIMITED = """
import runpy, sys
try:
    import ctypes, resource
    wanted = {resource.RLIMIT_CPU: int(sys.argv[2]), resource.RLIMIT_DATA: int(sys.argv[3]), resource.RLIMIT_CORE: 0}
    for limit, most in wanted.items():
        hard = resource.getrlimit(limit)[1]
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(limit, (most, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)
except ImportError:
    pass
runpy.run_path(sys.argv[1], run_name="__main__")
"""


class Crashed(Exception):
    """The process ended by itself, and would again."""


class _Answer(msgspec.Struct):
    done: AudioFacts | None = None
    refused: str = ""


async def extract_audio(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """As `audio.extract_audio`. NoAudio is final; anything else raised may be tried again."""
    return await _call(Asked("extract_audio", str(source), str(to), max_seconds))


async def to_ogg_opus(source: Path, to: Path, *, max_seconds: float = MAX_SECONDS) -> AudioFacts:
    """As `audio.to_ogg_opus`."""
    return await _call(Asked("to_ogg_opus", str(source), str(to), max_seconds))


async def _call(asked: Asked) -> AudioFacts:
    try:
        with as_file(files(__package__) / "audio.py") as program:
            told = await run_apart(program, msgspec.json.encode(asked), seconds=_SECONDS, memory=_MEMORY)
    except Crashed as error:
        raise NoAudio("the file breaks what should decode it") from error
    answer = msgspec.json.decode(told, type=_Answer)
    if answer.done is None:
        raise NoAudio(answer.refused)
    return answer.done


async def run_apart(program: Path, asked: bytes, *, seconds: float, memory: int) -> bytes:
    """Runs a file of Python that takes `asked` on its standard input, and gives what it writes. `seconds` are a
    processor's, which tell what is stuck from a busy machine; on the clock it may take twice as long, and a minute."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        _LIMITED,
        str(program),
        str(int(seconds)),
        str(memory),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    try:
        async with asyncio.timeout(60 + 2 * seconds):
            told, complaint = await process.communicate(asked)
    except TimeoutError:
        raise TimeoutError(f"{program.name} did not end within {60 + 2 * seconds:.0f} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode or 0
    if code < 0 and (name := signal.Signals(-code).name) in _CRASHES:
        raise Crashed(f"{program.name} ended by {name}")
    if code != 0:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError("".join(last) or f"{program.name} ended with {code}")
    return told

"""The programs a benchmark starts: each leads a process group of its own, which is killed when the block ends."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
TIMEOUT = 120.0
"""Seconds without a line after which a program counts as stuck."""


class Failed(Exception):
    """A program did not do what it was started for."""


class Program:
    """A running program that is spoken with in lines."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, errors: int) -> None:
        self.name = name
        self.pid = process.pid
        self._process = process
        self._errors = errors

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def line(self) -> str:
        """Its next line; fails when it has ended, or says nothing for long."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(TIMEOUT):
                line = (await self._process.stdout.readline()).decode()
        except TimeoutError:
            raise self.failure(f"was silent for {TIMEOUT:.0f} s") from None
        if not line:
            raise self.failure("has ended")
        return line

    async def hear(self, word: str) -> list[int]:
        """The numbers of its next line, which must begin with this word."""
        line = await self.line()
        heard, *numbers = line.split() or [""]
        if heard != word:
            raise self.failure(f"said {line!r} instead of {word!r}")
        return [int(number) for number in numbers]

    async def end(self) -> None:
        """Waits until it has ended of itself, well."""
        assert self._process.stdout is not None
        await self._process.stdout.read()  # lest it wait for room in the pipe
        if await self._process.wait() != 0:
            raise self.failure(f"ended with {self._process.returncode}")

    def failure(self, what: str) -> Failed:
        size = os.fstat(self._errors).st_size
        complaints = os.pread(self._errors, 4000, max(0, size - 4000)).decode(errors="replace")
        return Failed(f"{self.name} {what}\n{complaints}")


@asynccontextmanager
async def started(
    name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
) -> AsyncIterator[Program]:
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env={**os.environ, **(environment or {})}, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        try:
            yield Program(name, process, errors.fileno())
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # not left half-way by a second Ctrl-C
            await asyncio.shield(process.wait())


async def run(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Runs a program to its end."""
    async with started(name, command, environment) as program:
        await program.end()

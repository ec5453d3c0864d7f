"""What every Python runner does with its pipes; graphile.js does the same in its own language.

    prepare          makes the tables, and ends
    fill N           enqueues N jobs, and ends
    work             says `ready`, waits for `go`, runs a worker; every 20 ms says `count N`, the jobs run so far
    answer           the same, but says `started N T` in every job: T is CLOCK_MONOTONIC in nanoseconds
    enqueue          says `ready`; for each line N enqueues a job N and says `enqueued N T`, T from before the call

A runner ends when its stdin does, so that none outlives the benchmark, however that ends.

Only the standard library is imported here: runners live in the venv of what they run.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

Handle = Callable[[int], None]
Run = Callable[[], Awaitable[Any]]
Enqueue = Callable[[int], Awaitable[Any]]


class Peer(Protocol):
    async def prepare(self, url: str) -> None: ...

    async def fill(self, url: str, jobs: int) -> None: ...

    def worker(self, url: str, handle: Handle) -> AbstractAsyncContextManager[Run]:
        """Connected when entered; what it yields starts to claim jobs when called, and calls `handle` in each."""

    def waiter(self, url: str, handle: Handle) -> AbstractAsyncContextManager[Run]:
        """A worker for jobs that come singly: the same, unless it has settings that answer sooner."""
        return self.worker(url, handle)

    def enqueuer(self, url: str) -> AbstractAsyncContextManager[Enqueue]: ...


def main(peer: Peer, new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> None:
    mode, url, *number = sys.argv[1:]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run(peer, mode, url, *map(int, number)))


async def _run(peer: Peer, mode: str, url: str, jobs: int = 0) -> None:
    match mode:
        case "prepare":
            await peer.prepare(url)
        case "fill":
            await peer.fill(url, jobs)
        case "work":
            await _work(peer, url)
        case "answer":
            async with peer.waiter(url, lambda n: say(f"started {n} {time.monotonic_ns()}")) as run:
                await _at_go(run)
        case "enqueue":
            async with peer.enqueuer(url) as enqueue:
                say("ready")
                while line := await asyncio.to_thread(sys.stdin.readline):
                    before = time.monotonic_ns()
                    await enqueue(int(line))
                    say(f"enqueued {int(line)} {before}")
        case _:
            raise SystemExit(f"no mode {mode!r}")


async def _work(peer: Peer, url: str) -> None:
    count = 0

    def handle(n: int) -> None:
        nonlocal count
        del n
        count += 1

    async def report() -> None:
        said = 0
        while True:
            await asyncio.sleep(0.02)
            if count > said:
                said = count
                say(f"count {said}")

    async with peer.worker(url, handle) as run:
        reporter = asyncio.create_task(report())
        await _at_go(run)
        await reporter


async def _at_go(run: Run) -> None:
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    await run()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def say(line: str) -> None:
    print(line, flush=True)

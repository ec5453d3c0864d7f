"""What every Python runner does with its pipes; protocol.js does the same for those in JavaScript.

    prepare          makes the tables, and ends
    fill N [FILE]    enqueues N jobs in bulk, says `filled T`, the nanoseconds it took, and ends; with FILE each carries
                     one of its documents, a line each, in turns
    produce P N      says `ready`, waits for `go`, enqueues N jobs one by one, by P at once; then says `produced T`, the
                     nanoseconds it took
    flow R B         says `ready`, waits for `go`, enqueues R jobs a second by calls of B; after each says `sent N`, the
                     jobs so far; a job's number is when it was enqueued, in nanoseconds of CLOCK_MONOTONIC
    work             says `ready`, waits for `go`, runs a worker; every 20 ms says `count N`, the jobs run so far
    watch            the same for jobs of a flow: every 200 ms says `ran N L…`, the jobs run so far, and of some of
                     those run since the last line the microseconds from enqueue to start
    answer           as `work`, but says `started N T` in every job: T is CLOCK_MONOTONIC in nanoseconds
    enqueue          says `ready`; for each line N enqueues a job N and says `enqueued N T U`: T from before the call, U
                     from after it

A runner ends when its stdin does, so that none outlives the benchmark, however that ends.

Only the standard library is imported here: runners live in the venv of what they run.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from bench import payload

Arguments = dict[str, Any]
Handle = Callable[[int], None]
Run = Callable[[], Awaitable[Any]]
Enqueue = Callable[[int], Awaitable[Any]]
EnqueueMany = Callable[[list[Arguments]], Awaitable[Any]]

MANY = 10_000
"""Jobs in a call that fills, but a tenth where they carry documents, lest a call be a hundred megabytes."""
SAMPLED = 10
"""Of so many jobs of a flow one tells when it started."""
BEHIND = 1.0
"""Seconds of a flow that are made up for at most, when enqueueing was held up."""


class Peer(Protocol):
    blocks: bool = False
    """Whether its calls block: then those who enqueue at once are threads, else tasks of one loop."""

    async def prepare(self, url: str) -> None: ...

    def filler(self, url: str) -> AbstractAsyncContextManager[EnqueueMany]:
        """Yields what enqueues all those jobs in as few calls as it can: `{"n": …}`, or with a `document` too."""

    def worker(self, url: str, handle: Handle) -> AbstractAsyncContextManager[Run]:
        """Connected when entered; what it yields starts to claim jobs when called, and calls `handle` in each."""

    def waiter(self, url: str, handle: Handle) -> AbstractAsyncContextManager[Run]:
        """A worker for jobs that come singly: the same, unless it has settings that answer sooner."""
        return self.worker(url, handle)

    def enqueuer(self, url: str) -> AbstractAsyncContextManager[Enqueue]: ...


def main(peer: Peer, new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None) -> None:
    mode, url, *rest = sys.argv[1:]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run(peer, mode, url, *rest))


async def _run(peer: Peer, mode: str, url: str, *rest: str) -> None:
    match mode, *rest:
        case "prepare", *_:
            await peer.prepare(url)
        case "fill", jobs, *file:
            async with peer.filler(url) as enqueue_many:
                await _fill(enqueue_many, int(jobs), payload.read(Path(*file)) if file else [])
        case "produce", at_once, jobs:
            async with peer.enqueuer(url) as enqueue:
                await _at_go(lambda: _produce(enqueue, int(at_once), int(jobs), threads=peer.blocks))
        case "flow", rate, batch:
            async with peer.filler(url) as enqueue_many:
                await _at_go(lambda: _flow(enqueue_many, int(rate), int(batch)))
        case "work", *_:
            await _work(peer, url)
        case "watch", *_:
            await _watch(peer, url)
        case "answer", *_:
            async with peer.waiter(url, lambda n: say(f"started {n} {time.monotonic_ns()}")) as run:
                await _at_go(run)
        case "enqueue", *_:
            async with peer.enqueuer(url) as enqueue:
                say("ready")
                while line := await asyncio.to_thread(sys.stdin.readline):
                    before = time.monotonic_ns()
                    await enqueue(int(line))
                    say(f"enqueued {int(line)} {before} {time.monotonic_ns()}")
        case _:
            raise SystemExit(f"no mode {mode!r} with {rest}")


async def _fill(enqueue_many: EnqueueMany, jobs: int, documents: list[payload.Document]) -> None:
    began = time.monotonic_ns()
    for numbers in calls(jobs, documents):
        await enqueue_many(arguments(numbers, documents))
    say(f"filled {time.monotonic_ns() - began}")


def calls(jobs: int, documents: list[payload.Document]) -> list[range]:
    """The numbers of the jobs of each call that fills."""
    many = MANY // 10 if documents else MANY
    return [range(start, min(start + many, jobs)) for start in range(0, jobs, many)]


def arguments(numbers: range, documents: list[payload.Document]) -> list[Arguments]:
    if not documents:
        return [{"n": n} for n in numbers]
    return [{"n": n, "document": documents[n % len(documents)]} for n in numbers]


async def _produce(enqueue: Enqueue, at_once: int, jobs: int, *, threads: bool) -> None:
    async def produce(numbers: range) -> None:
        for n in numbers:
            await enqueue(n)

    began = time.monotonic_ns()
    shares = [range(start, jobs, at_once) for start in range(at_once)]
    if threads:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(lambda numbers: asyncio.run(produce(numbers)), shares))
    else:
        await asyncio.gather(*map(produce, shares))
    say(f"produced {time.monotonic_ns() - began}")


async def _flow(enqueue_many: EnqueueMany, rate: int, batch: int) -> None:
    sent = 0
    due = time.monotonic()
    while True:
        await enqueue_many([{"n": time.monotonic_ns()}] * batch)
        sent += batch
        say(f"sent {sent}")
        due = max(due + batch / rate, time.monotonic() - BEHIND)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


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
        if peer.blocks:
            # its worker has the main thread, and the loop with it
            threading.Thread(target=asyncio.run, args=[report()], daemon=True).start()
            await _at_go(run)
        else:
            await _at_go(lambda: asyncio.gather(run(), report()))


async def _watch(peer: Peer, url: str) -> None:
    count = 0
    latencies: list[int] = []

    def handle(sent: int) -> None:
        nonlocal count
        count += 1
        if count % SAMPLED == 0:
            latencies.append((time.monotonic_ns() - sent) // 1000)

    async def report() -> None:
        while True:
            await asyncio.sleep(0.2)
            say(" ".join(map(str, ["ran", count, *latencies])))
            latencies.clear()

    async with peer.worker(url, handle) as run:
        await _at_go(lambda: asyncio.gather(run(), report()))


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

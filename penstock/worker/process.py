"""Handlers in processes of their own: a crash or a leak does not hurt the worker, and they can be ended at any moment.

For code that one trusts: it has the worker's account, files, network and environment, and the worker unpickles what it
sends. What strangers wrote or upload belongs into a sandbox, which this is not.
"""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.context import SpawnProcess
from typing import Any

from penstock.engine.commands import AttemptError
from penstock.engine.protocol import Engine
from penstock.handler import Handler
from penstock.storage import Keeper
from penstock.storage.job_files import StoreKeeper
from penstock.worker.ending import Ending, Failed
from penstock.worker.process_child import Order, serve
from penstock.worker.process_memory import resident_bytes
from penstock.worker.run import Run

CLEANUP = 0.7
"""Seconds a handler has to clean up when its job is cancelled or its time is over."""


class HandlerProcess:
    """A process that runs one job at a time."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        self.process: SpawnProcess = spawn.Process(
            target=serve, args=(theirs, os.getpid()), daemon=True, name="penstock handler"
        )
        self.process.start()
        theirs.close()

    def work(self, order: Order, report: Callable[[dict[str, Any]], None]) -> Ending:
        """Blocks until the job has ended, in a thread of the worker's."""
        try:
            self.connection.send(order)
            while True:
                match self.connection.recv():
                    case "progress", dict() as progress:
                        report(progress)
                    case "ended", ending:
                        return ending  # type: ignore[no-any-return]
        except (EOFError, OSError):
            self.process.join()
            return Failed(AttemptError(f"its process died: {_cause(self.process.exitcode)}", "ProcessDied"))

    def close(self) -> None:
        self.connection.close()


class HandlerProcesses:
    """Idle processes, kept for the next job."""

    def __init__(self, engine: Engine, threads: ThreadPoolExecutor, keeper: Keeper | None = None) -> None:
        self._engine = engine
        self._storage = keeper.storage.elsewhere if isinstance(keeper, StoreKeeper) else None
        self._threads = threads
        self._idle: list[HandlerProcess] = []
        self.most_memory: int | None = None
        """Bytes: a process that has grown past it gets no further job."""

    async def call(self, handler: Handler[..., Any], run: Run, report: Callable[[dict[str, Any]], None]) -> Ending:
        loop = asyncio.get_running_loop()
        # started here and not in a thread: the child ends with the thread that started it
        child = self._idle.pop() if self._idle else HandlerProcess()
        order = Order(
            handler.function.__module__, handler.function.__qualname__, run.job, run.lease, self._engine.place,
            self._storage, handler.retry_rule, handler.options.version,
            run.queue,
        )  # fmt: skip
        work = loop.run_in_executor(
            self._threads, child.work, order, lambda progress: _ignore(loop.call_soon_threadsafe(report, progress))
        )
        try:
            ending = await asyncio.shield(work)
        except asyncio.CancelledError as stopped:
            # interrupts the handler, gives it a moment to clean up, then ends it
            child.process.terminate()
            try:
                await asyncio.wait([work], timeout=CLEANUP)
            finally:
                child.process.kill()
            await asyncio.wait([work])
            await loop.run_in_executor(self._threads, child.process.join)
            child.close()
            _add_traceback(stopped, work.result())
            raise
        if self.most_memory is not None and resident_bytes(child.process.pid) > self.most_memory:
            child.close()  # with which it ends
        elif child.process.is_alive():
            self._idle.append(child)
        return ending

    def close(self) -> None:
        """None is left when this returns."""
        for child in self._idle:
            child.close()
            child.process.kill()
        for child in self._idle:
            child.process.join(CLEANUP)
        self._idle.clear()


def _add_traceback(stopped: asyncio.CancelledError, ending: Ending) -> None:
    """Tells where the handler was, if it lived to say so."""
    if isinstance(ending, Failed) and ending.error.traceback is not None:
        stopped.add_note(f"In its process:\n{ending.error.traceback}")


def _ignore(_: object) -> None:
    return None


def _cause(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"killed by {signal.Signals(-exitcode).name}"
    return f"exit code {exitcode}"

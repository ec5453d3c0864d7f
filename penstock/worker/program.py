"""A worker as a program of its own: signals stop it, its exit code tells how it went."""

import asyncio
import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from penstock.job import Lease
from penstock.worker.worker import Worker

FINISHED = 0
GAVE_BACK = 3
"""It was stopped, and some jobs did not finish in the time of grace: they were given back."""
RECYCLED = 4
"""Its memory had grown past the limit; what ran has finished, or was given back."""

_PR_SET_PDEATHSIG = 1
_TO_GET_READY = 2.0
"""Seconds after which a stopped worker that still waits for its lease gives up: the database does not answer."""


async def serve(worker: Worker) -> int:
    """Runs the worker until SIGTERM or SIGINT. A second signal ends it at once. The exit code."""
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(worker.run())

    def stop() -> None:
        worker.stop()
        if not worker.ready.is_set():
            loop.call_later(_TO_GET_READY, cancel_unless_ready)

    def cancel_unless_ready() -> None:
        if not worker.ready.is_set():
            running.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.set_default_executor(_Threads(thread_name_prefix="penstock"))
    with contextlib.suppress(asyncio.CancelledError):
        await running
    return FINISHED if worker.finished_in_time else GAVE_BACK


class _Threads(ThreadPoolExecutor):
    """What handlers use by asyncio.to_thread. The end of the event loop would wait for all of them, without end."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        super().shutdown(wait=False, cancel_futures=True)


def leave(code: int) -> None:
    """Ends the process, also when a handler's thread still runs: its job was given back, and nobody waits for it."""
    if any(thread.name.startswith("penstock_") and not thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def tell(descriptor: int) -> Callable[[Lease | None], None]:
    """Writes each lease to the supervisor's pipe: should this process die, its jobs need not wait for that to end. None
    when all is done: a signal that ends the process while it leaves takes nothing along."""

    def write(lease: Lease | None) -> None:
        with contextlib.suppress(OSError):
            os.write(descriptor, f"{lease or ''}\n".encode())

    return write


def end_with_parent(worker: Worker, descriptor: int) -> None:
    """Stops the worker when the supervisor dies: nobody would restart or stop this process any more."""

    def stop_once() -> None:
        # the kernel tells of it again for each of the supervisor's threads that dies after another
        if not worker.stopping:
            worker.stop()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, stop_once)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    pipe = select.poll()
    pipe.register(descriptor, 0)
    if pipe.poll(0):  # nobody reads it: the supervisor died while this process was starting
        sys.exit("the supervisor is gone")

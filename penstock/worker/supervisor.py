"""Several worker processes under one that replaces the dead, gives back their jobs, and follows the load."""

import asyncio
import contextlib
import logging
import math
import os
import signal
from collections.abc import Mapping, Sequence

from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.job import Lease
from penstock.logs import counted
from penstock.worker.program import FINISHED, GAVE_BACK, RECYCLED

TOO_OLD = 5.0
"""Seconds that the oldest ready job may wait before another worker is called for, however few jobs there are."""


def wanted_workers(
    *, ready: int, running: int, oldest_s: float | None, slots: int, workers: int, least: int, most: int
) -> int:
    """As many as have slots for everything at hand, one more than now while jobs wait too long, within the limits."""
    wanted = math.ceil((ready + running) / slots)
    if ready and (oldest_s or 0) > TOO_OLD:
        wanted = max(wanted, workers + 1)
    return max(least, min(most, wanted))


log = logging.getLogger("penstock.supervisor")

LOOK_EVERY = 2.0
CALM = 30.0
"""Seconds that fewer processes must have been enough before one is stopped."""

PLACE = "PENSTOCK_PROCESS"
"""Tells a process which one of several it is, from 0: each has a port of its own for its metrics."""

_SHORT_LIFE = 5.0
_LONGEST_PAUSE = 30.0


class WorkerProcess:
    """One worker process, replaced whenever it dies."""

    def __init__(self, command: Sequence[str], engine: Engine, place: int) -> None:
        self.place = place
        self._command = command
        self._engine = engine
        self._process: asyncio.subprocess.Process | None = None
        self._lease: Lease | None = None
        self._stopped = asyncio.Event()
        self.exit_code = FINISHED
        self.task = asyncio.create_task(self._keep())

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """Once: gracefully. Again: at once."""
        self._stopped.set()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        pause = 0.0
        while not self._stopped.is_set():
            began = loop.time()
            code = await self._live()
            if self._stopped.is_set() and (code >= 0 or self._lease is None):
                # without a lease it was stopped before it had begun, or when it was done
                self.exit_code = FINISHED if code == RECYCLED else max(code, FINISHED)
                return
            self.exit_code = GAVE_BACK if self._stopped.is_set() else FINISHED
            if code == RECYCLED:
                self._lease = None  # it has closed it
            else:
                log.warning("a worker process ended with %s; its jobs go back", _cause(code))
                await self._give_back()
            pause = 0.0 if loop.time() - began > _SHORT_LIFE else min(max(2 * pause, 0.5), _LONGEST_PAUSE)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopped.wait()

    async def _live(self) -> int:
        """One life of the process; its exit code."""
        ours, theirs = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, "--supervised", str(theirs), pass_fds=[theirs],
                # a terminal's Ctrl-C is for the supervisor, which stops its children in its own way
                start_new_session=True,
                env={**os.environ, PLACE: str(self.place)},
            )  # fmt: skip
        finally:
            os.close(theirs)
        reader = asyncio.create_task(self._read_leases(ours))
        if self._stopped.is_set():
            self.stop()
        code = await self._process.wait()
        await reader
        return code

    async def _read_leases(self, descriptor: int) -> None:
        stream = asyncio.StreamReader()
        with os.fdopen(descriptor, "rb", 0) as pipe:
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(stream), pipe
            )
            while line := await stream.readline():
                self._lease = Lease(int(line)) if line.strip() else None
            transport.close()

    async def _give_back(self) -> None:
        """At once: nobody needs to wait for the lease to run out."""
        if self._lease is None:
            return
        try:
            released = await self._engine.arun(commands.ExpireLease(self._lease))
            if released:
                log.warning(
                    "%s of the dead process %s again", counted(released, "job"), "runs" if released == 1 else "run"
                )
        except self._engine.faults.passing as error:
            log.warning("could not give back its jobs, they run again when the lease ends: %s", error)
        self._lease = None


class Supervisor:
    """Keeps between `least` and `most` processes, as many as the backlog of the queues calls for."""

    def __init__(
        self, command: Sequence[str], engine: Engine, *, queues: Mapping[str, int], least: int, most: int
    ) -> None:
        self._command = command
        self._engine = engine
        self._queues = queues
        self._least = least
        self._most = most
        self._children: list[WorkerProcess] = []
        self._leaving: list[WorkerProcess] = []
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Runs until SIGTERM or SIGINT; the highest exit code of its processes."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        code = await self.keep()
        await self._engine.aclose()
        return code

    async def keep(self) -> int:
        """The same until it is told to stop, for a program that has other things to do."""
        if self._stopping.is_set():
            return FINISHED
        for _ in range(self._least):
            self._add()
        scaling = asyncio.create_task(self._follow_load()) if self._most > self._least else None
        await self._stopping.wait()
        if scaling is not None:
            scaling.cancel()
        everybody = self._children + self._leaving
        await asyncio.wait([child.task for child in everybody])
        return max(child.exit_code for child in everybody)

    def stop(self) -> None:
        """Lets running jobs finish for their time of grace. Called again, ends at once."""
        for child in self._children + self._leaving:
            child.stop()
        self._stopping.set()

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._children if child.pid is not None]

    def _add(self) -> None:
        taken = {child.place for child in self._children + self._leaving if not child.task.done()}
        place = next(place for place in range(len(taken) + 1) if place not in taken)
        self._children.append(WorkerProcess(self._command, self._engine, place))

    async def _follow_load(self) -> None:
        loop = asyncio.get_running_loop()
        enough_since: float | None = None
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                wanted = await self._wanted()
            except self._engine.faults.passing as error:
                level = logging.DEBUG if self._engine.faults.is_lost(error) else logging.WARNING
                log.log(level, "cannot see the queues: %s", " ".join(str(error).split()))
                continue
            self._leaving = [child for child in self._leaving if not child.task.done()]
            if wanted >= len(self._children):
                enough_since = None
                for _ in range(wanted - len(self._children)):
                    self._add()
                    log.info("the queues call for more: %s", counted(len(self._children), "process", "processes"))
                continue
            enough_since = enough_since or loop.time()
            if loop.time() - enough_since >= CALM:
                child = self._children.pop()
                child.stop()
                self._leaving.append(child)
                log.info("fewer are enough: %s", counted(len(self._children), "process", "processes"))

    async def _wanted(self) -> int:
        """What the busiest of the queues calls for."""
        most = self._most * max(self._queues.values())
        wanted = [
            wanted_workers(
                ready=at_hand.ready, running=at_hand.running, oldest_s=at_hand.oldest_ready_seconds,
                slots=self._queues[at_hand.queue], workers=len(self._children), least=self._least, most=self._most,
            )
            for at_hand in await self._engine.arun(commands.Backlog(list(self._queues), most))
        ]  # fmt: skip
        return max(wanted, default=self._least)


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"

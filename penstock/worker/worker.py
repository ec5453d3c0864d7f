"""A worker: its loops put together, started and wound down in order."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from uuid import UUID

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Ears, Engine, Listener
from penstock.errors import InvalidInput
from penstock.job import ClaimedJob, Lease
from penstock.kinds import Registry
from penstock.logs import counted
from penstock.storage.job_files import keeper_for
from penstock.worker.calling import Calls
from penstock.worker.claimer import Claimer
from penstock.worker.completer import Completer
from penstock.worker.cron import Cron
from penstock.worker.ending import Ending
from penstock.worker.executor import Executor
from penstock.worker.failures import Failures
from penstock.worker.leases import Leases
from penstock.worker.maintenance import Maintenance
from penstock.worker.needs import check_needs
from penstock.worker.observers import Observers
from penstock.worker.reporter import Reporter
from penstock.worker.run import Lane, Run, Stop, check_slots
from penstock.worker.statistics import RunCounts, StatisticsReport
from penstock.worker.sweeper import Sweeper

log = logging.getLogger("penstock.worker")

SLOTS = 50
ANSWER_TIMEOUT = 10.0
"""Seconds after which a statement that has no answer is given up, to be sent again on another connection; a third of
the lease when that is less, or a worker would find out too late that it must."""
CLEANUP = 3.0
"""Seconds that handlers have to clean up when the time of grace is over."""
_NO_MORE = 2.0
_LAST_WORDS = 10.0
_SPARE_THREADS = 64


class Worker:
    """Runs the jobs of some queues until it is stopped. `queues` maps each to how many of its jobs may run at once.

    ```python
    import asyncio

    worker = app.worker({"default": 20})
    running = asyncio.create_task(worker.run())
    await worker.ready.wait()
    worker.stop()  # as SIGTERM does: running jobs finish first
    await running
    ```
    """

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        *,
        queues: Mapping[str, int] | None = None,
        name: str | None = None,
        grace: float = 30.0,
        lease: float | None = None,
    ) -> None:
        queues = dict(queues or {"default": SLOTS})
        check_slots(queues)
        if not grace >= 0:
            raise InvalidInput("grace", f"must not be negative, not {grace!r}")
        self.ready = asyncio.Event()
        """Set when it has a lease and listens."""
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.finished_in_time = True
        self.recycling = False
        self.introduced = False
        """Whoever started it has said what it runs."""
        self.on_lease: Callable[[Lease], None] = lambda _: None
        """Told of its lease, and of another one should it lose that."""
        self.observers = Observers(registry.end_hooks)
        check_needs(engine, registry)
        self._registry = registry
        self._grace = grace
        self._stopping = asyncio.Event()
        self._at_once = asyncio.Event()
        # its own connections: handlers that hold all of the application's must not keep it from reporting
        answer_timeout = min(ANSWER_TIMEOUT, max(1.0, (lease or 30.0) / 3))
        self._engine = engine.of_worker(answer_timeout)
        if not engine.capabilities.transactions:
            engine = self._engine  # handlers hold no connections there
        self._listener = self._engine.listener(
            Ears(
                wake=self._wake, cancel=self._cancel, hand=self._take_handed, missed=self._miss_notifications,
                heard=lambda extended: self.leases.hear(extended), busy=self._busy,
            )
        )  # fmt: skip
        self.leases = Leases(
            self._engine, self._listener, queues=list(queues), kinds=sorted(registry.handlers), name=self.name,
            seconds=lease, busy=self._busy, cancel=self._cancel, lost=self._lose,
        )  # fmt: skip
        self._lanes = [Lane(queue, slots, registry.batch_size(queue)) for queue, slots in queues.items()]
        failures = Failures(registry.failure_hooks, registry.handlers)
        self._maintenance = Maintenance(self._engine, self.leases, failures)
        self._reporter = Reporter(self._engine, self._cancel)
        # the application's connections: its own are cut when they are held for long, as a slow store makes it
        keeper = keeper_for(engine, registry.storage)
        self._sweeper: Sweeper | None = None
        if registry.storage is not None and engine.capabilities.leads and engine.capabilities.artifacts:
            self._sweeper = Sweeper(engine, self.leases, registry.storage)
        self._calls = Calls(
            registry.handlers, registry.middleware, engine, self._reporter.note,
            threads=sum(queues.values()) + _SPARE_THREADS, keeper=keeper,
        )  # fmt: skip
        self._executor = Executor(self._calls, self._end)
        statistics = RunCounts()
        self._statistics = StatisticsReport(
            self._engine, statistics, lambda: self.leases.lease, self._busy, sum(queues.values())
        )
        self._completer = Completer(
            self._engine, self._executor.forget, self._look, self._maintenance.look_now,
            failures, statistics, self.observers,
        )  # fmt: skip
        self._claimer = Claimer(
            self._engine, self.leases, self._listener, self._executor, self._lanes,
            woken_for_nothing=self._maintenance.look_now,
        )  # fmt: skip
        self._cron = Cron(self._engine, registry.schedules, leads=self.leases.leading.is_set)

    @property
    def lease(self) -> Lease:
        """The one it works under; another one if it has lost that."""
        return self.leases.lease

    @property
    def engine(self) -> Engine:
        """Its own: all that it asks of the database, or of the API, goes through this one."""
        return self._engine

    @property
    def listener(self) -> Listener:
        """Hears what it is told."""
        return self._listener

    @property
    def runs(self) -> Collection[Run]:
        """What it has claimed and not handed back: jobs that run, and those that wait here for a slot."""
        return self._executor.runs.values()

    async def run(self) -> None:
        """Runs until stopped. Cancelling the task that runs it stops it gracefully too; cancelling again, at once."""
        if self._stopping.is_set():
            return
        try:
            with self._engine.outage.told_by_the_error():
                await self.leases.open()
            await self._declare_queues()
        except BaseException:
            await self._engine.aclose()
            raise
        self._take_lease()
        loops: list[Loop | Listener] = [self._listener, self.leases, self._completer, self._reporter, self._statistics]
        if self._engine.capabilities.leads:
            loops += [self._maintenance, self._cron]
        if self._sweeper is not None:
            loops.append(self._sweeper)
        for loop in loops:
            loop.start()
        self._claimer.start()
        try:
            await self._listener.settle()
            runs = ", ".join(f"{lane.queue} × {lane.slots}" for lane in self._lanes)
            log.log(logging.DEBUG if self.introduced else logging.INFO, "worker %s runs %s", self.name, runs)
            self.ready.set()
            await self._stopping.wait()
        finally:
            # here also when cancelled: it goes on for a while, and the cancellation with it when that is over
            self._stopping.set()
            try:
                await self._wind_down()
            finally:
                for loop in loops:
                    await loop.stop()
                await self._leave()

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop: it claims nothing more."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stops claiming and lets running jobs finish for the time of grace. Called again, ends at once."""
        if self.recycling:
            self.recycling = False
            asyncio.get_running_loop().call_later(self._grace, self._at_once.set)
        elif self._stopping.is_set():
            self._at_once.set()
        self._stopping.set()

    def recycle(self) -> None:
        """Stops claiming and lets running jobs finish, however long they take: another process takes its place."""
        if not self._stopping.is_set():
            self.recycling = True
            self._stopping.set()

    def limit_handlers(self, memory: int) -> None:
        """A process of a handler's own that has grown past so many bytes gets no further job."""
        self._calls.children.most_memory = memory

    async def _declare_queues(self) -> None:
        if self._registry.queues and self._engine.capabilities.leads:
            await self._engine.arun(commands.DeclareQueues(self._registry.queues))

    async def _wind_down(self) -> None:
        await self._claimer.stop()
        await self._ask_for_no_more()
        self._executor.stopping = True
        self._executor.drop_waiting(self._lanes, Stop.SHUTDOWN)
        if self._executor.runs:
            log.info(
                "stopping: %s %g s to finish", counted(len(self._executor.runs), "job has", "jobs have"), self._grace
            )
        try:
            in_time = await self._finish()
        except asyncio.CancelledError:
            in_time = False
            raise
        finally:
            if not in_time:
                self.finished_in_time = False
                self._executor.stop_all(Stop.SHUTDOWN)
                await self._executor.finish(CLEANUP)
        await self._maintenance.stop()  # it begins to tell of nothing more, and those whom it has told are waited for
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._completer.drained()
        except TimeoutError:
            log.warning("the database did not take the last reports: those jobs run again when the lease ends")

    async def _ask_for_no_more(self) -> None:
        """Enqueues must not hand it jobs any longer; those that do all the same are given back."""
        with suppress(*self._engine.faults.passing):  # the database is away: nobody can enqueue either
            async with asyncio.timeout(_NO_MORE):
                await self._listener.unregister_all()

    async def _finish(self) -> bool:
        """Waits for running jobs, no longer than the time of grace or until told to end at once."""
        finishing = asyncio.ensure_future(self._executor.finish(None if self.recycling else self._grace))
        at_once = asyncio.ensure_future(self._at_once.wait())
        try:
            await asyncio.wait([finishing, at_once], return_when=asyncio.FIRST_COMPLETED)
            return finishing.done() and finishing.result()
        finally:
            finishing.cancel()
            at_once.cancel()

    async def _leave(self) -> None:
        self._calls.close()
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._statistics.report()
                released = await self._engine.arun(commands.CloseLease(self.leases.lease))
            log.info(
                "worker %s stopped%s",
                self.name,
                f"; {counted(released, 'job was', 'jobs were')} given back" if released else "",
            )
        except Exception as error:
            log.warning("could not give back the lease, it will run out by itself: %s", " ".join(str(error).split()))
        finally:
            await self._engine.aclose()

    # What the loops tell each other.

    def _busy(self) -> bool:
        return bool(self._executor.runs)

    def _wake(self) -> None:
        self._claimer.wake()

    def _miss_notifications(self) -> None:
        """What they would have told of is looked for."""
        self.leases.check_at_once()
        self._claimer.look_for_unknown()

    def _take_handed(self, queue: str, job: ClaimedJob) -> None:
        """A job that was enqueued for this worker. Without a slot for it, it goes to another at once."""
        for lane in self._lanes:
            if lane.queue == queue:
                if lane.full or self._stopping.is_set():
                    self._executor.refuse(lane, self.leases.lease, job)
                    self._claimer.wake()
                else:
                    self._executor.take(lane, self.leases.lease, [job])

    def _look(self) -> None:
        self._claimer.look()

    def _cancel(self, id: UUID) -> None:
        self._executor.cancel(id)

    def _end(self, lane: Lane, run: Run, ending: Ending) -> None:
        self._completer.add(lane, run, ending)

    def _take_lease(self) -> None:
        self._listener.lease = self.leases.lease
        self.on_lease(self.leases.lease)

    def _lose(self, lease: Lease) -> None:
        self._take_lease()
        for lane in self._lanes:
            lane.registered = None
        self._executor.drop_waiting(self._lanes, Stop.LOST)
        self._executor.stop_all(Stop.LOST, lease)
        self._claimer.wake()

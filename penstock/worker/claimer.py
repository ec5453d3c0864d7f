"""Claims jobs for the queues that have room; looks again when woken, when something ended, and now and then."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import UUID

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine, Listener
from penstock.errors import LeaseLost
from penstock.logs import counted
from penstock.worker.executor import Executor
from penstock.worker.leases import Leases
from penstock.worker.run import Lane

log = logging.getLogger("penstock.worker")

FIRST_PAUSE = 0.02
LAST_PAUSE = 120.0
"""Seconds between looks of an idle worker that would be told of work: only in case a notification was lost."""

LAST_PAUSE_WITHOUT_NOTIFICATIONS = 1.0
BUSY = 0.5
"""Seconds without running dry after which a worker asks not to be woken: every enqueue would send it a notification."""

MANY = 8
"""Queues that are due at once, from which on they are first asked which of them has jobs."""

_LAST_WORDS = 2.0
_LOOK_FOR_UNKNOWN = (1.0, 4.0, 20.0)
"""When to look for jobs whose claim had no answer: soon, and later, for the server may still be at it."""
_ON_ITS_WAY = 0.9
"""Seconds that the notification of a job may take which was handed to this worker."""


class Claimer(Loop):
    name = "claimer"

    def __init__(
        self,
        engine: Engine,
        leases: Leases,
        listener: Listener,
        executor: Executor,
        lanes: Sequence[Lane],
        *,
        woken_for_nothing: Callable[[], None],
    ) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._leases = leases
        self._listener = listener
        self._executor = executor
        self._lanes = lanes
        self._woken_for_nothing = woken_for_nothing
        self._changed = asyncio.Event()
        self._woken = False
        self._wakes = 0
        self._look_for_unknown: list[float] = []

    def look(self) -> None:
        """Something ended: there may be room."""
        self._changed.set()

    def wake(self) -> None:
        """There is work."""
        self._woken = True
        self._wakes += 1
        for lane in self._lanes:
            lane.look_at = 0.0
        self._changed.set()

    def look_for_unknown(self) -> None:
        """The lease may hold jobs that this worker was not told of."""
        now = time.monotonic()
        self._look_for_unknown = [now + pause for pause in _LOOK_FOR_UNKNOWN]
        self._changed.set()

    async def run(self) -> None:
        while True:
            self._changed.clear()
            now = time.monotonic()
            if self._look_for_unknown and self._look_for_unknown[0] <= now:
                await self._release_unknown(_ON_ITS_WAY)
                continue
            await self._unregister_busy(now)
            due = [lane for lane in self._lanes if lane.look_at <= now and lane.wanted()]
            for lane in due if len(due) < MANY else await self._with_work(due):
                await self._claim(lane)
            if not due:
                await self._wait(now)

    async def _with_work(self, due: Sequence[Lane]) -> Sequence[Lane]:
        """Those that have jobs, and those that are yet to settle down. For a worker of a thousand queues every wake and
        every poll would be a claim in each: this is one statement, at a tenth of what they take."""
        connected = self._listener.connected
        settled = [lane for lane in due if lane.registered is connected and lane.pause and lane.rate_pause is None]
        if len(settled) < MANY:
            return due
        wakes = self._wakes
        backlog = await self._engine.arun(commands.Backlog([lane.queue for lane in settled], 1))
        busy = {each.queue for each in backlog if each.ready}
        idle = {lane for lane in settled if lane.queue not in busy}
        if self._wakes == wakes:  # else what it was woken for may have come after this look
            for lane in idle:
                lane.busy_since = None
                self._rest(lane)
            if self._woken and len(idle) == len(due):
                self._woken = False
                self._woken_for_nothing()
        return [lane for lane in due if lane not in idle]

    async def _wait(self, now: float) -> None:
        """Until something changes, or a look is due."""
        alarms = [lane.look_at for lane in self._lanes if lane.wanted()] + self._look_for_unknown[:1]
        alarms += [lane.busy_since + BUSY for lane in self._lanes if lane.registered and lane.busy_since]
        seconds = min(alarms, default=now + 3600) - now
        try:
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _claim(self, lane: Lane) -> None:
        lease, wanted, wakes = self._leases.lease, lane.wanted(), self._wakes
        woken, self._woken = self._woken, False
        try:
            jobs = await self._engine.arun(lane.cursor.claim(lease, lane.queue, wanted))
        except LeaseLost:
            self._leases.check_at_once()
            lane.look_at = time.monotonic() + FIRST_PAUSE
            return
        except self._engine.faults.passing:
            self.look_for_unknown()
            raise
        lane.cursor.advance(jobs, wanted)
        if jobs:
            lane.claimed(len(jobs), wanted)
            self._executor.take(lane, lease, jobs)
        elif woken:
            self._woken_for_nothing()
            lane.rate_pause = lane.rate_pause or 0.0  # perhaps because a rate was set: asks when it settles down
        if len(jobs) == wanted:
            lane.look_at = 0.0
            lane.busy_since = lane.busy_since or time.monotonic()
        elif lane.cursor.looked_everywhere or lane.rate_pause:  # where there is a rate, every look is complete
            await self._settle_down(lane, bool(jobs))
        elif await self._register(lane):
            lane.look_at = 0.0  # what has come before that is past the cursor: it waits for no full look
        else:
            # one that is told of nothing looks past the cursor meanwhile
            longest = math.inf if self._listener.listening else LAST_PAUSE_WITHOUT_NOTIFICATIONS
            lane.look_at = time.monotonic() + min(lane.cursor.full_look_in(), longest)
        if self._wakes != wakes:
            # what it was woken for may have come after the claim had looked
            lane.look_at = 0.0

    async def _settle_down(self, lane: Lane, found: bool) -> None:
        """The queue has nothing more. Asks to be woken, looks once more, then less and less often."""
        if await self._register(lane):
            lane.look_at = 0.0
            return
        if found and not self._listener.listening:
            lane.pause = FIRST_PAUSE
        if lane.rate_pause is not None and (found or lane.rate_pause < math.inf):
            lane.rate_pause = await self._listener.register(lane.queue)
        self._rest(lane)

    def _rest(self, lane: Lane) -> None:
        """Until the next look, which comes later each time."""
        longest = LAST_PAUSE if self._listener.listening else LAST_PAUSE_WITHOUT_NOTIFICATIONS
        pause = min(lane.pause or FIRST_PAUSE, longest)
        lane.pause = 2 * pause
        lane.look_at = time.monotonic() + min(pause, lane.rate_pause or longest)

    async def _register(self, lane: Lane) -> bool:
        """Asks to be woken, unless it has: whether it did so now."""
        lane.busy_since = None
        if not self._listener.listening or lane.registered is self._listener.connected:
            return False
        connected = self._listener.connected
        lane.rate_pause = await self._listener.register(lane.queue)
        lane.registered = connected
        lane.pause = FIRST_PAUSE
        return True

    async def _unregister_busy(self, now: float) -> None:
        for lane in self._lanes:
            if lane.full and lane.busy_since is None:
                lane.busy_since = now
            if lane.registered and lane.full and self._woken:
                # it was told of work that it has no slot for: another may have one
                lane.registered = None
                await self._listener.unregister(lane.queue)
                await self._engine.arun(commands.Wake(lane.queue, 1))
            elif lane.registered and lane.busy_since and now - lane.busy_since >= BUSY:
                lane.registered = None
                await self._listener.unregister(lane.queue)

    async def stop(self) -> None:
        """A claim that was under way may have taken jobs all the same: others need not wait till this worker leaves."""
        await super().stop()
        with suppress(*self._engine.faults.passing):  # the database is away: they go back with the lease
            async with asyncio.timeout(_LAST_WORDS):
                await self._release_unknown()

    async def _release_unknown(self, seconds: float = 0) -> None:
        """The answer to a claim was lost on its way: what it took would run nowhere while this worker lives."""
        lease = self._leases.lease
        known: list[UUID] = [run.job.id for run in self._executor.runs.values() if run.lease == lease]
        released = await self._engine.arun(commands.ReleaseUnknown(lease, known, seconds))
        if self._look_for_unknown:
            del self._look_for_unknown[0]
        if released:
            told = counted(len(released), "job was", "jobs were")
            log.warning("%s claimed without this worker's knowledge, and given back", told)

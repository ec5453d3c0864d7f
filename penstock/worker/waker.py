"""Calls a URL whenever there is work in a queue: for consumers that run only while they are called, such as a function
with `tick`."""

import asyncio
import json
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Ears, Engine, Listener
from penstock.errors import InvalidInput
from penstock.extras import needs
from penstock.job import ClaimedJob, Lease
from penstock.worker.leases import Leases
from penstock.worker.maintenance import Maintenance

with needs("push", "a waker"):
    import httpx

log = logging.getLogger("penstock.waker")

TIMEOUT = 300.0
"""Seconds for an answer: the consumer works while it is called."""
PROCESSED = "processed"
"""What the count of jobs is called in a consumer's answer, as in that of `POST /api/jobs/tick`."""
_LOOK_AGAIN = 0.1
_EVERY = 60.0
"""Seconds after which it looks all the same: at first soon, because an enqueue that looked for somebody to tell when
there was nobody, and commits later, tells nobody; then after twice as long each time."""
_POLL = 1.0
_FIRST_PAUSE = 0.5
_LAST_PAUSE = 60.0


class Waker:
    """A worker of no queue: it tends the queues like any other, claims nothing, and calls who does."""

    def __init__(
        self,
        engine: Engine,
        url: str,
        queues: Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        processed: str = PROCESSED,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput("url", f"must begin with https:// or http://, not {url!r}")
        if isinstance(queues, str) or not queues:
            raise InvalidInput("queues", "name at least one, as a list")
        self._stopping = asyncio.Event()
        self._engine = engine.of_worker(None)
        self._listener = self._engine.listener(
            Ears(
                wake=self._wake,
                cancel=_ignore,
                hand=_unasked,
                missed=self._miss,
                heard=lambda _: None,
                busy=lambda: False,
            )
        )
        self._leases = Leases(
            self._engine, self._listener, queues=[], name=f"waker {socket.gethostname()}:{os.getpid()}", seconds=None,
            busy=lambda: False, cancel=_ignore, lost=self._take_lease,
        )  # fmt: skip
        self._calling = _Calling(self._engine, self._listener, url, queues, {**(headers or {})}, timeout, processed)

    @property
    def asleep(self) -> asyncio.Event:
        """Set when there was nothing to do, and it would hear of a job."""
        return self._calling.asleep

    def stop(self) -> None:
        """A call that is under way is given up; its consumer gives its jobs back."""
        self._stopping.set()

    async def run(self) -> None:
        """Until stopped or cancelled."""
        loops: list[Loop | Listener] = [
            self._listener,
            self._leases,
            Maintenance(self._engine, self._leases),
            self._calling,
        ]
        try:
            await self._leases.open()
            self._take_lease(Lease(0))
            for loop in loops:
                loop.start()
            await self._stopping.wait()
        finally:
            for loop in reversed(loops):
                await loop.stop()
            with suppress(Exception):  # the database is away: the lease runs out by itself
                async with asyncio.timeout(_POLL):
                    await self._engine.arun(commands.CloseLease(self._leases.lease))
            await self._engine.aclose()

    def _wake(self) -> None:
        self._calling.told.set()

    def _miss(self) -> None:
        self._leases.check_at_once()
        self._wake()

    def _take_lease(self, _: Lease) -> None:
        self._listener.lease = self._leases.lease
        self._wake()


class _Calling(Loop):
    """Calls as long as anything is ready, and then when it is told of another."""

    name = "waker"

    def __init__(
        self,
        engine: Engine,
        listener: Listener,
        url: str,
        queues: Sequence[str],
        headers: Mapping[str, str],
        timeout: float,
        processed: str,
    ) -> None:
        super().__init__(engine.faults)
        self.told = asyncio.Event()
        self.asleep = asyncio.Event()
        self._engine = engine
        self._listener = listener
        self._url = httpx.URL(url)
        self._shown = self._url.copy_with(query=None, userinfo=b"")
        """For logs: what else is in a URL may be a secret."""
        self._queues = list(queues)
        self._headers = {"User-Agent": "penstock", **headers}
        self._timeout = timeout
        self._processed = processed
        self._look_again = _LOOK_AGAIN

    async def run(self) -> None:
        await self._listener.settle()
        pause = _FIRST_PAUSE
        async with httpx.AsyncClient(timeout=self._timeout, headers=self._headers) as client:
            while True:
                if not await self._anything_ready():
                    await self._sleep()
                    continue
                self._look_again = _LOOK_AGAIN
                if await self._call(client):
                    pause = _FIRST_PAUSE
                else:
                    # it failed, or took none of what is there: a limit keeps it, or another consumer is at it
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LAST_PAUSE)

    async def _call(self, client: httpx.AsyncClient) -> bool:
        """Whether it did something."""
        try:
            answer = await client.post(self._url)
        except httpx.HTTPError as error:
            log.warning("%s could not be called: %s", self._shown, str(error) or type(error).__name__)
            return False
        if not answer.is_success:
            log.warning("%s answered %s: %s", self._shown, answer.status_code, " ".join(answer.text[:300].split()))
            return False
        processed = _processed(answer, self._processed)
        log.info("called %s%s", self._shown, "" if processed is None else f": {processed} processed")
        return processed != 0

    async def _anything_ready(self) -> bool:
        for queue in self._queues:
            now = await self._engine.arun(commands.ScaleOf(queue))
            if now.ready and not now.paused:
                return True
        return False

    async def _sleep(self) -> None:
        """Until there may be work. It looks once more when it is registered: what came before that woke nobody."""
        self.told.clear()
        if not self._listener.listening:
            await asyncio.sleep(_POLL)
            return
        await self._listener.run_command(commands.WaitForWork(self._listener.lease, self._queues))
        if await self._anything_ready():
            return
        self.asleep.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._look_again):
                await self.told.wait()
        self._look_again = min(2 * self._look_again, _EVERY)


def _processed(answer: httpx.Response, field: str) -> int | None:
    """How many jobs the consumer says it ran; None when it does not say."""
    with suppress(json.JSONDecodeError, UnicodeDecodeError):
        told = answer.json()
        if isinstance(told, dict) and isinstance(told.get(field), int):
            return int(told[field])
    return None


def _ignore(_: UUID) -> None:
    """It has no jobs that could be cancelled."""


def _unasked(queue: str, job: ClaimedJob) -> None:
    """Nobody hands it jobs: it did not offer to run any."""
    raise AssertionError(f"{queue}: was handed {job.id}")

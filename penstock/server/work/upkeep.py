"""Tends the queues while workers without a database rely on it: promotes what is due, takes back what is lost."""

import asyncio
import os
import socket
from contextlib import suppress
from typing import TypeVar

from penstock.app import Penstock
from penstock.engine.commands import CloseLease, IsOperating
from penstock.engine.commands.command import Command
from penstock.engine.loop import Loop
from penstock.engine.postgres.engine import PostgresEngine
from penstock.worker.cron import Cron
from penstock.worker.failures import Failures
from penstock.worker.leases import Leases
from penstock.worker.maintenance import Maintenance
from penstock.worker.sweeper import Sweeper

T = TypeVar("T")

_LAST_WORDS = 3.0
"""Seconds for whoever is being told of lost jobs."""


class Upkeep:
    """A worker of no queue: it may lead, and claims nothing. Started when the first worker comes over HTTP, or many
    jobs are to be changed for an operator, because the leader looks at the database every second, and a server that
    only answers should not."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._leases: Leases | None = None
        self._loops: list[Loop] = []
        self._failures = Failures()
        self._starting = asyncio.Lock()

    async def take_up(self) -> None:
        """What an operator began goes on, though the server or worker that was at it is gone."""
        if await self._app.database.arun(IsOperating()):
            await self.ensure()

    async def ensure(self) -> None:
        """Runs from here on."""
        async with self._starting:
            if self._leases is None:
                engine = self._app.database
                leases = Leases(
                    engine, _Unheard(engine), queues=[], name=f"server {socket.gethostname()}:{os.getpid()}",
                    seconds=None, busy=lambda: False, cancel=lambda _: None, lost=lambda _: None,
                )  # fmt: skip
                await leases.open()
                self._leases = leases
                self._failures = Failures(self._app.failure_hooks, self._app.kinds)
                maintenance = Maintenance(engine, leases, self._failures)
                cron = Cron(engine, self._app.schedules.code, leads=leases.leading.is_set)
                self._loops = [leases, maintenance, cron, Sweeper(engine, leases, self._app.artifacts.storage)]
                for loop in self._loops:
                    loop.start()

    async def aclose(self) -> None:
        for loop in self._loops:
            await loop.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await self._failures.told()
        if self._leases is not None:
            await self._app.engine.arun(CloseLease(self._leases.lease))
        self._loops, self._leases = [], None


class _Unheard:
    """In a listener's place: nothing needs to be heard here."""

    listening = True
    heard_at = 0.0

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    async def run_command(self, command: Command[T], /) -> T:
        return await self._engine.arun(command)

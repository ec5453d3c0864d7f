"""Watching jobs through a hub, with an engine that remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from penstock.engine.commands import SeeJob
from penstock.engine.postgres.engine import Asked, PostgresEngine
from penstock.engine.postgres.render import render
from penstock.engine.postgres.statement import Statement
from penstock.job import NewJob
from penstock.server.live.hub import Hub
from penstock.server.live.states import State
from tests.kit.until import soon, until

T = TypeVar("T")


class Counted(PostgresEngine):
    """Remembers what it was asked."""

    def __init__(self, url: str) -> None:
        super().__init__(lambda: url)
        self.asked: list[str] = []
        self.held: asyncio.Event | None = None
        """The next look of one who joins sees what there is, and tells of it only after this."""

    async def arun(self, call: Asked[T], /) -> T:
        self.asked.append(call.text if isinstance(call, Statement) else render(call).text)
        result = await super().arun(call)
        task = asyncio.current_task()
        # the hub's own looks go on: one of them may be under way for somebody who has just parted
        joins = task is not None and not task.get_name().startswith("penstock ")
        if isinstance(call, SeeJob) and joins and self.held is not None:
            held, self.held = self.held, None
            await held.wait()
        return result


class Ear:
    """A watcher that remembers what it is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[State] = asyncio.Queue()
        self.beats = 0
        self.left = asyncio.Event()

    def tell(self, state: State) -> None:
        self.told.put_nowait(state)

    def keep_alive(self) -> None:
        self.beats += 1

    def leave(self) -> None:
        self.left.set()

    async def hear(self) -> State:
        return await soon(self.told.get())


@asynccontextmanager
async def started(engine: PostgresEngine, *, listens: bool = True) -> AsyncIterator[Hub]:
    """A hub that has found out whether notifications arrive."""
    hub = Hub(engine, engine)
    ear = Ear()
    topic = await hub.join(ear, NewJob(kind="never enqueued").id)
    hub.part(ear, topic)
    if listens:
        # it may have begun to listen while the ear was there, and looks at that job then
        await until(lambda: hub.listening and hub.at_rest)
    yield hub
    await hub.aclose()

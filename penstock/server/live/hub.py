"""Who watches which job. However many watch, one connection listens for the whole process, a change costs one look-up,
and while nothing changes nobody asks the database for anything."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

import msgspec

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.engine.commands import SeenJob
from penstock.engine.loop import Loop
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.listener import Notifications
from penstock.engine.protocol import Engine
from penstock.job import JobState
from penstock.server.live.lookup import Looker
from penstock.server.live.states import Link, State

log = logging.getLogger("penstock.server")

_ECHO = 2.0
"""Seconds after which a notification that did not arrive never will."""
_POLL = 0.75
_LISTEN_AGAIN = 60.0
"""Seconds of polling until it is tried again whether notifications arrive."""
_IN_A_ROW = 250
"""Watchers told before others get their turn: 5,000 take a tenth of a second."""
_ROWS = 16
"""Keep-alives are sent row by row, for the same reason."""


MakeLinks = Callable[[Sequence[Artifact]], Awaitable[Sequence[Link]]]


class _Notification(msgspec.Struct):
    id: UUID
    state: JobState | None


_read_notification = msgspec.json.Decoder(_Notification).decode


class Watcher(Protocol):
    """Told by the hub, and never waited for: who cannot take something now keeps the newest for later."""

    @abstractmethod
    def tell(self, state: State) -> None:
        """The job is another than before."""

    @abstractmethod
    def keep_alive(self) -> None:
        """A while has passed."""

    @abstractmethod
    def leave(self) -> None:
        """The server stops: the stream is to end."""


class Topic:
    """A watched job: what is known of it, and who is to be told."""

    __slots__ = ("id", "opening", "state", "watchers")

    def __init__(self, id: UUID) -> None:
        self.id = id
        self.state: State | None = None
        self.watchers: set[Watcher] = set()
        self.opening = asyncio.Lock()


class Hub:
    """Tells watchers of jobs what becomes of them. Listens from the first watcher on until `aclose`.

    `database` notifies of jobs; where it is None they are elsewhere, and those that are watched are looked at.
    `links` makes links to artifacts, which come with a job's end.
    """

    def __init__(
        self,
        engine: Engine,
        database: PostgresEngine | None,
        *,
        keep_alive: float = 15.0,
        links: MakeLinks | None = None,
    ) -> None:
        self._engine = engine
        self._links = links
        self._topics: dict[UUID, Topic] = {}
        self._looker = Looker(engine, database, self._topics, self._tell)
        self._ear = None if database is None else _Ear(database, self)
        self._eye = _Eye(self)
        self._pulse = _Pulse(keep_alive)
        loops: tuple[Loop | None, ...] = (self._looker, self._ear, self._eye, self._pulse)
        self._loops = [loop for loop in loops if loop is not None]
        self._started = False
        self._leaving = False

    async def join(self, watcher: Watcher, job_id: UUID) -> Topic:
        """From here on the watcher is told what changes, until it parts. The topic has the state that it begins with;
        none when there is no such job. Whether the caller may see it is for whoever calls this to know."""
        if not self._started:
            self._started = True
            for loop in self._loops:
                loop.start()
        topic = self._topics.get(job_id)
        if topic is None:
            topic = self._topics[job_id] = Topic(job_id)
        topic.watchers.add(watcher)
        try:
            async with topic.opening:
                if topic.state is None:
                    await self._open(topic)
        except BaseException:
            self.part(watcher, topic)
            raise
        self._pulse.add(watcher)
        if self._leaving:
            watcher.leave()
        return topic

    def part(self, watcher: Watcher, topic: Topic) -> None:
        topic.watchers.discard(watcher)
        self._pulse.discard(watcher)
        if not topic.watchers:
            self._forget(topic)

    @property
    def watchers(self) -> int:
        return self._pulse.count()

    @property
    def listening(self) -> bool:
        """Whether notifications arrive; where they cannot, or not yet, watched jobs are looked at all the same."""
        return self._ear is not None and self._ear.listening

    @property
    def at_rest(self) -> bool:
        """Whether all that it heard of has been looked at."""
        return self._looker.at_rest

    def leave(self) -> None:
        """Lets every stream end, as a server must before it can stop."""
        self._leaving = True
        for watcher in self._pulse.everybody():
            watcher.leave()

    async def aclose(self) -> None:
        self.leave()
        for loop in self._loops:
            await loop.stop()

    def hear(self, payload: str) -> None:
        """A notification about any job of the database."""
        notification = _read_notification(payload)
        if notification.id in self._topics:
            self._looker.look_at((notification.id,), ended=notification.state is None or notification.state.final)

    def look_at_all(self) -> None:
        """Whatever nobody was told of. Whether it is watched, the database may not know."""
        self._looker.look_at(self._topics, unsure=True)

    def poll(self) -> None:
        """Whoever is joining looks for itself."""
        self._looker.look_at([id for id, topic in self._topics.items() if topic.state is not None])

    async def _open(self, topic: Topic) -> None:
        """The first look. Watched before looked at: what happens in between is told."""
        if self.listening:
            await self._engine.arun(commands.Watch(topic.id))
        job = await self._engine.arun(commands.SeeJob(topic.id))
        if job is not None:
            state = await self._describe(job)
            if topic.state is None:  # a notification may have come meanwhile, and a look that saw more
                self._note(topic, state)

    async def _tell(self, id: UUID, job: SeenJob | None) -> None:
        """What a look-up found."""
        topic = self._topics.get(id)
        if topic is None:
            return
        known = topic.state
        if job is None:
            if known is None:
                return
            # only one end leaves no record: success in a queue that keeps none of it
            job = msgspec.structs.replace(known.job, state=JobState.SUCCEEDED, finished_at=datetime.now(UTC))
        state = await self._describe(job)
        if known is not None and state.version == known.version:
            return
        self._note(topic, state)
        for count, watcher in enumerate(list(topic.watchers), 1):
            watcher.tell(state)
            if count % _IN_A_ROW == 0:
                await asyncio.sleep(0)

    async def _describe(self, job: SeenJob) -> State:
        if self._links is None or not job.state.final:
            return State(job)
        return State(job, await self._links(job.artifacts or ()))

    def _note(self, topic: Topic, state: State) -> None:
        topic.state = state
        if state.final:
            # the next to come look for themselves: it may have been retried
            self._forget(topic)

    def _forget(self, topic: Topic) -> None:
        if self._topics.get(topic.id) is topic:
            del self._topics[topic.id]


class _Ear(Loop):
    """Listens, where notifications arrive."""

    name = "listening for watchers"

    def __init__(self, engine: PostgresEngine, hub: Hub) -> None:
        super().__init__(engine.faults)
        self.listening = False
        self._engine = engine
        self._hub = hub

    async def run(self) -> None:
        while True:
            notifications = Notifications(self._engine, ["job"], lambda _, payload: self._hub.hear(payload))
            if not await notifications.open(_ECHO):
                log.info("notifications do not arrive here (a transaction pooler?): polling for watchers instead")
                await asyncio.sleep(_LISTEN_AGAIN)
                continue
            try:
                self.listening = True
                self._hub.look_at_all()
                await notifications.broken.wait()
                log.debug("the connection that listens for watchers was lost; opening another")
            finally:
                self.listening = False
                notifications.close()


class _Eye(Loop):
    """Polls while nothing is heard, for whatever reason: a server that takes no further connection answers all the same
    on those it has."""

    name = "polling for watchers"

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_POLL)
            if not self._hub.listening:
                self._hub.poll()


class _Pulse(Loop):
    """Tells every watcher in turn that a while has passed: one timer for all of them."""

    name = "keeping streams alive"

    def __init__(self, every: float) -> None:
        super().__init__()
        self._pause = every / _ROWS
        self._rows: list[set[Watcher]] = [set() for _ in range(_ROWS)]

    def add(self, watcher: Watcher) -> None:
        min(self._rows, key=len).add(watcher)

    def discard(self, watcher: Watcher) -> None:
        for row in self._rows:
            row.discard(watcher)

    def count(self) -> int:
        return sum(map(len, self._rows))

    def everybody(self) -> list[Watcher]:
        return [watcher for row in self._rows for watcher in row]

    async def run(self) -> None:
        while True:
            for row in self._rows:
                await asyncio.sleep(self._pause)
                for watcher in list(row):
                    watcher.keep_alive()

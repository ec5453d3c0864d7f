"""Looks up watched jobs that changed: one query at a time, and all that changed meanwhile in the next."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from itertools import islice
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import SeenJob
from penstock.engine.loop import Loop
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.statement import Statement, nothing
from penstock.engine.protocol import Engine

_AT_ONCE = 1000
"""Jobs in one query."""

Found = Callable[[UUID, SeenJob | None], Awaitable[None]]


class Looker(Loop):
    name = "looking at watched jobs"

    def __init__(self, engine: Engine, database: PostgresEngine | None, watched: Container[UUID], found: Found) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._database = database
        self._watched = watched
        self._found = found
        self._stale: dict[UUID, None] = {}
        self._ended: set[UUID] = set()
        """Those of which a notification said that they ended."""
        self._unsure: set[UUID] = set()
        """Those which the database may not know to be watched."""
        self._wanted = asyncio.Event()

    def look_at(self, ids: Iterable[UUID], *, ended: bool = False, unsure: bool = False) -> None:
        """`unsure` when notifications may have been missed: a job that ended and was retried is an unwatched row."""
        for id in ids:
            self._stale[id] = None
            if ended:
                self._ended.add(id)
            if unsure:
                self._unsure.add(id)
        self._wanted.set()

    @property
    def at_rest(self) -> bool:
        """Whether no look-up is under way, or due."""
        return not self._wanted.is_set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            while self._stale:
                await self._look(list(islice(self._stale, _AT_ONCE)))
            self._wanted.clear()

    async def _look(self, stale: Sequence[UUID]) -> None:
        ended, unsure = self._ended.intersection(stale), self._unsure.intersection(stale)
        for id in stale:
            del self._stale[id]
        self._ended -= ended
        self._unsure -= unsure
        ids = [id for id in stale if id in self._watched]
        if not ids:
            return
        try:
            if unsure and self._database is not None:
                await self._database.arun(_watch_all(sorted(unsure)))
            jobs = await self._look_up(ids)
            for id in ids:
                job = jobs.get(id)
                if id in ended and job is not None and not job.state.final:
                    # retried meanwhile, as a row that nobody watches
                    self.look_at((id,), unsure=True)
                await self._found(id, job)
        except BaseException:
            self.look_at(ids)
            self._ended |= ended
            self._unsure |= unsure
            raise

    async def _look_up(self, ids: Sequence[UUID]) -> dict[UUID, SeenJob | None]:
        if len(ids) == 1 and self._database is not None:
            return {ids[0]: await self._engine.arun(commands.SeeJob(ids[0]))}
        found: dict[UUID, SeenJob | None] = {}
        for job in await self._engine.arun(commands.SeeJobs({"ids": [str(id) for id in ids]}, None, len(ids))):
            # only a job that is looked at by itself comes with what it made
            found[job.id] = await self._engine.arun(commands.SeeJob(job.id)) if job.state.final else job
        return found


def _watch_all(ids: Sequence[UUID]) -> Statement[None]:
    """In the order of their ids, as others lock them; those that are watched already are not locked at all."""
    return Statement(
        "select penstock.watch(id) from pg_catalog.unnest(%s::uuid[]) as id", [ids], nothing, repeatable=True
    )

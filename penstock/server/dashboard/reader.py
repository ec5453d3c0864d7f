"""Where pages read: on a replica, if the server has one that keeps up, else on the leader."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from penstock.engine.commands.command import Command
from penstock.engine.faults import Outage, answering_within
from penstock.engine.postgres.address import read_address
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.statement import Statement, first
from penstock.errors import InvalidInput
from penstock.server.settings import ServerSettings

T = TypeVar("T")

log = logging.getLogger("penstock.database")

BEHIND = 5.0
"""Seconds that a replica may be behind."""
EVERY = 1.0
"""Seconds between two looks at how far behind it is."""
AFTER_CHANGE = BEHIND + 2 * EVERY
"""Seconds after a change for which a replica may not have it."""
_WITHIN = 1.0
"""Seconds in which a replica answers: whoever waits for a page waits for the leader after that."""

_HOW_FAR = """
select case when not pg_catalog.pg_is_in_recovery() then 0
            when pg_catalog.pg_last_wal_receive_lsn() <= pg_catalog.pg_last_wal_replay_lsn()
                 and exists (select from pg_catalog.pg_stat_wal_receiver) then 0
            else coalesce(
              extract(epoch from pg_catalog.clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()), 'infinity')
       end::pg_catalog.float8
"""
"""As old as the last transaction that it has replayed, which nothing is while a leader is idle: unless it is connected
and has replayed all that came."""


def replica_of(settings: ServerSettings, schema: str) -> PostgresEngine | None:
    if not settings.replica_url:
        return None
    try:
        url = read_address(settings.replica_url)
    except InvalidInput as error:
        raise InvalidInput("PENSTOCK_REPLICA_URL", error.problem) from None
    outage = Outage("the replica", meanwhile="pages are read from the leader")
    return PostgresEngine(lambda: url, schema=schema, timeout=_WITHIN, outage=outage)


class Reader:
    """Runs commands that only read. Whatever a replica cannot answer, the leader is asked."""

    def __init__(
        self, leader: PostgresEngine, replica: PostgresEngine | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.replica = replica
        self._leader = leader
        self._clock = clock
        self._keeps_up = True
        self._late = False
        self._looking: asyncio.Task[None] | None = None
        self._look_at = -math.inf
        self._leader_until = -math.inf

    async def arun(self, command: Command[T]) -> T:
        if self.replica is not None and await self._may_ask():
            try:
                with answering_within(_WITHIN):
                    found = await self.replica.arun(command)
            except Exception as error:
                if self.replica.faults.is_lost(error):
                    self._keeps_up = False
            else:
                # what is not there may be on its way
                if found is not None:
                    return found
        return await self._leader.arun(command)

    def after_change(self) -> None:
        """Whoever has changed something sees it: for a while the leader alone is asked."""
        self._leader_until = self._clock() + AFTER_CHANGE

    async def aclose(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self.replica is not None:
            await self.replica.aclose()

    async def _may_ask(self) -> bool:
        now = self._clock()
        if now < self._leader_until:
            return False
        if now >= self._look_at and (self._looking is None or self._looking.done()):
            self._look_at = now + EVERY
            self._looking = asyncio.get_running_loop().create_task(self._look())
        # nobody waits for one that was away
        if self._keeps_up and self._looking is not None:
            await asyncio.shield(self._looking)
        return self._keeps_up

    async def _look(self) -> None:
        assert self.replica is not None
        try:
            with answering_within(_WITHIN):
                behind: float = await self.replica.arun(Statement(_HOW_FAR, [], first, repeatable=True))
        except Exception as error:
            self._keeps_up = False
            self.replica.outage.begin(" ".join(str(error).split()))
            return
        self.replica.outage.end()
        late = behind > BEHIND
        if late and not self._late:
            log.warning("the replica is %.0f s behind: pages are read from the leader until it catches up", behind)
        elif self._late and not late:
            log.warning("the replica has caught up")
        self._late, self._keeps_up = late, not late

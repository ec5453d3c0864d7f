"""Whether the database answers at all: asked of a new connection when something takes long."""

import asyncio
import threading
import time
from typing import Any

import psycopg

from penstock.engine.outage import UNSET, Outage, within
from penstock.engine.postgres.connections import AsyncConnection, SyncConnection
from penstock.engine.postgres.errors import PostgresUnavailable


class Contact:
    """Between one pool and its server."""

    def __init__(self, settings: dict[str, Any], timeout: float | None, outage: Outage) -> None:
        self.answered_at = 0.0
        self.outage = outage
        self._settings = settings
        self._timeout = timeout
        self._unanswered_at = 0.0
        self._one_at_a_time = threading.Lock()
        self._probing: asyncio.Task[None] | None = None

    @property
    def timeout(self) -> float | None:
        asked = within.get()
        return self._timeout if asked is UNSET else asked

    # by hand: threads wait for one another by a lock
    def check(self, since: float, seconds: float, *, sent: bool) -> None:
        """Raises DatabaseUnavailable if nobody had an answer since, and a new connection gets none either."""
        with self._one_at_a_time:
            if self.answered_at >= since:
                return
            if self._unanswered_at < since:
                self._probe(seconds / 2)
        if self.answered_at < since:
            raise PostgresUnavailable(seconds, _SILENT, sent=sent)

    async def acheck(self, since: float, seconds: float, *, sent: bool) -> None:
        if self.answered_at < since and self._unanswered_at < since:
            if self._probing is None or self._probing.done():
                self._probing = asyncio.get_running_loop().create_task(self._aprobe(seconds / 2))
            # shielded: whoever began it may not want to know any more while others do
            await asyncio.shield(self._probing)
        if self.answered_at < since:
            raise PostgresUnavailable(seconds, _SILENT, sent=sent)

    def _probe(self, seconds: float) -> None:
        try:
            SyncConnection.connect_within(seconds, self._settings).close()
        except psycopg.OperationalError as error:
            self._take(error)
        else:
            self._take(None)

    async def _aprobe(self, seconds: float) -> None:
        try:
            await (await AsyncConnection.connect_within(seconds, self._settings)).close()
        except psycopg.OperationalError as error:
            self._take(error)
        else:
            self._take(None)

    def _take(self, error: Exception | None) -> None:
        if error is None or "FATAL" in str(error):  # it has too many connections, but it lives
            self.answered_at = time.monotonic()
        else:
            self._unanswered_at = time.monotonic()
            self.outage.begin(_SILENT)


_SILENT = "it does not answer"

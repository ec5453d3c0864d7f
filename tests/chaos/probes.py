"""Is everybody well again? A job for any worker and one for each, enqueued now: how long until all are finished."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from penstock import NewJob, Penstock
from tests.chaos.crew import Crew
from tests.chaos.handlers import make_app
from tests.chaos.ledger import Fates
from tests.chaos.server import Reached
from tests.chaos.worker import own_queue

TIMEOUT = 30.0
EVIDENCE = (
    "select clock_timestamp(), penstock.clock()",
    "select kind, queue, state, lease, claims, count(*), min(run_at) from penstock.jobs group by 1, 2, 3, 4, 5",
    "select * from penstock.leases_now",
    "select * from penstock.waiting",
    "select pid, application_name, state, wait_event, xact_start, left(query, 60) from pg_stat_activity",
)


@dataclass(frozen=True)
class Recovery:
    seconds: float
    stuck: tuple[str, ...] = ()
    """Who did not answer."""


class Probes:
    def __init__(self, server: Reached, crew: Crew, folder: Path) -> None:
        self._server = server
        self._crew = crew
        self._app: Penstock = make_app(server.url)
        self._fates = Fates(folder, "probes")
        self._log = folder / "stuck.log"

    def measure(self, since: float) -> Recovery:
        """Seconds since then until every probe is finished."""
        probes = self._enqueue()
        deadline = since + TIMEOUT
        while True:
            try:
                with self._server.connect() as connection:
                    while waiting := self._unfinished(connection, probes):
                        if time.monotonic() > deadline:
                            self.write_what_is_there(connection, ", ".join(waiting))
                            return Recovery(TIMEOUT, tuple(sorted(waiting)))
                        time.sleep(0.01)
                return Recovery(time.monotonic() - since)
            except psycopg.OperationalError:
                continue  # a server that panicked with its disk full starts anew

    def write_what_is_there(self, connection: psycopg.Connection[Any], silent: str) -> None:
        """For whoever looks into it."""
        with self._log.open("a") as log:
            print(f"{datetime.now(UTC)}: no answer from {silent}", file=log)
            for query in EVIDENCE:
                print(f"  {query}", file=log)
                for row in connection.execute(query.encode()):
                    print(f"    {row}", file=log)

    def close(self) -> None:
        self._fates.close()

    def _enqueue(self) -> dict[UUID, str]:
        while True:
            probe = self._app.handler("probe")
            lanes = {"anybody": "default"} | {name: own_queue(name) for name in self._crew.workers}
            jobs: dict[str, NewJob] = {name: probe.using(queue=queue).prepare() for name, queue in lanes.items()}
            ids = {job.id: name for name, job in jobs.items()}
            try:
                with self._server.connect() as connection, connection.transaction():
                    self._app.enqueue_many(jobs.values(), connection=connection)
                self._fates.write("committed", ids)
                return ids
            except psycopg.OperationalError:
                self._fates.write("maybe", ids)

    def _unfinished(self, connection: psycopg.Connection[Any], probes: dict[UUID, str]) -> list[str]:
        finished = connection.execute("select id from penstock.history where id = any(%s)", [list(probes)]).fetchall()
        return [name for id, name in probes.items() if (id,) not in finished]

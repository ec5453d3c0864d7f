"""One connection to the engine with short verbs, and a worker on it: what the tests of the engine act with."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from penstock.engine import Cursor, calls
from penstock.engine.call import Call, Row
from penstock.engine.postgres.drivers import Psycopg, one, run_script
from penstock.engine.postgres.enqueue import Bulk, enqueue
from penstock.flow import Flow
from penstock.job import ClaimedJob, Enqueued, Job, JobState, Lease, NewJob

T = TypeVar("T")


class Hand:
    """Runs calls on its own connection, without the pool's second tries, at the real time or a time of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.now: datetime | None = None
        self._runner = Psycopg(connection, "penstock")

    def run(self, call: Call[T]) -> T:
        return run_script(self._runner, one(call), "penstock")

    def rows(self, text: str, *params: object) -> list[Row]:
        return self.connection.execute(text.encode(), params or None).fetchall()

    def do(self, text: str, *params: object) -> None:
        self.connection.execute(text.encode(), params or None)

    def value(self, text: str, *params: object) -> Any:
        return self.rows(text, *params)[0][0]

    def row(self, id: UUID) -> Any:
        """The whole row of a job, for a test that has to explain itself."""
        return self.rows(
            "select to_jsonb(j) from penstock.jobs as j where id = %s union all "
            "select to_jsonb(h) from penstock.history as h where id = %s",
            id,
            id,
        )

    def set_clock(self, now: datetime | None) -> None:
        self.now = now
        self.rows("select set_config('penstock_clock.now', %s, false)", "" if now is None else now.isoformat())

    def move_clock(self, **by: float) -> None:
        """Stops the engine's clock on this connection if it runs, then moves it."""
        self.set_clock((self.now or datetime.now(UTC)) + timedelta(**by))

    def let_others_end(self, within: float = 60.0) -> None:
        """Waits until all transactions of the server that have a number by now have ended, other tests' included: as
        long as one goes on, nobody can tell what it will have made ready."""
        number = self.value("select pg_current_xact_id()::text")
        deadline = time.monotonic() + within
        while not self.value("select pg_snapshot_xmin(pg_current_snapshot()) > %s::xid8", number):
            assert time.monotonic() < deadline, "somebody's transaction goes on and on"
            time.sleep(0.005)

    def enqueue(self, *jobs: NewJob) -> Sequence[Enqueued]:
        with self._runner.all_or_none():
            return run_script(self._runner, enqueue(jobs), "penstock")

    def enqueue_many(self, template: NewJob, jobs: int) -> None:
        """So many jobs like this one, by COPY where that will do."""
        with self._runner.all_or_none():
            run_script(self._runner, enqueue(Bulk.of(template, [b"{}"] * jobs)), "penstock")

    def add(self, kind: str = "work", **about: Any) -> UUID:
        """Enqueues one job; its id."""
        return self.enqueue(NewJob(kind=kind, **about))[0].id

    def start(self, flow: Flow) -> UUID:
        """Enqueues a flow; the id of its root."""
        return self.enqueue(*flow.jobs())[0].id

    def job(self, id: UUID) -> Job:
        job = self.run(calls.get_job(id))
        assert job is not None, f"{id} is lost"
        return job

    def state(self, id: UUID) -> JobState:
        return self.job(id).state

    def states(self, *ids: UUID) -> list[str]:
        return [str(self.state(id)) for id in ids]

    def set_queue(self, name: str, **settings: Any) -> None:
        self.run(calls.set_queue(name, settings))

    def worker(self, name: str = "worker", *, seconds: float = 30) -> "Worker":
        return Worker(self, self.run(calls.open_lease(name, seconds=seconds)))


@dataclass
class Worker:
    """A lease, and what may be done with it."""

    hand: Hand
    lease: Lease
    cursors: dict[str, Cursor] = field(default_factory=dict)

    def claim(self, limit: int = 1, queue: str = "default", **about: Any) -> list[ClaimedJob]:
        return self.hand.run(calls.claim(self.lease, queue, limit, **about))

    def claim_one(self, queue: str = "default", **about: Any) -> ClaimedJob:
        [job] = self.claim(1, queue, **about)
        return job

    def complete(self, *jobs: ClaimedJob, outputs: Sequence[bytes | None] = ()) -> list[UUID]:
        return self.hand.run(calls.complete(self.lease, jobs, outputs))

    def fail(self, job: ClaimedJob, error: str = "boom", **about: Any) -> tuple[JobState, datetime | None]:
        return self.hand.run(calls.fail(self.lease, [job], [{"error": error, **about}]))[job.id]

    def progress(self, job: ClaimedJob, percent: float, **about: Any) -> bool:
        """Whether the report was accepted."""
        return job.id in self.hand.run(calls.report_progress(self.lease, [job], [{"percent": percent, **about}]))

    def finish_all(self, queue: str = "default", *, outputs: bool = False) -> list[ClaimedJob]:
        """Claims and completes until the queue gives nothing more; in the order they ran."""
        done: list[ClaimedJob] = []
        while jobs := self.claim(100, queue):
            assert self.complete(*jobs, outputs=[b'"%s"' % job.kind.encode() for job in jobs] if outputs else ()) == []
            done += jobs
        return done

"""One connection to the engine with short verbs, and a worker on it: what the tests of the engine act with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus

from penstock.engine import Cursor, commands
from penstock.engine.commands import Command
from penstock.engine.postgres.drivers import Psycopg, run_one, run_script
from penstock.engine.postgres.enqueue import enqueue
from penstock.engine.postgres.statement import Row, Statement
from penstock.flow import Flow
from penstock.job import Bulk, ClaimedJob, Enqueued, Job, JobState, Lease, NewJob
from tests.kit import saying
from tests.kit.pooler import POOLED
from tests.kit.until import wait_until

T = TypeVar("T")

_CLOCK = "select set_config('penstock_clock.now', %s, %s)"
_ALONE = ("begin", "commit", "rollback", "vacuum")


class Hand:
    """Runs commands on its own connection, without the pool's second tries, at the real time or a time of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.now: datetime | None = None
        # a test that needs a session of its own has the server's socket
        self._pooled = POOLED and not connection.info.host.startswith("/")
        self._runner = Psycopg(connection, "penstock")

    def run(self, asked: Command[T] | Statement[T]) -> T:
        with self._at_its_time():
            return run_one(self._runner, asked, "penstock")

    def rows(self, text: str, *params: object) -> list[Row]:
        with self._at_its_time(text):
            return self.connection.execute(text.encode(), params or None).fetchall()

    def do(self, text: str, *params: object) -> None:
        with self._at_its_time(text):
            self.connection.execute(text.encode(), params or None)

    @contextmanager
    def _at_its_time(self, text: str = "") -> Iterator[None]:
        """Behind a pooler each transaction may have another session, which does not know of this one's clock."""
        status = self.connection.info.transaction_status
        if not self._pooled or self.now is None or status is TransactionStatus.INERROR or text.startswith(_ALONE):
            yield
            return
        with self.connection.transaction() if status is TransactionStatus.IDLE else nullcontext():
            self.connection.execute(_CLOCK, [self.now.isoformat(), True])
            yield

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
        if not self._pooled:
            self.connection.execute(_CLOCK, ["" if now is None else now.isoformat(), False])

    def move_clock(self, **by: float) -> None:
        """Stops the engine's clock on this connection if it runs, then moves it."""
        self.set_clock((self.now or datetime.now(UTC)) + timedelta(**by))

    def let_others_end(self, within: float = 60.0) -> None:
        """Waits until all transactions of the server that have a number by now have ended, other tests' included: as
        long as one goes on, nobody can tell what it will have made ready."""
        number = self.value("select pg_current_xact_id()::text")
        ended = "select pg_snapshot_xmin(pg_current_snapshot()) > %s::xid8"
        wait_until(lambda: self.value(ended, number), within, what="the end of every transaction of the server")

    def enqueue(self, *jobs: NewJob) -> Sequence[Enqueued]:
        with self._runner.all_or_none(), self._at_its_time():
            return run_script(self._runner, enqueue(jobs), "penstock")

    def enqueue_many(self, template: NewJob, jobs: int) -> None:
        """So many jobs like this one, by COPY where that will do."""
        with self._runner.all_or_none(), self._at_its_time():
            run_script(self._runner, enqueue(Bulk.of(template, [b"{}"] * jobs)), "penstock")

    def add(self, kind: str = "work", **about: Any) -> UUID:
        """Enqueues one job; its id."""
        return self.enqueue(NewJob(kind=kind, **about))[0].id

    def start(self, flow: Flow) -> UUID:
        """Enqueues a flow; the id of its root."""
        return self.enqueue(*flow.jobs())[0].id

    def job(self, id: UUID) -> Job:
        job = self.run(commands.GetJob(id))
        assert job is not None, f"{id} is lost"
        return job

    def state(self, id: UUID) -> JobState:
        return self.job(id).state

    def states(self, *ids: UUID) -> list[str]:
        return [str(self.state(id)) for id in ids]

    def set_queue(self, name: str, **settings: Any) -> None:
        self.run(commands.SetQueue(name, settings))

    def worker(self, name: str = "worker", *, seconds: float = 30) -> "Worker":
        return Worker(self, self.run(commands.OpenLease(name, seconds=seconds)))


@dataclass
class Worker:
    """A lease, and what may be done with it."""

    hand: Hand
    lease: Lease
    cursors: dict[str, Cursor] = field(default_factory=dict)

    def claim(
        self, limit: int = 1, queue: str = "default", *, cursor: Cursor | None = None, full: bool = False, **about: Any
    ) -> list[ClaimedJob]:
        if cursor is None:
            return self.hand.run(commands.Claim(self.lease, queue, limit, **about))
        jobs = self.hand.run(cursor.claim(self.lease, queue, limit, full=full))
        cursor.advance(jobs, limit)
        return jobs

    def claim_one(self, queue: str = "default", **about: Any) -> ClaimedJob:
        [job] = self.claim(1, queue, **about)
        return job

    def complete(self, *jobs: ClaimedJob, outputs: Sequence[bytes | None] = ()) -> list[UUID]:
        return self.hand.run(saying.complete(self.lease, jobs, outputs))

    def fail(self, job: ClaimedJob, error: str = "boom", **about: Any) -> tuple[JobState, datetime | None]:
        [became] = self.hand.run(saying.fail(self.lease, [job], [{"error": error, **about}]))
        assert became.id == job.id
        return became.state, became.run_at

    def progress(self, job: ClaimedJob, percent: float, **about: Any) -> bool:
        """Whether the report was accepted."""
        told = self.hand.run(saying.report_progress(self.lease, [job], [{"percent": percent, **about}]))
        return job.id in saying.by_id(told)

    def outputs(self, job: ClaimedJob) -> list[commands.Earlier]:
        return self.hand.run(saying.outputs(self.lease, job))

    def steps(self, job: ClaimedJob) -> dict[str, Any]:
        return {step.name: step.output for step in self.hand.run(saying.recall_steps(self.lease, job))}

    def finish_all(self, queue: str = "default", *, outputs: bool = False) -> list[ClaimedJob]:
        """Claims and completes until the queue gives nothing more; in the order they ran."""
        done: list[ClaimedJob] = []
        while jobs := self.claim(100, queue):
            assert self.complete(*jobs, outputs=[b'"%s"' % job.kind.encode() for job in jobs] if outputs else ()) == []
            done += jobs
        return done

"""A deadlock undoes everything its victim did: the victim begins again by itself."""

import asyncio
import threading

import pytest
from psycopg.conninfo import make_conninfo

from penstock import JobHandle, NewJob, Penstock
from penstock.engine.postgres.statement import Statement, all_rows
from tests.app.conftest import CountJobs
from tests.kit.fixtures import Connect
from tests.kit.until import wait_until

pytestmark = pytest.mark.needs_session("finds its sessions by their processes")

LOCKED = b"""select count(*) from pg_stat_activity
              where wait_event in ('transactionid', 'advisory') and datname = current_database()"""


@pytest.fixture
def impatient(url: str) -> str:
    """Whoever connects here looks for a deadlock before its rival does, and so becomes its victim."""
    return make_conninfo(url, options="-c deadlock_timeout=50ms")


class Rivals:
    """The victim takes `a`, waits for the gate at `b`, and then for the rival, who holds `c` and waits for `a`.

    Each wait has one look for a deadlock, so the gate opens only when the rival waits: the victim's next look finds it.
    """

    def __init__(self, connect: Connect, hold: str) -> None:
        self._watcher, self._gate, self._rival = connect(), connect(), connect()
        self._hold = hold
        self._gate.execute("begin")
        self._gate.execute(hold.format("b").encode())
        self._rival.execute("set deadlock_timeout = '60s'; begin")
        self._rival.execute(hold.format("c").encode())

    def meet(self, end: str) -> None:
        """Returns when the victim has been undone, and the rival has ended as told."""
        self._until_locked(1)
        waiting = threading.Thread(target=self._rival.execute, args=[self._hold.format("a").encode()])
        waiting.start()
        self._until_locked(2)
        self._gate.execute("rollback")
        waiting.join()
        self._rival.execute(end.encode())

    def _until_locked(self, sessions: int) -> None:
        wait_until(lambda: self._watcher.execute(LOCKED).fetchall() == [(sessions,)])


@pytest.fixture
def rivals(connect: Connect) -> Rivals:
    return Rivals(connect, "select penstock.enqueue('send', unique_key => '{}')")


def jobs_on(app: Penstock) -> list[NewJob]:
    @app.job
    def send() -> None: ...

    return [send.using(unique=key).prepare() for key in ("a", "b", "c")]


def test_the_victim_of_a_deadlock_begins_again(impatient: str, rivals: Rivals, count_jobs: CountJobs) -> None:
    with Penstock(impatient) as app:
        handles: list[JobHandle[None]] = []
        jobs = jobs_on(app)
        victim = threading.Thread(target=lambda: handles.extend(app.enqueue_many(jobs)))
        victim.start()
        rivals.meet("commit")
        victim.join()
        assert [handle.created for handle in handles] == [False, True, False]
    assert count_jobs() == 3


def test_a_call_that_must_not_be_repeated_after_a_loss_is_repeated_after_a_deadlock(
    impatient: str, connect: Connect
) -> None:
    locks = [f"pg_advisory_xact_lock(ascii('{key}'))" for key in "abc"]
    all_three = Statement(f"select {', '.join(locks)}", [], all_rows)
    rivals = Rivals(connect, "select pg_advisory_xact_lock(ascii('{}'))")
    with Penstock(impatient) as app:
        done: list[object] = []
        victim = threading.Thread(target=lambda: done.append(app.database.run(all_three)))
        victim.start()
        rivals.meet("commit")
        victim.join()
        assert len(done) == 1


async def test_the_same_in_async_code(impatient: str, rivals: Rivals, count_jobs: CountJobs) -> None:
    async with Penstock(impatient) as app:
        victim = asyncio.create_task(app.aenqueue_many(jobs_on(app)))
        await asyncio.to_thread(rivals.meet, "rollback")
        assert [handle.created for handle in await victim] == [True, True, True]
    assert count_jobs() == 3

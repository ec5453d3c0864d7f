"""Unique and idempotency keys: a second call gets the job that exists."""

import threading

import pytest

from penstock import Flow, IdempotencyMismatch, Penstock, UniqueKeyTaken
from tests.app.conftest import CountJobs
from tests.app.worker import Worker


def test_a_unique_job_exists_once_while_it_is_unfinished(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job(unique=True)
    def sync(source: str, since: int = 0) -> None: ...

    first = sync.enqueue("mail", since=1)
    again = sync.enqueue(since=1, source="mail")
    assert (first.created, again.created, again.id) == (True, False, first.id)
    assert sync.using(org="acme").enqueue("mail", since=1).created
    assert sync.enqueue("mail").created
    worker = Worker(app)
    worker.run_all()
    assert sync.enqueue("mail", since=1).created
    assert count_jobs() == 4


async def test_the_same_in_async_code(app: Penstock) -> None:
    @app.job(unique="nightly")
    async def sync() -> None: ...

    first, again = await sync.aenqueue(), await sync.aenqueue()
    assert (again.created, again.id) == (False, first.id)


def test_a_bulk_tells_which_of_its_jobs_are_new(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job(unique=True)
    def sync(source: str) -> None: ...

    known = sync.enqueue("7")
    handles = sync.enqueue_many([{"source": str(n)} for n in range(30)])
    assert [handle.created for handle in handles].index(False) == 7
    assert handles[7].id == known.id
    assert count_jobs() == 30


def test_two_hundred_at_once_make_one_job(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job(unique="nightly")
    def sync() -> None: ...

    together = threading.Barrier(8)
    ids: list[object] = []

    def enqueue() -> None:
        together.wait()
        ids.extend(sync.enqueue().id for _ in range(25))

    threads = [threading.Thread(target=enqueue) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ids), len(set(ids)), count_jobs()) == (200, 1, 1)


def test_an_idempotency_key_outlives_its_job(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job
    def charge(order: int) -> None: ...

    once = charge.using(idempotency_key="order-17", owner="ada")
    first = once.enqueue(17)
    Worker(app).run_all()
    again = once.enqueue(17)
    assert (again.created, again.id) == (False, first.id)
    assert charge.using(idempotency_key="order-17", owner="grace").enqueue(17).created
    assert count_jobs() == 2


def test_an_idempotency_key_with_other_arguments_is_refused(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job(idempotency_key="order-1")
    def send(to: str) -> None: ...

    send.enqueue("ada")
    with pytest.raises(IdempotencyMismatch, match=r"^idempotency_key: order-1 was used for another job$"):
        send.enqueue("grace")
    assert count_jobs() == 1


def test_a_unique_flow_exists_once_with_all_its_jobs(app: Penstock, count_jobs: CountJobs) -> None:
    @app.job
    def write(chapter: int) -> None: ...

    @app.job(unique=True)
    def publish(title: str) -> None: ...

    def book() -> Flow:
        flow = Flow(then=publish.prepare("Notes"))
        for chapter in range(3):
            flow.add(write.prepare(chapter))
        return flow

    first, again = app.enqueue(book()), app.enqueue(book())
    assert (again.created, again.id) == (False, first.id)
    assert count_jobs() == 4


def test_a_failed_job_does_not_come_back_while_another_has_its_key(app: Penstock) -> None:
    @app.job(unique="nightly")
    def sync() -> None: ...

    worker = Worker(app)
    failed = sync.enqueue()
    worker.fail(worker.claim_one())
    sync.enqueue()
    with pytest.raises(UniqueKeyTaken, match="another sync holds it"):
        failed.retry()

"""The reckoning itself: books that balance are green, and each kind of cheating turns them red."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from penstock.job import ClaimedJob, NewJob
from tests.chaos.ledger import TABLES, Fate, Fates, Reckoning, Runs, reckon
from tests.engine.hand import Hand, Worker
from tests.kit.fixtures import Connect


class Books:
    def __init__(self, hand: Hand, folder: Path) -> None:
        self.hand = hand
        self.folder = folder
        self.fates = Fates(folder, "producer")
        self.runs = Runs(folder, "worker")
        self.worker = hand.worker()

    def enqueue(self, kind: str = "swift", fate: Fate = "committed", max_attempts: int = 5) -> UUID:
        job = NewJob(kind=kind, max_attempts=max_attempts)
        self.hand.enqueue(job)
        self.fates.write(fate, [job.id])
        return job.id

    def claim(self, worker: Worker | None = None) -> ClaimedJob:
        worker = worker or self.worker
        job = worker.claim_one()
        self.runs.write("began", job.id, job.claims, worker.lease)
        return job

    def complete(self, job: ClaimedJob, *, claims: int | None = None) -> None:
        claims = job.claims if claims is None else claims
        self.runs.write("returned", job.id, claims, self.worker.lease)
        assert self.worker.complete(job, outputs=[b'{"claims": %d}' % claims]) == []

    def pay(self, job: UUID, claims: int = 1) -> None:
        self.hand.do("insert into chaos.effects values (%s, %s)", job, claims)

    def reckon(self) -> Reckoning:
        return reckon(self.hand.connection, self.folder)


@pytest.fixture
def books(connect: Connect, tmp_path: Path) -> Iterator[Books]:
    hand = Hand(connect())
    hand.do(TABLES)
    books = Books(hand, tmp_path)
    yield books
    books.fates.close()
    books.runs.close()


def test_books_that_balance_are_green(books: Books) -> None:
    books.enqueue()
    books.complete(books.claim())
    books.pay(books.enqueue("paid"))
    books.complete(books.claim())
    books.enqueue("doomed", max_attempts=1)
    books.worker.fail(books.claim())
    books.fates.write("rolled back", [NewJob(kind="swift").id])
    sums = books.reckon()
    assert sums.red == {}
    assert (sums.enqueued, sums.finished, sums.failed, sums.rolled_back, sums.runs) == (3, 3, 1, 1, 3)


def test_an_uncertain_commit_may_have_landed_or_not(books: Books) -> None:
    books.enqueue(fate="maybe")
    books.complete(books.claim())
    books.fates.write("maybe", [NewJob(kind="swift").id])
    sums = books.reckon()
    assert sums.red == {}
    assert (sums.maybe, sums.maybe_landed, sums.enqueued) == (2, 1, 1)


def test_a_committed_job_that_vanished_is_lost(books: Books) -> None:
    books.enqueue()
    books.hand.do("delete from penstock.jobs")
    assert books.reckon().red == {"lost": 1}


@pytest.mark.parametrize("fate", ["committed", "maybe"])
def test_a_job_that_is_never_finished_is_lost(books: Books, fate: Fate) -> None:
    books.enqueue(fate=fate)
    assert books.reckon().red == {"lost": 1}


def test_a_job_that_was_rolled_back_and_exists_is_a_ghost(books: Books) -> None:
    books.enqueue(fate="rolled back")
    books.complete(books.claim())
    assert books.reckon().red == {"ghosts": 1}


def test_a_job_that_nobody_enqueued_is_a_ghost(books: Books) -> None:
    books.hand.add()
    assert books.reckon().red == {"ghosts": 1}


def test_an_effect_that_happened_twice_is_wrong(books: Books) -> None:
    id = books.enqueue("paid")
    books.complete(books.claim())
    books.pay(id)
    books.pay(id)
    assert books.reckon().red == {"effects_wrong": 1}


def test_an_effect_that_did_not_happen_is_wrong(books: Books) -> None:
    books.enqueue("paid")
    books.complete(books.claim())
    assert books.reckon().red == {"effects_wrong": 1}


def test_an_effect_of_a_run_that_was_refused_is_wrong(books: Books) -> None:
    books.pay(books.enqueue("paid"), claims=2)
    books.complete(books.claim())
    assert books.reckon().red == {"effects_wrong": 1}


def test_an_effect_of_a_job_that_failed_is_wrong(books: Books) -> None:
    books.pay(books.enqueue("doomed", max_attempts=1))
    books.worker.fail(books.claim())
    assert books.reckon().red == {"effects_wrong": 1}


def test_a_late_outcome_that_was_accepted_is_found_out(books: Books) -> None:
    """A worker lost the job, another claimed it, and what the first returned is on record."""
    books.enqueue()
    late = books.claim(books.hand.worker("late"))
    books.hand.do("select penstock.expire_lease(id) from penstock.leases where worker = 'late'")
    books.complete(books.claim(), claims=late.claims)
    sums = books.reckon()
    assert sums.red == {"double_accepted": 1}
    assert (sums.rerun, sums.refused) == (1, 1)


def test_a_late_outcome_that_was_refused_is_counted_and_green(books: Books) -> None:
    books.enqueue()
    other = books.hand.worker("late")
    late = books.claim(other)
    books.hand.do("select penstock.expire_lease(id) from penstock.leases where worker = 'late'")
    job = books.claim()
    books.runs.write("returned", late.id, late.claims, other.lease)
    assert other.complete(late) == [late.id]
    books.complete(job)
    sums = books.reckon()
    assert sums.red == {}
    assert (sums.rerun, sums.refused) == (1, 1)


def test_a_claim_that_was_run_twice_is_found_out(books: Books) -> None:
    books.enqueue()
    job = books.claim()
    books.runs.write("began", job.id, job.claims, books.worker.lease)
    books.complete(job)
    assert books.reckon().red == {"double_accepted": 1}


def test_an_outcome_under_a_lease_that_ran_nothing_is_found_out(books: Books) -> None:
    books.enqueue()
    books.complete(books.claim())
    books.hand.do("update penstock.history set lease = lease + 1")
    assert books.reckon().red == {"double_accepted": 1}


def test_a_job_that_is_finished_and_live_at_once_is_found_out(books: Books) -> None:
    id = books.enqueue()
    books.complete(books.claim())
    books.hand.do(
        "insert into penstock.jobs (id, created_at, run_at, state, kind) values (%s, now(), now(), 'ready', 'swift')",
        id,
    )
    assert books.reckon().red == {"double_accepted": 1}

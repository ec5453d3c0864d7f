"""What a claim or a look-up costs does not depend on how many jobs there are. Counted in blocks, which no busy machine
can change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock.engine import PostgresEngine, calls
from penstock.engine.call import Call, nothing
from penstock.engine.enqueueing import Bulk
from penstock.job import Lease, NewJob
from tests.sql.blocks import blocks_of, most_blocks
from tests.sql.crowd_rows import id_of_finished
from tests.sql.crowds import Crowd
from tests.sql.work import cursor_that_looks_back_once

BATCH = 100
FEW = Crowd(ready=1_000, scheduled=1_000, finished=1_000)
MANY = Crowd(ready=1_000_000, scheduled=1_000_000, finished=1_000_000)
STILL_MORE = Crowd(ready=5_000_000, scheduled=1_000_000, finished=0)


def claim_of(connection: psycopg.Connection[Any]) -> Call[object]:
    row = connection.execute("select penstock.open_lease('worker')").fetchone()
    assert row is not None
    return calls.claim(Lease(row[0]), "busy", BATCH)


@contextmanager
def in_a_crowd(server: str, crowd: Crowd) -> Iterator[psycopg.Connection[Any]]:
    with crowd.opened(server) as url, psycopg.connect(url) as connection:
        yield connection
        connection.rollback()


def cost_in(server: str, crowd: Crowd, measure: Callable[[psycopg.Connection[Any]], int]) -> int:
    with in_a_crowd(server, crowd) as connection:
        return measure(connection)


@pytest.mark.parametrize(
    "crowd",
    [
        pytest.param(MANY, id="1,000,000 ready and 1,000,000 later"),
        pytest.param(STILL_MORE, id="5,000,000 ready and 1,000,000 later", marks=pytest.mark.slow),
    ],
)
def test_a_claim_costs_the_same_among_many_jobs(newest_version: str, crowd: Crowd) -> None:
    few = cost_in(newest_version, FEW, lambda connection: most_blocks(connection, claim_of(connection)))
    many = cost_in(newest_version, crowd, lambda connection: most_blocks(connection, claim_of(connection)))
    figures = f"a claim of {BATCH} jobs read {few} blocks among 1,000 jobs, and {many} among so many"
    print(figures)
    assert many <= 1.5 * few, figures


def test_a_look_up_costs_the_same_in_a_long_history(newest_version: str) -> None:
    def look_up(crowd: Crowd) -> Callable[[psycopg.Connection[Any]], int]:
        def measure(connection: psycopg.Connection[Any]) -> int:
            row = connection.execute(
                f"select {id_of_finished(crowd.finished // 2, crowd.finished)}".encode()
            ).fetchone()
            assert row is not None
            id: UUID = row[0]
            return [blocks_of(connection, calls.get_job(id)) for _ in range(8)][-1]

        return measure

    few = cost_in(newest_version, FEW, look_up(FEW))
    many = cost_in(newest_version, MANY, look_up(MANY))
    figures = f"a look-up read {few} blocks with a history of 1,000 jobs, and {many} with one of 1,000,000"
    print(figures)
    # an index may be a level or two deeper
    assert many <= few + 4, figures


def test_claims_stay_flat_while_an_old_snapshot_is_open(engine: PostgresEngine, url: str) -> None:
    done, batch = 50_000, 10
    engine.enqueue(Bulk.of(NewJob(kind="work", queue="busy"), [b"{}"] * (done + 1000)))
    lease = engine.run(calls.open_lease("worker", seconds=3600))
    cursor = cursor_that_looks_back_once()

    def work_off(jobs: int) -> None:
        claimed = engine.run(calls.claim(lease, "busy", jobs, cursor))
        assert len(claimed) == jobs
        assert engine.run(calls.complete(lease, claimed)) == []

    def measure() -> tuple[int, int]:
        """The cost of a claim past the cursor, and of one from the beginning."""
        past = calls.claim(lease, "busy", batch, cursor)
        return most_blocks(connection, past), most_blocks(connection, calls.claim(lease, "busy", batch))

    with psycopg.connect(url, autocommit=True) as connection, psycopg.connect(url) as reader:
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select count(*) from penstock.jobs")
        work_off(batch)
        past_at_first, all_at_first = measure()
        for _ in range(done // 1000):
            work_off(1000)
            # raises the floor, once the transactions before have ended
            engine.run(calls.claim(lease, "busy", 1))
            engine.run(Call("select penstock.raise_floor('busy')", [], nothing))
        past, all = measure()
    figures = f"past the cursor {past_at_first} blocks, then {past}; from the beginning {all_at_first}, then {all}"
    print(figures)
    assert past <= 1.5 * past_at_first, figures
    assert all <= 1.5 * all_at_first, figures

"""What a claim or a look-up costs does not depend on how many jobs there are. Counted in blocks, which no busy machine
can change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from bench.durable_waiting import wait_and_sleep
from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.job import Lease
from tests.kit.fixtures import Connect
from tests.sql.blocks import blocks_of, usual_blocks
from tests.sql.crowd_rows import id_of_finished
from tests.sql.crowds import MOST, Crowd

BATCH = 100
FEW = Crowd(ready=1_000, scheduled=1_000, finished=1_000)
MANY = Crowd(ready=MOST, scheduled=MOST, finished=MOST)
STILL_MORE = Crowd(ready=5_000_000, scheduled=1_000_000, finished=0)


def claim_of(connection: psycopg.Connection[Any]) -> Command[object]:
    row = connection.execute("select penstock.open_lease('worker')").fetchone()
    assert row is not None
    return commands.Claim(Lease(row[0]), "busy", BATCH)


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
        pytest.param(MANY, id="many ready and many later"),
        pytest.param(STILL_MORE, id="5,000,000 ready and 1,000,000 later", marks=pytest.mark.slow),
    ],
)
def test_a_claim_costs_the_same_among_many_jobs(newest_version: str, crowd: Crowd) -> None:
    few = cost_in(newest_version, FEW, lambda connection: usual_blocks(connection, claim_of(connection)))
    many = cost_in(newest_version, crowd, lambda connection: usual_blocks(connection, claim_of(connection)))
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
            return [blocks_of(connection, commands.GetJob(id)) for _ in range(8)][-1]

        return measure

    few = cost_in(newest_version, FEW, look_up(FEW))
    many = cost_in(newest_version, MANY, look_up(MANY))
    figures = f"a look-up read {few} blocks with a history of 1,000 jobs, and {many} with one of {MOST:,}"
    print(figures)
    # an index may be a level or two deeper
    assert many <= few + 4, figures


@pytest.mark.parametrize(
    "waiting", [1_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.time_limit(900)])]
)
def test_a_claim_costs_the_same_beside_jobs_that_sleep_or_wait(url: str, connect: Connect, waiting: int) -> None:
    """Brought there as workers bring them, and with the statistics that a busy server has of them."""
    connection = connect()
    costs = []
    for others in (0, waiting):
        if others:
            wait_and_sleep(url, others)
        connection.execute("delete from penstock.jobs where queue = 'busy'")
        connection.execute(
            "select penstock.enqueue_plain(penstock.uuid7(), 'work', p_queue => 'busy') from generate_series(1, %s)",
            [BATCH],
        )
        connection.execute("vacuum analyze penstock.jobs")
        with connection.transaction(force_rollback=True):
            costs.append(usual_blocks(connection, claim_of(connection)))
    alone, beside = costs
    figures = f"a claim of {BATCH} jobs read {alone} blocks alone, and {beside} beside {waiting:,} that sleep or wait"
    print(figures)
    # the primary key is a level or two deeper for each that is claimed; walked over, they would be seen in thousands
    assert beside <= 1.5 * alone, figures

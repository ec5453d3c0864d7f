"""An application on an empty, migrated database, and a way to see what it wrote there.

The tests of the client share one database, emptied before each: a clone costs 0.1 to 0.4 s, and there are hundreds.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from penstock import Penstock
from penstock.testing.database import throw_away
from tests.kit.fixtures import Address, Connect

CountJobs = Callable[[], int]

_EMPTY = "; ".join(
    f"delete from penstock.{table}"
    for table in (
        "jobs", "history", "edges", "leases", "waiting", "queues", "starts", "turns", "steps", "idempotency_keys",
        "usage", "usage_log", "usage_sums", "schedules", "artifacts", "declared_queues", "operations", "audit",
        "reports", "statistics", "depths", "failures",
    )
)  # fmt: skip


@pytest.fixture(scope="session")
def shared(server: str, template: str) -> Iterator[str]:
    with throw_away(server, template) as url:
        yield url


def _emptied(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_EMPTY.encode())
    return url


@pytest.fixture
def url(shared: str, reached: Address) -> str:
    return reached(_emptied(shared))


@pytest.fixture(scope="module")
def url_of_module(shared: str, pooler: Address) -> str:
    """For modules whose tests see to it that nothing is written."""
    return pooler(_emptied(shared))


@pytest.fixture
def app(url: str) -> Iterator[Penstock]:
    with Penstock(url) as app:
        yield app


@pytest.fixture
def count_jobs(connect: Connect) -> CountJobs:
    """How many jobs are committed, live and finished, as another connection sees it."""
    connection = connect()
    return lambda: connection.execute("select count(*) from penstock.all_jobs").fetchall()[0][0]

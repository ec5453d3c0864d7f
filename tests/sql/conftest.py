"""Servers that can tell the plans of nested statements, which the embedded one cannot."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from penstock import embedded
from penstock.embedded.binaries import Version
from tests import slow
from tests.kit.fixtures import CACHE
from tests.postgres_versions import NotToBeHad, bin_folder
from tests.sql.crowds import MOST, Crowd
from tests.sql.explain import Explained

# Nothing here has to survive a crash, and only a test decides when statistics are gathered.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "shared_buffers": "512MB",
    "autovacuum": "off",
}
_CHOSEN = os.environ.get("PENSTOCK_PG_BIN")
MAJORS = [Version.of(Path(_CHOSEN)).major] if _CHOSEN else [15, 18]
_SLOW = [pytest.mark.slow] if slow.asked_for else []
CROWDS = [
    pytest.param(Crowd(each, each, each, analyzed), marks=_SLOW if each == MOST else [])
    for each in (0, 1_000, MOST)
    for analyzed in (False, True)
]


def explaining_server(major: int) -> embedded.EmbeddedPostgres:
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("PENSTOCK_PG_BIN", _CHOSEN or str(bin_folder(major)))
        except NotToBeHad as problem:
            pytest.skip(str(problem))
        return embedded.start(CACHE / "postgres-plans" / str(major), settings=_SETTINGS)


@pytest.fixture(scope="session", params=MAJORS, ids=lambda major: f"pg{major}")
def each_version(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server of the oldest and one of the newest version, or of the programs the run is for."""
    with explaining_server(request.param) as postgres:
        yield postgres.url


@pytest.fixture(scope="session")
def newest_version() -> Iterator[str]:
    with explaining_server(MAJORS[-1]) as postgres:
        yield postgres.url


@pytest.fixture(scope="session", params=CROWDS, ids=str)
def crowd(request: pytest.FixtureRequest) -> Crowd:
    found: Crowd = request.param
    return found


@pytest.fixture(scope="session")
def crowd_url(each_version: str, crowd: Crowd) -> Iterator[str]:
    with crowd.opened(each_version) as url:
        yield url


@pytest.fixture
def explained(crowd_url: str, crowd: Crowd) -> Iterator[Explained]:
    """A connection to a crowd; what it does is rolled back."""
    with psycopg.connect(crowd_url) as connection:
        if not crowd.ready:
            # earlier tests left dead rows, and nothing is as empty as a queue that was vacuumed when it had drained
            tables = (
                "penstock.jobs, penstock.history, penstock.payloads, penstock.errors, penstock.edges, penstock.steps"
            )
            connection.execute(f"truncate {tables}".encode())
            if crowd.analyzed:
                connection.execute(f"analyze {tables}".encode())
        yield Explained(connection)
        connection.rollback()

"""Servers that can tell the plans of nested statements, which the embedded one cannot."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from penstock import embedded
from penstock.embedded.binaries import Version
from tests.conftest import CACHE
from tests.postgres_versions import NotToBeHad, bin_folder
from tests.sql.crowds import Crowd
from tests.sql.explain import Explained

# Nothing here has to survive a crash, and only a test decides when statistics are gathered.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "shared_buffers": "512MB",
    "autovacuum": "off",
}
_CHOSEN = os.environ.get("PENSTOCK_PG_BIN")
MAJORS = [Version.of(Path(_CHOSEN)).major] if _CHOSEN else [15, 18]


@pytest.fixture(scope="session", params=MAJORS, ids=lambda major: f"pg{major}")
def explaining_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The oldest and the newest version's, or that of the programs the run is for."""
    with explaining(request.param) as postgres:
        yield postgres.url


def explaining(major: int) -> embedded.EmbeddedPostgres:
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("PENSTOCK_PG_BIN", _CHOSEN or str(bin_folder(major)))
        except NotToBeHad as problem:
            pytest.skip(str(problem))
        return embedded.start(CACHE / "postgres-plans" / str(major), settings=_SETTINGS)


CROWDS = [
    Crowd(ready, scheduled, finished, analyzed)
    for ready, scheduled, finished in [(0, 0, 0), (1_000, 1_000, 1_000), (1_000_000, 200_000, 1_000_000)]
    for analyzed in (False, True)
]


@pytest.fixture(scope="session", params=CROWDS, ids=str)
def crowd(request: pytest.FixtureRequest) -> Crowd:
    found: Crowd = request.param
    return found


@pytest.fixture(scope="session")
def crowd_url(explaining_server: str, crowd: Crowd) -> str:
    return crowd.open(explaining_server)


@pytest.fixture
def explained(crowd_url: str) -> Iterator[Explained]:
    """A connection to a crowd; what it does is rolled back."""
    with psycopg.connect(crowd_url) as connection:
        yield Explained(connection)
        connection.rollback()

"""Servers that can tell the plans of nested statements, which the embedded one cannot."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import psycopg
import pytest

from penstock import embedded
from penstock.embedded.binaries import Version
from tests import slow
from tests.kit.fixtures import CACHE, in_memory_or
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
_TOUCHED = """
select oid::regclass::text
  from pg_class
 where relnamespace = 'penstock'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
   and relname ~ '^(jobs|history|payloads|errors|edges|steps)'
"""
_CHOSEN = os.environ.get("PENSTOCK_PG_BIN")
MAJORS = [Version.of(Path(_CHOSEN)).major] if _CHOSEN else [15, 18]
_SLOW = [pytest.mark.slow] if slow.asked_for else []
# plans are of the newest version here: those of others are looked at by `make test-matrix` and the slow tests
PLACES = [
    pytest.param(
        (major, Crowd(each, each, each, analyzed)),
        marks=_SLOW if each == MOST else [],
        id=f"pg{major}-{Crowd(each, each, each, analyzed)}",
    )
    for major in (MAJORS if slow.asked_for else MAJORS[-1:])
    for each in (0, 1_000, MOST)
    for analyzed in (False, True)
]


def explaining_server(major: int) -> embedded.EmbeddedPostgres:
    with pytest.MonkeyPatch.context() as patch:
        try:
            patch.setenv("PENSTOCK_PG_BIN", _CHOSEN or str(bin_folder(major)))
        except NotToBeHad as problem:
            pytest.skip(str(problem))
        return embedded.start(in_memory_or(CACHE) / "postgres-plans" / str(major), settings=_SETTINGS)


@pytest.fixture(scope="session")
def version() -> Iterator[Callable[[int], str]]:
    """The address of a server of that version."""
    with ExitStack() as stack:
        yield cache(lambda major: stack.enter_context(explaining_server(major)).url)


@pytest.fixture(scope="session", params=MAJORS, ids=lambda major: f"pg{major}")
def each_version(request: pytest.FixtureRequest, version: Callable[[int], str]) -> str:
    """A server of the oldest and one of the newest version, or of the programs the run is for."""
    return version(request.param)


@pytest.fixture(scope="session")
def newest_version(version: Callable[[int], str]) -> str:
    return version(MAJORS[-1])


@pytest.fixture(scope="session", params=PLACES)
def place(request: pytest.FixtureRequest) -> tuple[int, Crowd]:
    """A version and a crowd."""
    found: tuple[int, Crowd] = request.param
    return found


@pytest.fixture(scope="session")
def crowd(place: tuple[int, Crowd]) -> Crowd:
    return place[1]


@pytest.fixture(scope="session")
def crowd_url(place: tuple[int, Crowd], version: Callable[[int], str]) -> Iterator[str]:
    major, crowd = place
    with crowd.opened(version(major)) as url:
        yield url


@pytest.fixture
def explained(crowd_url: str, crowd: Crowd) -> Iterator[Explained]:
    """A connection to a crowd; what it does is rolled back."""
    with psycopg.connect(crowd_url) as connection:
        if not crowd.ready:
            # earlier tests left dead rows, and nothing is as empty as a queue that was vacuumed when it had drained;
            # to truncate partitions that are empty makes and removes 300 files
            for (table,) in connection.execute(_TOUCHED).fetchall():
                connection.execute(f"truncate {table}".encode())
                if crowd.analyzed:
                    connection.execute(f"analyze {table}".encode())
        yield Explained(connection)
        connection.rollback()

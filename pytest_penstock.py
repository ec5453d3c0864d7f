"""Fixtures for the tests of programs that use Penstock.

Pytest loads this in every project that has Penstock installed, so it stands outside the package and imports the package
only when a fixture is asked for: `import penstock` takes 0.3 s, and whatever breaks in it would break every run.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing import FakeClock
    from penstock.testing.database import ThrowAwayDatabase


@pytest.fixture(scope="session")
def penstock_server(pytestconfig: pytest.Config) -> Iterator[str]:
    """The address of the server that PENSTOCK_TEST_URL names, else of an embedded one that the whole run shares."""
    chosen = os.environ.get("PENSTOCK_TEST_URL")
    if chosen:
        yield chosen
        return
    from penstock.testing.database import embedded_server

    cache = pytestconfig.cache if hasattr(pytestconfig, "cache") else None
    folder = cache.mkdir("penstock") if cache is not None else pytestconfig.rootpath / ".penstock-tests"
    with embedded_server(folder) as url:
        yield url


@pytest.fixture(scope="session")
def penstock_template(penstock_server: str) -> str:
    """The name of a migrated database on that server, to be copied for each test."""
    from penstock.testing.database import migrated_template

    return migrated_template(penstock_server)


@pytest.fixture
def penstock_url(penstock_server: str, penstock_template: str) -> Iterator[str]:
    """The address of a migrated database that only this test has."""
    from penstock.testing.database import throw_away

    with throw_away(penstock_server, penstock_template) as url:
        yield url


@pytest.fixture
def penstock_database(penstock_url: str) -> "Iterator[ThrowAwayDatabase]":
    """The same database; `penstock_database.use(app)` points an app at it until the end of the test."""
    from penstock.testing.database import ThrowAwayDatabase

    database = ThrowAwayDatabase(penstock_url)
    try:
        yield database
    finally:
        database.give_back()


@pytest.fixture
def penstock_clock(penstock_url: str) -> "Iterator[FakeClock]":
    """The time of that database, stopped: `penstock_clock.move(hours=1)`."""
    from penstock import Penstock
    from penstock.testing import FakeClock

    with Penstock(penstock_url) as app, FakeClock(app) as clock:
        yield clock

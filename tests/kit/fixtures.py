"""A real Postgres for the tests: one embedded server for the whole run, and a database of its own for each test."""

import gc
import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from penstock.engine.postgres.engine import PostgresEngine
from penstock.testing.database import embedded_server, migrated_template, throw_away
from tests import slow
from tests.databases import DatabasesAhead
from tests.kit.pooler import POOLED, pgbouncer_for

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as in the background of a shell script: the programs that tests interrupt would inherit it, and never end
    signal.signal(signal.SIGINT, signal.default_int_handler)


# how long an example takes says nothing: some work on a real database, and all of them on a machine that has other work
settings.register_profile(
    "default",
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=3000, stateful_step_count=80)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure(config: pytest.Config) -> None:
    slow.ask(config.option.markexpr)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half a million objects stay until the end: nobody need look through them again and again for what may go. Of what
    tests make most goes by itself; to look as often as usual took a twelfth of tests/server's CPU, 105 s and 97."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


CACHE = Path(__file__).resolve().parent.parent.parent / ".cache"
Connect = Callable[[], psycopg.Connection[Any]]
Address = Callable[[str], str]


def in_memory_or(folder: Path) -> Path:
    """Each test has a database, which is 450 files: in memory that takes a Postgres 20 ms of CPU, on a disk 70 to 270.
    `make clean` removes it."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 4e9:
        return folder
    return memory / f"penstock-tests-{os.getuid()}-{hashlib.sha256(bytes(folder.parent)).hexdigest()[:8]}"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server where the tests may do as they like. Parallel runs of pytest share it."""
    with embedded_server(in_memory_or(CACHE) / "postgres") as url:
        yield url


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """A migrated database to be copied for each test, made once for each state of the SQL."""
    return migrated_template(server)


@pytest.fixture(scope="session")
def databases(server: str, template: str) -> Iterator[DatabasesAhead]:
    databases = DatabasesAhead(server, template)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def pooler(server: str) -> Iterator[Address]:
    """With PENSTOCK_TESTS_POOLED the addresses of databases lead through a PgBouncer in transaction mode."""
    if not POOLED:
        yield lambda url: url
        return
    # as psycopg tells those who connect through one to do; ours find out by themselves
    connect = partial(psycopg.connect, prepare_threshold=None)
    with pgbouncer_for(server, sessions=40) as bounced, pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", connect)
        yield bounced


@pytest.fixture
def reached(pooler: Address, request: pytest.FixtureRequest) -> Address:
    """As the test is to have it: `needs_session` says which must have the database itself, and why."""
    return (lambda url: url) if request.node.get_closest_marker("needs_session") else pooler


@pytest.fixture
def url(databases: DatabasesAhead, reached: Address) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    made = databases.take()
    yield reached(made[0])
    databases.give_back(made)


@pytest.fixture
def empty_url(server: str, reached: Address) -> Iterator[str]:
    """The address of an empty database."""
    with throw_away(server) as url:
        yield reached(url)


@pytest.fixture
def engine(url: str) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(lambda: url)
    yield engine
    engine.close()


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """Opens autocommit connections to the test's database and closes them in the end."""
    opened: list[psycopg.Connection[Any]] = []

    def open_one() -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(url, autocommit=True))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()

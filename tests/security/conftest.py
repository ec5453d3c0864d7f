"""Who tries what is not theirs: a database login without a single grant, two tenants who have nothing in common, and
somebody without a token."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.server.api import Api, Asking
from tests.server.conftest import api, app, settings

__all__ = ["api", "app", "settings"]

STRANGER = "penstock_stranger"
_PASSWORD = "of a stranger"

Connection = psycopg.Connection[Any]
OpenStranger = Callable[[], Connection]


@pytest.fixture(scope="session")
def stranger_login(server: str) -> str:
    """A login of the server that nobody has given anything: it may connect, as Postgres lets everybody."""
    # parallel runs of pytest share the server
    known = suppress(errors.DuplicateObject, errors.UniqueViolation)
    with psycopg.connect(server, autocommit=True) as connection, known:
        connection.execute(f"create role {STRANGER} login password '{_PASSWORD}'".encode())
    return STRANGER


@pytest.fixture
def stranger_url(url: str, stranger_login: str) -> str:
    """The address of the test's database, as the stranger connects to it."""
    given = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    return make_conninfo("", **{**given, "user": stranger_login, "password": _PASSWORD})


@pytest.fixture
def open_stranger(stranger_url: str) -> Iterator[OpenStranger]:
    """Opens autocommit connections of the stranger's to the test's database, and closes them in the end."""
    opened: list[Connection] = []

    def open_one() -> Connection:
        opened.append(psycopg.connect(stranger_url, autocommit=True))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def stranger(open_stranger: OpenStranger) -> Connection:
    return open_stranger()


@pytest.fixture
def alice(api: Api) -> Asking:
    """A user, alone in her organisation."""
    return api.user("alice", org="alices")


@pytest.fixture
def bob(api: Api) -> Asking:
    """A user of another organisation."""
    return api.user("bob", org="bobs")


@pytest.fixture
def anonymous(api: Api) -> Asking:
    return api.nobody

"""A database login without a single grant, such as that of another application on the same server."""

import pytest
from psycopg import errors

from tests.kit.fixtures import Connect
from tests.security.conftest import Connection
from tests.sql.neighbours import relations


def test_it_sees_no_table_and_calls_no_function(stranger: Connection, connect: Connect) -> None:
    owner = connect()
    for name, _, _ in relations(owner):
        with pytest.raises(errors.InsufficientPrivilege):
            stranger.execute(f'select from penstock."{name}"'.encode())
    functions = owner.execute("select proname from pg_proc where pronamespace = 'penstock'::regnamespace").fetchall()
    for (name,) in functions:
        with pytest.raises(errors.InsufficientPrivilege, match="for schema penstock"):
            stranger.execute(f'select penstock."{name}"()'.encode())

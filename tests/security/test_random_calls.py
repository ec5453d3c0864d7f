"""Every function that is installed, ours and the adapters', called with random arguments under each role.

Functions, their types and their grants are read from the catalogue, so that what is added later is tried by itself.
"""

from collections.abc import Iterator, Sequence
from secrets import token_hex

import psycopg
import pytest

from penstock.engine.postgres.migrate import migrate
from tests import slow
from tests.databases import DatabasesAhead
from tests.security.conftest import STRANGER
from tests.security.random_calls import Arguments, Connection, Function, functions
from tests.sql.neighbours import ALICE, World, act_as, changed, claims_of, rows_of, settle_in

pytestmark = [
    pytest.mark.needs_session("statement_timeout is the session's"),
    *([pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []),
]

SEED = token_hex(4) if slow.asked_for else "the same each time"
ROUNDS = 30 if slow.asked_for else 1
"""How often each function is called by each role that may do everything. Each round is some thousand calls."""

ROUNDS_OF_USERS = 60 if slow.asked_for else 4

SCHEMAS = ["penstock", "pgmq", "pgmq_public", "public", "auth"]
SERVICE, USER, NOBODY, MONITOR = "service_role", "authenticated", "anon", "pg_monitor"
ROLES = [SERVICE, USER, NOBODY, MONITOR, STRANGER]
LONGEST = "10s"
"""For one call, on a machine that has other work: they take a millisecond or two."""


class Database:
    def __init__(self, world: World, connection: Connection) -> None:
        self.world = world
        self.connection = connection
        self.functions = functions(connection, SCHEMAS, ROLES)
        self.arguments = Arguments(connection, SCHEMAS, world, SEED)

    def try_call(self, function: Function, arguments: Sequence[object]) -> str:
        """What it answers, or the error it is refused with; anything but a refusal that was meant is raised."""
        try:
            with self.connection.transaction():
                return repr(self.connection.execute(function.call, arguments).fetchall())
        except psycopg.Error as error:
            if was_meant(error):
                return f"{error.sqlstate}: {error}"
            error.add_note(f"select {function}, given {shown(arguments)}, seed {SEED}")
            raise


def was_meant(error: psycopg.Error) -> bool:
    """A value that does not fit, a right that is missing, or what a function raises itself. Not an internal error, a
    timeout, a syntax error or a name that does not exist, which no value may bring about."""
    state = error.sqlstate or ""
    return state[:2] in ("22", "23") or state in ("0A000", "42501") or error.diag.source_function == "exec_stmt_raise"


def shown(arguments: Sequence[object]) -> str:
    return str([getattr(each, "obj", each) for each in arguments])


@pytest.fixture(scope="module")
def database(databases: DatabasesAhead, stranger_login: str) -> Iterator[Database]:
    """One for all of them: whatever they do is undone."""
    url, dropped = databases.take()
    migrate(url, with_=["pgmq", "supabase"])
    world = settle_in(url)
    with psycopg.connect(url, autocommit=True, options=f"-c search_path= -c statement_timeout={LONGEST}") as connection:
        connection.execute("select pgmq.create('bobs')")
        connection.execute("""select pgmq.send('bobs', '{"of": "bob"}') from generate_series(1, 3)""")
        yield Database(world, connection)
    dropped.close()


_WHAT_RUNS = """
do $$
declare
  v_call text;
begin
  foreach v_call in array %s::text[] loop
    begin
      execute v_call;
      raise exception 'it ran: %%', v_call;
    exception when insufficient_privilege then
      null;
    end;
  end loop;
end
$$
"""


@pytest.mark.parametrize("role", ROLES)
def test_no_function_runs_for_a_role_without_a_grant(database: Database, role: str) -> None:
    closed = [function.call_with_nulls for function in database.functions if role not in function.open_to]
    assert role == SERVICE or len(closed) > 250
    with database.connection.transaction(force_rollback=True):
        act_as(database.connection, role, None)
        psycopg.ClientCursor(database.connection).execute(_WHAT_RUNS, [closed])


@pytest.mark.parametrize("role", ["its owner", SERVICE])
def test_no_argument_brings_about_an_internal_error(database: Database, role: str) -> None:
    connection = database.connection
    for _ in range(ROUNDS):
        for function in database.functions:
            with connection.transaction(force_rollback=True):
                if role == SERVICE:
                    if role not in function.open_to:
                        continue
                    act_as(connection, role, None)
                database.try_call(function, database.arguments.of(function))


@pytest.mark.parametrize("role", [USER, NOBODY, MONITOR])
def test_no_argument_shows_or_changes_what_is_another_s(database: Database, role: str) -> None:
    connection = database.connection
    before = rows_of(connection)
    claims = claims_of(ALICE) if role == USER else '{"role": "anon"}'
    for _ in range(ROUNDS_OF_USERS):
        for function in (each for each in database.functions if role in each.open_to):
            arguments = database.arguments.of(function)
            with connection.transaction(force_rollback=True):
                act_as(connection, role, claims)
                told = database.try_call(function, arguments)
                connection.execute("reset role")
                assert not changed(before, rows_of(connection)), f"{function}, given {shown(arguments)}, seed {SEED}"
            hidden = [text for text in database.world.texts if text in told and text not in shown(arguments)]
            assert not hidden, f"{function}, given {shown(arguments)}, tells {told}, seed {SEED}"

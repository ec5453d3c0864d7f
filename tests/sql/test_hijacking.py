"""What runs with its owner's rights cannot be led astray by objects of whoever calls it."""

from typing import Any

import psycopg
import pytest

from tests.kit.fixtures import Connect
from tests.sql.neighbours import BOB, World, acting, changed, claims_of, relations, rows_of, settle_in

Connection = psycopg.Connection[Any]

_SPRING = """
create function pg_temp.spring() returns boolean language plpgsql as $$
begin
  if current_user <> 'authenticated' then
    raise exception 'hijacked: % was here', current_user;
  end if;
  return true;
end
$$;
"""
_TYPES = ["text", "jsonb", "json", "uuid", "timestamptz", "date", "bytea", "regclass", "int4", "int8", "bool", "float8"]
"""Names of types that functions use without a schema: Postgres looks for them among temporary objects first."""
_FUNCTIONS = [
    "clock()",
    "caller()",
    "jsonb_build_object()",
    "now()",
    "count(pg_catalog.int4)",
    "is_callers(pg_catalog.text, pg_catalog.text)",
]
_CALLS = [
    "select * from penstock.start('export', '{\"mine\": 1}', null, 'a key')",
    "select * from penstock.start('once')",
    """select * from penstock.start_batch('[{"kind": "export"}, {"kind": "once", "args": {}}]', null, 'a batch')""",
    "select penstock.cancel_mine((select id from penstock.my_jobs where state = 'ready' limit 1))",
    "select penstock.retry_mine((select id from penstock.my_jobs where state = 'failed' limit 1))",
    "select penstock.shown_error((select id from penstock.my_jobs where state = 'failed' limit 1))",
    "select id, error from penstock.my_jobs",
]


@pytest.fixture
def world(url: str) -> World:
    return settle_in(url)


@pytest.mark.parametrize("name", _TYPES)
def test_by_a_temporary_type(world: World, connect: Connect, name: str) -> None:
    connection = connect()
    for text in _CALLS:
        # as their owner, who gets furthest
        with acting(connection, claims=claims_of(BOB)):
            connection.execute(_SPRING.encode())
            domain = f"create domain pg_temp.{name} as pg_catalog.{name} check (pg_temp.spring())"
            connection.execute(domain.encode())
            connection.execute(text.encode())


def test_by_temporary_tables_and_functions(world: World, connect: Connect) -> None:
    connection = connect()
    before = rows_of(connection)
    tables = [name for name, _, _ in relations(connection)]
    for text in _CALLS:
        with acting(connection):
            connection.execute(_SPRING.encode())
            for name in (*tables, "pg_class", "pg_inherits", "pg_proc"):
                connection.execute(f"create temp view {name} as select pg_temp.spring() as id, 'bob' as owner".encode())
            for function in _FUNCTIONS:
                body = "returns bool language sql as 'select pg_temp.spring()'"
                connection.execute(f"create function pg_temp.{function} {body}".encode())
            connection.execute("set local search_path = pg_temp, penstock, pg_catalog")
            connection.execute(text.encode())
            connection.execute("reset role; set local search_path = pg_catalog, pg_temp")
            assert not changed(before, rows_of(connection))


def test_by_operators_and_functions_where_users_may_create_them(world: World, connect: Connect) -> None:
    """As in databases from before Postgres 15, where anybody may create in public."""
    connection = connect()
    connection.execute("create schema if not exists public; grant usage, create on schema public to authenticated")
    for text in _CALLS:
        with acting(connection, claims=claims_of(BOB)):
            connection.execute(_SPRING.encode())
            connection.execute(
                """create function public.caught(text, text) returns boolean language sql as 'select pg_temp.spring()';
                   create function public.caught(jsonb, text) returns boolean language sql as 'select pg_temp.spring()';
                   create operator public.= (leftarg = text, rightarg = text, function = public.caught);
                   create operator public.<> (leftarg = text, rightarg = text, function = public.caught);
                   create operator public.? (leftarg = jsonb, rightarg = text, function = public.caught);
                   create function public.hashtextextended(text, bigint) returns bigint language sql
                     as 'select pg_temp.spring()::int::bigint';
                   create function public.pg_notify(text, text) returns void language sql as 'select pg_temp.spring()';
                   set local search_path = public, pg_catalog"""
            )
            connection.execute(text.encode())

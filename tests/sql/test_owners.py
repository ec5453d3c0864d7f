"""By direct SQL as another user, and as nobody: no row is readable, and nothing can be written.

Tables are read from the catalogue, so that what is added later is tried by itself.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.types.json import Jsonb

from penstock.job import shown as shown_here
from tests.sql.neighbours import (
    ALICE,
    World,
    acting,
    assert_refused,
    changed,
    claims_of,
    relations,
    rows_of,
    settle_in,
)

pytestmark = pytest.mark.needs_session("search_path is an option of the session")

Connection = psycopg.Connection[Any]
ANYBODY = [("authenticated", claims_of(ALICE)), ("anon", '{"role": "anon"}')]
anybody = pytest.mark.parametrize(("role", "claims"), ANYBODY, ids=["a user", "nobody"])


@pytest.fixture
def world(url: str) -> World:
    return settle_in(url)


@pytest.fixture
def connection(world: World) -> Iterator[Connection]:
    # names come with their schema, whatever the login is called
    with psycopg.connect(world.url, autocommit=True, options="-c search_path=") as connection:
        yield connection


def test_there_is_something_to_hide_in_every_table(connection: Connection) -> None:
    empty = [
        name
        for name, kind, partition in relations(connection)
        if kind != "v" and not partition
        and not connection.execute(sql.SQL("select 1 from penstock.{} limit 1").format(sql.Identifier(name))).fetchone()
    ]  # fmt: skip
    assert not empty, "let Bob have rows there, in tests/sql/neighbours.py"


@anybody
def test_no_row_of_another_is_readable(connection: Connection, world: World, role: str, claims: str) -> None:
    [schema] = connection.execute("select 'penstock'::regnamespace::oid").fetchone() or [0]
    for name, _, _ in relations(connection):
        table = sql.Identifier("penstock", name)
        with acting(connection, role, claims):
            readable = connection.execute(
                """select attname from pg_attribute as a, pg_class as c
                    where a.attrelid = c.oid and c.relname = %s and c.relnamespace = %s
                      and has_schema_privilege(c.relnamespace, 'usage')
                      and has_column_privilege(c.oid, a.attnum, 'select') and a.attnum > 0 and not a.attisdropped""",
                [name, schema],
            ).fetchall()
            if not readable:
                assert_refused(connection, sql.SQL("select * from {}").format(table))
                assert_refused(connection, sql.SQL("select from {}").format(table))
                continue
            columns = sql.SQL(", ").join(sql.Identifier(column) for (column,) in readable)
            shown = connection.execute(
                sql.SQL("select to_jsonb(t)::text from (select {} from {}) as t").format(columns, table)
            ).fetchall()
        assert not [row for (row,) in shown if any(text in row for text in world.texts)], name


def test_only_owners_see_their_rows_and_nobody_the_rest(connection: Connection) -> None:
    """What is open at all is named here: a table that is opened to users is a decision."""
    with acting(connection):
        open_to_users = connection.execute(
            """select distinct relname from pg_class as c, pg_attribute as a
                where relnamespace = 'penstock'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
                  and a.attrelid = c.oid and has_column_privilege(c.oid, a.attnum, 'select')"""
        ).fetchall()
    assert {name for (name,) in open_to_users} == {
        "jobs", "history", "payloads", "my_jobs", "artifacts", "artifacts_view", "usage", "usage_log", "usage_so_far",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "column"),
    [*product(["jobs", "history", "all_jobs"], ["options", "lease", "unique_key", "*"]), ("all_jobs", "errors"),
     ("errors", "error")],
)  # fmt: skip
def test_what_only_workers_need_is_not_shown_to_owners(connection: Connection, table: str, column: str) -> None:
    with acting(connection, claims=claims_of("bob")), pytest.raises(errors.InsufficientPrivilege):
        connection.execute(f"select {column} from penstock.{table}".encode())


def test_an_owner_reads_large_arguments_and_nobody_else_does(connection: Connection, world: World) -> None:
    large = [world.bobs["large"]]
    with acting(connection, claims=claims_of("bob")):
        assert connection.execute("select args->>'of' from penstock.my_jobs where id = %s", large).fetchall() == [
            ("bob",)
        ]
    with acting(connection):
        assert connection.execute("select penstock.payload_of(%s)", large).fetchall() == [(None,)]
        assert connection.execute("select from penstock.payloads").fetchall() == []


def test_an_owner_is_told_that_it_failed_but_no_exception(connection: Connection, world: World) -> None:
    with acting(connection, claims=claims_of("bob")):
        shown = connection.execute("select to_jsonb(j)::text, error from penstock.my_jobs as j").fetchall()
    assert "it failed by an internal error" in [error for _, error in shown]
    assert not [row for row, _ in shown if "password" in row or "/srv" in row]


def test_an_owner_is_not_told_which_machine_was_lost(connection: Connection) -> None:
    lease = connection.execute("select penstock.open_lease('db1.internal:77')").fetchone()
    job = connection.execute(
        "select penstock.enqueue(kind => 'k', owner => 'bob', queue => 'lost', max_attempts => 1)"
    ).fetchone()
    connection.execute("select penstock.claim(%s, 'lost', 1)", lease)
    connection.execute("update penstock.heartbeats set expires_at = now() - interval '1 s' where lease = %s", lease)
    connection.execute("select penstock.reclaim()")
    with acting(connection, claims=claims_of("bob")):
        [shown] = connection.execute("select error from penstock.my_jobs where id = %s", job).fetchall()
    assert shown == ("its worker was lost",)


def test_the_database_shows_of_an_error_what_the_library_does(connection: Connection) -> None:
    inside = "it failed by an internal error"
    in_time = "did not end within 45 s, the budget of the tick that ran it"
    for text, said in {"timed out after 0.05 s": None, "timed out after 1e+06 s": None, in_time: None,
                       "timed out after 5 s: password": inside, "x\ntimed out after 5 s": inside}.items():  # fmt: skip
        error = {"error": text, "type": "Timeout", "traceback": "…"}
        [told] = connection.execute("select penstock.shown(%s)", [Jsonb([error])]).fetchone() or (None,)
        assert told == shown_here(error) == (said or text)


_WRITES = [
    "insert into {t} default values",
    "insert into {t} ({c}) values (null)",
    "update {t} set {c} = {c}",
    "delete from {t}",
    "delete from {t} where false",
    "truncate {t} cascade",
    "select {c} from {t} for update",
    "select {c} from {t} for key share",
    "copy {t} from stdin",
    "lock table {t} in row exclusive mode",
    "lock table {t} in access exclusive mode",
    "alter table {t} rename to mine",
    "alter table {t} disable row level security",
    "drop table {t}",
    "comment on table {t} is 'mine'",
]
_COLUMN = """
select attname from pg_attribute
 where attrelid = %s::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
 order by attnum limit 1
"""
# A view that nobody can write to says so first; one that shows an identity, that this cannot be given.
_NOT_FOR_VIEWS = (
    errors.ObjectNotInPrerequisiteState, errors.WrongObjectType, errors.FeatureNotSupported, errors.GeneratedAlways,
)  # fmt: skip


@anybody
def test_nothing_can_be_written(connection: Connection, role: str, claims: str) -> None:
    before = rows_of(connection)
    for (name, kind, _), text in product(relations(connection), _WRITES):
        [column] = connection.execute(_COLUMN, [f"penstock.{name}"]).fetchone() or [""]
        is_view = kind == "v"
        if is_view and not text.startswith("lock"):
            text = text.replace("table {t}", "view {t}")
            if "row level" in text:
                continue
        statement = sql.SQL(text).format(t=sql.Identifier("penstock", name), c=sql.Identifier(column))
        refusals = (errors.InsufficientPrivilege, *(_NOT_FOR_VIEWS if is_view else ()))
        with acting(connection, role, claims):
            assert_refused(connection, statement, refusals)
    assert not changed(before, rows_of(connection))


@anybody
def test_the_schema_cannot_be_added_to(connection: Connection, role: str, claims: str) -> None:
    for text in (
        "create table penstock.mine (id int)",
        "create function penstock.mine() returns int language sql as 'select 1'",
        "create or replace function penstock.caller() returns text language sql as $$ select 'bob' $$",
        "create view penstock.mine as select 1",
        "drop schema penstock cascade",
        "drop function penstock.caller cascade",
        "create policy mine on penstock.jobs using (true)",
        "create trigger mine before update on penstock.jobs execute function suppress_redundant_updates_trigger()",
        "alter function penstock.start security invoker",
        "select nextval('penstock.leases_id_seq')",
        "select setval('penstock.leases_id_seq', 1)",
        "set local row_security = off; select id from penstock.jobs",
    ):
        with acting(connection, role, claims):
            assert_refused(connection, text)


def test_no_role_of_users_is_a_member_of_another(connection: Connection) -> None:
    members = connection.execute(
        """select m.roleid::regrole, m.member::regrole from pg_auth_members as m
            where m.member::regrole::text in ('anon', 'authenticated')"""
    ).fetchall()
    assert not members


def test_the_catalogue_says_that_everything_is_closed(connection: Connection) -> None:
    """Row level security on every table, views with the rights of whoever asks, nothing for public or anon."""
    unprotected = connection.execute(
        """select relname from pg_class where relnamespace = 'penstock'::regnamespace
            and ((relkind in ('r', 'p') and not relrowsecurity)
                 or (relkind = 'v' and not coalesce('security_invoker=true' = any(reloptions), false)))"""
    ).fetchall()
    assert not unprotected
    granted = connection.execute(
        """select 'table', relname::text from pg_class, aclexplode(relacl) as acl
            where relnamespace = 'penstock'::regnamespace and acl.grantee in (0, 'anon'::regrole)
           union all
           select 'function', oid::regprocedure::text from pg_proc
            where pronamespace = 'penstock'::regnamespace
              and (has_function_privilege('anon', oid, 'execute')
                   or exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0))
           union all
           select 'schema', nspname::text from pg_namespace, aclexplode(nspacl) as acl
            where nspname = 'penstock' and acl.grantee in (0, 'anon'::regrole)"""
    ).fetchall()
    assert not granted


def test_what_runs_with_its_owner_s_rights_has_a_fixed_path(connection: Connection) -> None:
    """With temporary objects last: whoever calls it could otherwise put a type of their own before Postgres's."""
    paths = connection.execute(
        """select proname::text, (select setting from unnest(proconfig) as setting where setting ~ '^search_path=')
             from pg_proc where pronamespace = 'penstock'::regnamespace and prosecdef"""
    ).fetchall()
    assert {name for name, _ in paths} >= {"start", "start_batch", "cancel_mine", "retry_mine", "shown_error"}
    assert {path for _, path in paths} == {"search_path=pg_catalog, pg_temp"}

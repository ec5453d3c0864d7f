"""Bringing a database to this version's schema: numbered migrations, then the functions, in one transaction.

Any number of processes may migrate at once: a lock lets one do it, and the others find it done. It is on a table of
ours, for an advisory lock is anybody's to take.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors

from penstock.engine.postgres.adapters import migrate_adapters
from penstock.engine.postgres.address import read_address
from penstock.engine.postgres.connections import ENCODING
from penstock.engine.postgres.errors import PostgresReadOnly
from penstock.errors import PenstockError, SchemaTooNew, SchemaTooOld
from penstock.sql import Migration, functions, functions_digest, grants, migrations, quote_schema, render
from penstock.sql.contract import COMMENT

OLDEST_POSTGRES = 15
ROLES = ("anon", "authenticated", "service_role")
"""Under which requests of users run, as Supabase has them."""

_BOOKKEEPING = """
create schema if not exists {schema};
create table if not exists penstock.schema_migrations (
  number int constraint schema_migrations_pkey primary key,
  name text not null,
  functions text,
  applied_at timestamptz not null default now()
)
"""


@dataclass(frozen=True, slots=True)
class Migrated:
    """What `migrate` did: the migrations it applied, and whether it replaced the functions."""

    applied: tuple[str, ...]
    functions_replaced: bool
    notices: tuple[str, ...] = ()
    """What an operator should know: roles that were made, rights that are missing."""

    @property
    def changed(self) -> bool:
        return bool(self.applied) or self.functions_replaced


Applications = Mapping[str, Sequence[Migration]]
"""Migrations of applications with tables of their own, by the application's name."""


Progress = Callable[[int, int, str], None]
"""Told how many steps are done, of how many, and which is next."""


def migrate(
    url: str,
    schema: str = "penstock",
    applications: Applications | None = None,
    progress: Progress | None = None,
    *,
    with_: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Migrated:
    """Migrates the database at `url`. Idempotent; refuses a database that a newer Penstock has migrated.

    `with_` names SQL adapters to add, `without` those to remove; those that it has are kept up to date."""
    address = read_address(url)
    with psycopg.connect(address, application_name="penstock migrate", client_encoding=ENCODING) as connection:
        try:
            return migrate_on(connection, schema, applications, progress, with_=with_, without=without)
        except errors.ReadOnlySqlTransaction as error:
            raise PostgresReadOnly from error


def migrate_on(
    connection: psycopg.Connection[Any],
    schema: str = "penstock",
    applications: Applications | None = None,
    progress: Progress | None = None,
    *,
    with_: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Migrated:
    """The same on a connection; commits with the caller's transaction, if there is one."""
    if connection.info.server_version < OLDEST_POSTGRES * 10_000:
        raise PenstockError(
            f"PostgreSQL {connection.info.server_version // 10_000} is too old: Penstock needs "
            f"{OLDEST_POSTGRES} or newer"
        )
    if (problem := no_characters(connection)) is not None:
        raise PenstockError(problem)
    with connection.transaction():
        [(search_path,)] = connection.execute("show search_path").fetchall()
        # the functions' bodies name tables and each other in any order; nobody else's objects are taken for Postgres's
        _execute(
            connection,
            "set local check_function_bodies = off; set local client_min_messages = warning; "
            "set local search_path = pg_catalog, pg_temp",
            schema,
        )
        roles = _roles(connection)
        _lock(connection, schema)
        known = migrations()
        rows = connection.execute(
            render("select number, name, functions from penstock.schema_migrations order by number", schema).encode()
        ).fetchall()
        _refuse_earlier({number: name for number, name, _ in rows}, known, schema)
        done = {number: digest for number, _, digest in rows}
        _refuse_newer(max(done, default=0), known[-1].number, schema)
        due = [migration for migration in known if migration.number not in done]
        tell = progress or (lambda *_: None)
        for place, migration in enumerate(due):
            tell(place, len(due) + 1, str(migration))
            _execute(connection, migration.text, schema)
            connection.execute(
                render("insert into penstock.schema_migrations (number, name) values (%s, %s)", schema).encode(),
                [migration.number, migration.name],
            )
        stale = bool(due) or done.get(known[-1].number) != functions_digest() or _has_new_roles(connection, schema)
        if stale:
            tell(len(due), len(due) + 1, "functions")
            _execute(connection, functions(), schema)
            _execute(connection, grants(), schema)
            connection.execute(
                render("update penstock.schema_migrations set functions = %s where number = %s", schema).encode(),
                [functions_digest(), known[-1].number],
            )
            _execute(connection, "select penstock.add_partitions(), penstock.add_locks()", schema)
        applied = [str(migration) for migration in due]
        applied += migrate_adapters(
            connection,
            schema,
            lambda text: _execute(connection, text, schema),
            wanted=with_,
            unwanted=without,
            engine_changed=stale,
        )
        for name, theirs in (applications or {}).items():
            # it may keep its tables where its login looks for them
            _look_in(connection, search_path)
            applied += _migrate_application(connection, name, theirs, schema)
        _look_in(connection, search_path)
        return Migrated(tuple(applied), stale, tuple(_notices(connection, roles)))


def no_characters(connection: psycopg.Connection[Any]) -> str | None:
    """What is wrong with a database of the encoding SQL_ASCII: it knows bytes, not characters. left() cuts one in two,
    which no reader then takes for text, and JSON may not escape any."""
    if connection.info.parameter_status("server_encoding") != "SQL_ASCII":
        return None
    return (
        f"the database {connection.info.dbname!r} has the encoding SQL_ASCII, in which text cannot be kept safely: "
        "make one in UTF8 (create database … template template0 encoding 'UTF8') and name that in DATABASE_URL"
    )


def _lock(connection: psycopg.Connection[Any], schema: str) -> None:
    """Until the transaction ends; others may read the table meanwhile."""
    for last in (False, False, True):
        try:
            with connection.transaction():
                _execute(connection, _BOOKKEEPING, schema)
            break
        except (errors.UniqueViolation, errors.DuplicateObject, errors.DuplicateTable, errors.DuplicateSchema):
            # another process has just made them: `if not exists` looks before it waits for that one's commit
            if last:
                raise
    _execute(connection, "lock table penstock.schema_migrations in share row exclusive mode", schema)


def _look_in(connection: psycopg.Connection[Any], search_path: str) -> None:
    connection.execute("select pg_catalog.set_config('search_path', %s, true)", [search_path])


def _migrate_application(
    connection: psycopg.Connection[Any], application: str, known: Sequence[Migration], schema: str
) -> list[str]:
    """Applies those that are due; their text may name the engine's schema `penstock`, as ours does."""
    table = render("penstock.application_migrations", schema)
    done = connection.execute(f"select number from {table} where application = %s".encode(), [application]).fetchall()  # noqa: S608 - of our own words
    due = [migration for migration in known if (migration.number,) not in done]
    for migration in due:
        _execute(connection, migration.text, schema)
        connection.execute(
            f"insert into {table} (application, number, name) values (%s, %s, %s)".encode(),  # noqa: S608 - of our own words
            [application, migration.number, migration.name],
        )
    return [f"{application} {migration}" for migration in due]


def _roles(connection: psycopg.Connection[Any]) -> dict[str, bool]:
    """The roles of requests that there are, and whether this login may act as each."""
    found = connection.execute(
        # since Postgres 16 a member may be one that must not act as the role
        """select rolname,
                  pg_catalog.pg_has_role(
                    oid, case when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'set'
                              else 'member' end)
             from pg_roles where rolname = any(%s)""",
        [list(ROLES)],
    )
    return dict(found.fetchall())


def _notices(connection: psycopg.Connection[Any], before: Mapping[str, bool]) -> Iterator[str]:
    """Asked each time, not only when the roles are made: rights come and go behind our back."""
    if made := [role for role in ROLES if role not in before and role in _roles(connection)]:
        yield f"created {'role' if len(made) == 1 else 'roles'} {', '.join(made)}, which cannot log in"
    yield from missing_rights(connection)


def missing_rights(connection: psycopg.Connection[Any]) -> Iterator[str]:
    """What this login lacks to serve requests of users, and how it gets it."""
    now = _roles(connection)
    login = connection.info.user
    for role in ROLES:
        if role not in now:
            yield (
                f"role {role} is missing and {login} may not create it: requests of users are refused; "
                f"as an administrator: create role {role} nologin noinherit; grant {role} to {login}"
            )
        elif not now[role]:
            yield (
                f"{login} may not act as {role}: requests of users are refused; "
                f"as an administrator: grant {role} to {login}"
            )


def _has_new_roles(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Whether the roles of requests were made after the schema, and may not even enter it."""
    found = connection.execute(
        """select exists (select from pg_roles where rolname in ('authenticated', 'service_role')
                             and not pg_catalog.has_schema_privilege(oid, %s::text, 'usage'))""",
        [schema],
    ).fetchone()
    return found == (True,)


def _refuse_earlier(in_database: Mapping[int, str], known: Sequence[Migration], schema: str) -> None:
    """A migration that has another name here is of the layout before these."""
    if any(in_database.get(each.number, each.name) != each.name for each in known):
        raise SchemaTooOld(
            f"schema {schema!r} has tables of a layout from before the first release, which cannot be upgraded: "
            f"drop it with its jobs (drop schema {quote_schema(schema)} cascade) and migrate again, "
            "or migrate another schema (--schema, PENSTOCK_SCHEMA)"
        )


def _refuse_newer(in_database: int, in_code: int, schema: str) -> None:
    if in_database > in_code:
        raise SchemaTooNew(
            f"schema {schema!r} is at migration {in_database}, but this version of Penstock knows only {in_code}: "
            "upgrade Penstock (pip install -U penstock)"
        )


def _execute(connection: psycopg.Connection[Any], text: str, schema: str) -> None:
    said = render(text, schema).replace("{schema}", quote_schema(schema)).replace("{contract}", COMMENT)
    connection.execute(said.encode())

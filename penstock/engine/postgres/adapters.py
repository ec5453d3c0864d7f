"""SQL adapters in a database: which it has, brought up to date with the schema, added and removed.

They are remembered among the migrations of applications: those of an adapter under its name, and as number 0 the
digest of the script that was run last.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import errors

from penstock.errors import PenstockError
from penstock.sql import Migration, render
from penstock.sql.adapters import Adapter, adapter, adapters

Execute = Callable[[str], None]
"""Runs a script that names the engine's schema `penstock`."""

_DIGEST = 0
_APPLICATION = "adapter "


def installed_adapters(connection: psycopg.Connection[Any], schema: str) -> dict[str, bool]:
    """The adapters of the database, and whether each is this version's."""
    found = connection.execute(
        render(
            "select application, name from penstock.application_migrations "
            "where number = %s and pg_catalog.starts_with(application, %s) order by application",
            schema,
        ).encode(),
        [_DIGEST, _APPLICATION],
    ).fetchall()
    digests = {application.removeprefix(_APPLICATION): digest for application, digest in found}
    # another version may know more of them
    return {name: adapters()[name].digest == digest for name, digest in digests.items() if name in adapters()}


def migrate_adapters(
    connection: psycopg.Connection[Any],
    schema: str,
    execute: Execute,
    *,
    wanted: Sequence[str],
    unwanted: Sequence[str],
    engine_changed: bool,
) -> Iterator[str]:
    """Removes those that are unwanted, adds those that are wanted, brings the others up to date; says what it did."""
    chosen, refused = [adapter(name) for name in wanted], [adapter(name) for name in unwanted]
    present = installed_adapters(connection, schema)
    for each in refused:
        if each.name in present:
            execute(each.removal)
            _note(connection, schema, "delete from {table} where application = %s", each.name)
            del present[each.name]
            yield f"{each.name} removal"
    for each in (*chosen, *(adapters()[name] for name in present if name not in wanted)):
        due = _due(connection, schema, each)
        try:
            for migration in due:
                execute(migration.text)
                _note(
                    connection, schema, "insert into {table} (application, number, name) values (%s, %s, %s)",
                    each.name, migration.number, migration.name,
                )  # fmt: skip
                yield f"{each.name} {migration}"
            if due or engine_changed or not present.get(each.name, False):
                execute(each.script)
                _note(
                    connection, schema,
                    "insert into {table} (application, number, name) values (%s, %s, %s) "
                    "on conflict (application, number) "
                    "do update set name = excluded.name, applied_at = pg_catalog.now()",
                    each.name, _DIGEST, each.digest,
                )  # fmt: skip
                yield f"{each.name} functions"
        except errors.RaiseException as refusal:
            raise PenstockError(f"{each.name}: {refusal.diag.message_primary}") from refusal


def _due(connection: psycopg.Connection[Any], schema: str, adapter: Adapter) -> list[Migration]:
    done = connection.execute(
        render("select number from penstock.application_migrations where application = %s", schema).encode(),
        [_APPLICATION + adapter.name],
    ).fetchall()
    return [migration for migration in adapter.migrations if (migration.number,) not in done]


def _note(connection: psycopg.Connection[Any], schema: str, text: str, name: str, *values: object) -> None:
    table = render("penstock.application_migrations", schema)
    connection.execute(text.format(table=table).encode(), [_APPLICATION + name, *values])

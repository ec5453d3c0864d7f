"""PENSTOCK of a project's settings, and the address of a database of DATABASES."""

from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings as of_django
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.engine.postgres.address import read_address
from penstock.json import MAX_PAYLOAD

_LIBPQ = frozenset(option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults())


@dataclass(frozen=True, slots=True, kw_only=True)
class PenstockSettings:
    """In PENSTOCK the names are in upper case: PENSTOCK = {"DATABASE": "default", "POOL_SIZE": 4}."""

    database: str | None = DEFAULT_DB_ALIAS
    """The alias in DATABASES whose database has the jobs; None when none of them has."""
    url: str | None = None
    """Another way to that database, for workers: around a PgBouncer, for instance. Without an alias: where it is."""
    schema: str = "penstock"
    migrate: bool = True
    """Whether `manage.py migrate` brings the schema along."""
    imports: tuple[str, ...] = ()
    """Modules with tasks or handlers that a worker imports, besides `tasks` of each installed application."""
    slots: int = 10
    """Tasks of a queue that a worker runs at once, unless --queues says otherwise. Each may have a connection."""
    pool_size: int = 10
    database_timeout: float | None = None
    max_payload: int = MAX_PAYLOAD
    folder: str | Path = ".penstock"
    artifacts: str | Path | None = None
    artifacts_kept: float | None = None

    def address(self) -> str:
        """Where the jobs are, as libpq takes it: under the test runner, in the database that it has made."""
        if self.url is None:
            if self.database is None:
                raise ImproperlyConfigured("PENSTOCK: without a DATABASE it needs a URL, postgresql://…")
            return address_of(self.database)
        if self.database is None:
            return read_address(self.url)
        name = connections[self.database].settings_dict["NAME"]
        return make_conninfo(read_address(self.url), dbname=name or None)

    @property
    def named(self) -> str:
        """What of the address changes while a program runs: its test runner makes another database."""
        return "" if self.database is None else str(connections.settings[self.database]["NAME"])

    def is_where(self, alias: str) -> bool:
        """Whether the database of this alias is the one that has the jobs, so that both may be in one transaction."""
        if alias == self.database:
            return True
        if connections[alias].vendor != "postgresql":
            return False
        return _place(address_of(alias)) == _place(self.address())


def read_settings() -> PenstockSettings:
    given: dict[str, Any] = dict(getattr(of_django, "PENSTOCK", {}))
    known = {field.name.upper(): field.name for field in fields(PenstockSettings)}
    for name in given:
        if name not in known:
            close = get_close_matches(str(name).upper(), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise ImproperlyConfigured(f"PENSTOCK[{name!r}] is no setting; {hint}")
    chosen = PenstockSettings(**{known[name]: value for name, value in given.items()})
    if chosen.database is not None and chosen.database not in connections:
        raise ImproperlyConfigured(f"PENSTOCK['DATABASE'] is {chosen.database!r}, which is not in DATABASES")
    return chosen


def address_of(alias: str) -> str:
    """Of an alias in DATABASES. Django knows itself what of its settings libpq is told; a service, sslmode, passfile
    and the like in OPTIONS are libpq's own words."""
    wrapper = connections[alias]
    if wrapper.vendor != "postgresql":
        raise ImproperlyConfigured(
            f"DATABASES[{alias!r}] is {wrapper.vendor}, and jobs live in PostgreSQL: name an alias that is one in "
            "PENSTOCK['DATABASE'], or set it to None and PENSTOCK['URL'] to postgresql://…"
        )
    given = {name: value for name, value in wrapper.get_connection_params().items() if name in _LIBPQ}
    if role := wrapper.settings_dict["OPTIONS"].get("assume_role"):
        given["options"] = f"{given.get('options', '')} -c role={role}".strip()
    return make_conninfo(**given)


def _place(address: str) -> tuple[object, ...]:
    given = conninfo_to_dict(address)
    host = given.get("hostaddr") or given.get("host")
    return given.get("service"), host, str(given.get("port") or 5432), given.get("dbname")

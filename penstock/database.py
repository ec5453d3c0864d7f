"""Where an application's database is: found, started if it is an embedded one, migrated, left."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.http.answers import no_database
from penstock.sql import Migration

if TYPE_CHECKING:
    from penstock.embedded import EmbeddedPostgres
    from penstock.engine.postgres.migrate import Migrated, Progress


class Home:
    def __init__(self, url: str | None, folder: Path, schema: str, *, migrates: bool) -> None:
        self.folder = folder
        self.only_api = False
        """Its workers go through a server's API: no embedded Postgres is started for them."""
        self.migrations: dict[str, Sequence[Migration]] = {}
        """Of applications with tables of their own."""
        self._schema = schema
        self._url = url or os.environ.get("DATABASE_URL") or None
        self._read = False
        """Whether the address was seen to be one."""
        self._migrates = migrates
        self._migrate_first = migrates
        self._migrated: Migrated | None = None
        self._embedded: EmbeddedPostgres | None = None
        self._starting = threading.Lock()

    @property
    def named(self) -> bool:
        """Whether there is an address, so that nothing is started to have one."""
        return self._url is not None

    @property
    def shown(self) -> str:
        """Which database it is, for people: no password, no user."""
        from penstock.engine.postgres.address import shown_address

        url = self.url()
        return shown_address(url) if self._embedded is None else f"embedded Postgres under {self.folder}"

    def url(self, progress: "Progress | None" = None, *, with_: Sequence[str] = (), without: Sequence[str] = ()) -> str:
        """The database's address; starts the embedded Postgres when there is no other. The rest is for migrating it."""
        from penstock.engine.postgres.address import read_address

        with self._starting:
            if self._url is not None and not self._read:
                self._url, self._read = read_address(self._url), True
            if self._url is None:
                if self.only_api:
                    raise no_database("this")
                from penstock import embedded

                self._embedded = embedded.start(self.folder)
                self._url = self._embedded.url
                self._migrate_first = True
            if self._migrate_first:
                self._migrated = self._bring_up(self._url, progress, with_, without)
                self._migrate_first = False
            return self._url

    def migrate(
        self, progress: "Progress | None" = None, *, with_: Sequence[str] = (), without: Sequence[str] = ()
    ) -> "Migrated":
        self._migrated = None
        url = self.url(progress, with_=with_, without=without)
        # what finding it has done is what was asked for
        return self._migrated or self._bring_up(url, progress, with_, without)

    def _bring_up(
        self, url: str, progress: "Progress | None", with_: Sequence[str], without: Sequence[str]
    ) -> "Migrated":
        from penstock.engine.postgres.migrate import migrate

        return migrate(url, self._schema, self.migrations, progress, with_=with_, without=without)

    def move_to(self, url: str | None) -> str | None:
        """To the database there, with None to the embedded one; returns where it was."""
        before = None if self._embedded is not None else self._url
        self.let_go()
        with self._starting:
            self._url, self._read = url, False
            self._migrate_first = self._migrates
        return before

    def let_go(self) -> None:
        """Of the embedded Postgres, which stops when its last user has."""
        if self._embedded is not None:
            self._embedded.close()
            self._embedded = None
            self._url = None

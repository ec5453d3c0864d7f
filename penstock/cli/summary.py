"""What `penstock up` has started, in one block: where it is, how to sign in, what it runs, how to stop it."""

import logging
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.markup import escape

from penstock.app import Penstock
from penstock.cli.output import err
from penstock.cli.try_it import commands_for, key_in_shell
from penstock.logs import counted, shown
from penstock.sql import at_migration, migrations

log = logging.getLogger("penstock.up")


Line = tuple[str, list[str]]
"""What it is about, and what there is to say of that."""


@dataclass(frozen=True, slots=True)
class Started:
    """Everything that `penstock up` runs."""

    app: Penstock
    address: str
    pages: Mapping[str, str]
    """Addresses to open in a browser, by what they show."""
    slots: Mapping[str, int]
    processes: tuple[int, int]
    grace: float
    applied: Sequence[str]
    """The migrations that this start has brought."""

    def lines(self) -> Iterator[Line]:
        for about, page in self.pages.items():
            yield about, [page]
        yield "sign in", list(self._ways_in())
        if not self.app.engine.capabilities.database:
            yield "jobs", [f"{self.app.engine.outage.what}, in the queues of BullMQ"]
        yield "database", [self._database()]
        yield "files", [self._files()]
        yield "queues", [", ".join(f"{queue} × {slots}" for queue, slots in self.slots.items()) or "none"]
        yield "workers", [self._workers()]
        yield "try it", commands_for(self.app, self.address, key_in_shell(self._key_file))
        yield "stop", [f"Ctrl-C; what runs may go on for {self.grace:g} s"]

    @property
    def _key_file(self) -> Path:
        from penstock.server.auth.development import key_file

        return key_file(self.app.folder)

    def _ways_in(self) -> Iterator[str]:
        """Where the key is, never the key."""
        given = os.environ.get("PENSTOCK_SERVICE_KEY")
        yield f"as the operator: the service key in {'PENSTOCK_SERVICE_KEY' if given else self._key_file}"
        if not os.environ.get("PENSTOCK_JWKS_URL"):
            folder = "" if self.app.folder == Path(".penstock") else f" --folder {shlex.quote(str(self.app.folder))}"
            yield f"as a user: penstock token --sub ada{folder}"

    def _database(self) -> str:
        at = at_migration(self.app.database.schema, migrations()[-1].number)  # or it would not have come up
        return f"{self.app.home.shown}, {at}{', brought there just now' if self.applied else ''}"

    def _files(self) -> str:
        address = self.app.artifacts.storage.address
        if address is None:
            return "a store of the application's own"
        place, here = address.partition("?")[0], f"{Path.cwd()}{os.sep}"
        return place.removeprefix(here)

    def _workers(self) -> str:
        least, most = self.processes
        many = counted(most, "process", "processes") if least == most else f"{least} to {most} processes by load"
        return f"{many}, {counted(len(self.app.kinds), 'kind')} of jobs"


def introduce(started: Started, *, as_json: bool) -> None:
    """As a line of the log where all of it is JSON; else for people, coloured or not as they have it."""
    if as_json:
        told = {about.replace(" ", "_"): "; ".join(texts) for about, texts in started.lines()}
        log.info("penstock is up", extra={"address": started.address} | told)
        return
    err.print(f"[bold]Penstock {version('penstock')}[/] is up\n", highlight=False)
    for about, texts in started.lines():
        for place, text in enumerate(texts):
            heading = f"[bold]{about:<10}[/]" if place == 0 else f"{'':10}"
            err.print(f"  {heading} {escape(shown(text))}", soft_wrap=True, highlight=False)
    err.print()

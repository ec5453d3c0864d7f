"""What a shell offers after Tab: queues and kinds as the database knows them, kinds as the application names them.

Nothing is started for it and nothing is said of what goes wrong: a shell that completes nothing is an answer too.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import typer

from penstock.app import Penstock
from penstock.engine import commands

WITHIN = 1.0
"""Seconds that somebody may wait for a Tab."""


def _known(context: typer.Context, incomplete: str, ask: Callable[[Penstock], Iterable[str]]) -> list[str]:
    from penstock import embedded

    # what has been typed comes first; options after the cursor are not read by then
    given = context.params
    with suppress(Exception):
        folder = Path(given.get("folder") or os.environ.get("PENSTOCK_FOLDER", ".penstock"))
        url = given.get("url") or os.environ.get("DATABASE_URL") or embedded.running_url(folder)
        if url is None and not os.environ.get("PENSTOCK_JOBS_URL"):
            return []
        schema = given.get("schema") or os.environ.get("PENSTOCK_SCHEMA", "penstock")
        with Penstock(url, folder=folder, schema=schema, database_timeout=WITHIN) as app:
            return sorted(name for name in set(ask(app)) if name.startswith(incomplete))
    return []


def queues(context: typer.Context, incomplete: str) -> list[str]:
    """Those that have jobs or settings."""
    return _known(context, incomplete, lambda app: (queue.name for queue in app.queues.list()))


def kinds(context: typer.Context, incomplete: str) -> list[str]:
    """Those of the application, if one is named; else those that have run."""
    if application := context.params.get("application"):
        from penstock.cli.load import load_app

        with suppress(Exception):
            return [kind for kind in load_app(application).kinds if kind.startswith(incomplete)]
    return _known(context, incomplete, lambda app: (total.kind for total in app.engine.run(commands.Totals())))


def schedules(context: typer.Context, incomplete: str) -> list[str]:
    return _known(context, incomplete, lambda app: (schedule.name for schedule in app.schedules.list()))

"""What `manage.py check` says of the settings, before a task is enqueued into nowhere."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from penstock.errors import PenstockError
from penstock.interop.django import discovery
from penstock.interop.django.application import the_app
from penstock.interop.django.settings import read_settings

if TYPE_CHECKING:
    from penstock.interop.django.backend import PenstockBackend

TIMEOUT = "connect_timeout"
ENQUEUE = ("transaction", "on_commit", "now")


def check_settings(app_configs: object = None, **_: object) -> list[CheckMessage]:
    """PENSTOCK itself, and the database it names."""
    del app_configs
    try:
        read_settings().address()
    except (ImproperlyConfigured, PenstockError) as error:
        return [Error(str(error), id="penstock.E001")]
    return []


def check_timeouts(app_configs: object = None, **_: object) -> list[CheckMessage]:
    """For `check --deploy`: tasks are enqueued on Django's connections, which wait for a server that answers nobody."""
    from penstock.interop.django.backend import PenstockBackend
    from penstock.interop.django.framework import task_backends

    del app_configs
    aliases = {each.database for each in task_backends.all() if isinstance(each, PenstockBackend)}
    return [
        Warning(
            f"DATABASES[{alias!r}] has no connect_timeout: when Postgres answers nobody, enqueue waits for minutes",
            hint="Add it: 'OPTIONS': {'connect_timeout': 5}.",
            id="penstock.W002",
        )
        for alias in sorted(aliases & set(connections))
        if connections[alias].vendor == "postgresql" and not connections[alias].settings_dict["OPTIONS"].get(TIMEOUT)
    ]


def check_backend(backend: "PenstockBackend") -> Iterator[CheckMessage]:
    """OPTIONS of one of TASKS, and where its tasks are."""
    from penstock.interop.django.job_task import JOB_OPTIONS

    where = f"TASKS[{backend.alias!r}]['OPTIONS']"
    if backend.database not in connections:
        yield Error(f"{where}['database'] is {backend.database!r}, which is not in DATABASES", id="penstock.E002")
        return
    chosen: Any = backend.options.get("enqueue")
    if chosen is not None and chosen not in ENQUEUE:
        yield Error(f"{where}['enqueue'] is {chosen!r}, none of {', '.join(ENQUEUE)}", id="penstock.E003")
    for name in backend.options.keys() - {"enqueue", "database", *JOB_OPTIONS}:
        yield Error(f"{where}[{name!r}] is no option", id="penstock.E004")
    if check_settings():
        return  # which is told already
    app = the_app()
    if chosen == "transaction" and not app.settings.is_where(backend.database):
        yield Error(
            f"{where}['enqueue'] is 'transaction', but the jobs are not in the database {backend.database!r}",
            hint="Leave it out: tasks are then enqueued when the transaction has committed.",
            id="penstock.E005",
        )
    for kind, task in sorted(discovery.known.items()):
        if task.backend == backend.alias and not discovery.imported_by_workers(task.func.__module__, app):
            yield Warning(
                f"workers do not import {task.func.__module__}, and would leave {kind} to others",
                hint=f"Move it to a module `tasks`, or add {task.func.__module__!r} to PENSTOCK['IMPORTS'].",
                id="penstock.W001",
            )

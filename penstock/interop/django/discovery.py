"""Which tasks a worker knows: those in `tasks` of every installed application, and where PENSTOCK['IMPORTS'] says."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from django.apps import apps
from django.conf import settings

if TYPE_CHECKING:
    from penstock.interop.django.application import DjangoPenstock
    from penstock.interop.django.framework import AnyTask

known: "dict[str, AnyTask]" = {}
"""Every task of our backends that was seen in this process, by its kind: the path of its function."""


def add_tasks(app: "DjangoPenstock") -> None:
    """Imports the modules that have tasks, and gives the application a handler for each."""
    import_modules(app)
    if known:
        from penstock.interop.django.task_handler import add_handler

        for task in known.values():
            add_handler(app, task)


def import_modules(app: "DjangoPenstock") -> None:
    for name in _modules(app):
        import_module(name)


def imported_by_workers(module: str, app: "DjangoPenstock") -> bool:
    """Whether a worker would meet the tasks of this module; also what Django itself imports: models and the like."""
    installed = {config.name for config in apps.get_app_configs()}
    package, _, last = module.rpartition(".")
    return (
        module in app.settings.imports
        or module in installed
        or (package in installed and last in ("apps", "models", "tasks"))
        or any(module.startswith((f"{each}.tasks.", f"{each}.models.")) for each in installed)
    )


def declared_queues() -> set[str]:
    """The QUEUES of our backends in TASKS."""
    if not hasattr(settings, "TASKS"):
        return set()
    from penstock.interop.django.backend import PenstockBackend
    from penstock.interop.django.framework import task_backends

    ours = [backend for backend in task_backends.all() if isinstance(backend, PenstockBackend)]
    return {queue for backend in ours for queue in backend.queues}


def _modules(app: "DjangoPenstock") -> Iterator[str]:
    for config in apps.get_app_configs():
        name = f"{config.name}.tasks"
        if find_spec(name) is None:
            continue
        yield name
        folder = getattr(import_module(name), "__path__", ())
        yield from (each.name for each in pkgutil.walk_packages(folder, f"{name}."))
    yield from app.settings.imports

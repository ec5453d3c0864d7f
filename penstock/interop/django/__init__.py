"""Penstock in a Django project: `INSTALLED_APPS += ["penstock.interop.django"]`.

    TASKS = {"default": {"BACKEND": "penstock.interop.django.PenstockBackend"}}

`app` is the application that the settings describe, with the tasks of the project among its handlers. Needs Django
(penstock[django]) and, before Django 6, django-tasks. Nothing here is loaded before it is asked for: Django imports
this package to find out which models it has.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from penstock.extras import needs

with needs("django", "penstock.interop.django"):
    import django  # noqa: F401

if TYPE_CHECKING:
    from penstock.interop.django.application import DjangoPenstock
    from penstock.interop.django.backend import ImmediateBackend, PenstockBackend
    from penstock.interop.django.job_task import JobTaskContext, PenstockTask, task

    app: DjangoPenstock

__all__ = ["ImmediateBackend", "JobTaskContext", "PenstockBackend", "PenstockTask", "app", "task"]

_FOUND_IN = {
    "ImmediateBackend": "backend",
    "JobTaskContext": "job_task",
    "PenstockBackend": "backend",
    "PenstockTask": "job_task",
    "task": "job_task",
}


def __getattr__(name: str) -> object:
    if name == "app":
        from penstock.interop.django.application import the_app

        return the_app()
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FOUND_IN[name]}"), name)

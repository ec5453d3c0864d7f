"""The Python API: which names stand on which page. What is said of each is its docstring, read by mkdocstrings."""

from collections.abc import Iterator
from importlib import import_module

import penstock

# of `penstock` itself; what is in none of these stands on the last page
PAGES = {
    "application": ("The application", "Penstock"),
    "handlers": ("Handlers and handles", "Handler JobHandle Backoff Flow batch dedupe_key"),
    "context": ("Inside a handler", "Context SyncContext JobContext Earlier Snooze Fail Cancel Failure"),
    "jobs": ("Jobs and what belongs to them", "Job JobState NewJob ClaimedJob Page Artifact Queue Usage"),
    "worker": ("Workers", "Worker TickResult"),
}
# what `app.…` leads to
COLLECTIONS = {
    "jobs": ["penstock.jobs.Jobs"],
    "application": [
        "penstock.queue.Queues", "penstock.queue.Settings", "penstock.schedule.Schedules",
        "penstock.storage.files.Artifacts", "penstock.usage.Meter", "penstock.statistics.Statistics",
        "penstock.statistics.Runs", "penstock.statistics.Times", "penstock.statistics.Errors",
        "penstock.operations.Operator", "penstock.operations.Operations", "penstock.operations.Audit",
    ],
    "worker": ["penstock.workers.Workers"],
    "handlers": ["penstock.job_options.Options"],
}  # fmt: skip
MODULES = ["testing", "server", "server.auth", "storage", "outbound", "sandbox", "middleware", "push", "extras", "logs"]


def pages() -> Iterator[tuple[str, str]]:
    left = [name for name in penstock.__all__ if not name.startswith("_")]
    for page, (title, names) in PAGES.items():
        wanted = [f"penstock.{name}" for name in names.split()] + COLLECTIONS.get(page, [])
        left = [name for name in left if name not in names.split()]
        yield page, _page(title, f"`from penstock import {names.split()[0]}`", wanted)
    yield (
        "errors",
        _page("Errors", "Each is a `PenstockError`, and says what to do.", [f"penstock.{name}" for name in left]),
    )
    for name in MODULES:
        module = import_module(f"penstock.{name}")
        public = getattr(module, "__all__", None)
        about = (module.__doc__ or "").strip()
        shown = [f"penstock.{name}.{each}" for each in public] if public else [f"penstock.{name}"]
        yield name.replace(".", "_"), _page(f"penstock.{name}", about, shown)


def _page(title: str, about: str, names: list[str]) -> str:
    return f"# {title}\n\n{about}\n\n" + "\n\n".join(f"::: {name}" for name in names) + "\n"

"""The order of the pages. Every page has a place here, or below a folder, which ends with a stroke."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

Entry = str | Mapping[str, "str | Sequence[Entry]"]

NAV: list[Entry] = [
    {
        "Start": [
            "index.md", "tutorial.md", "installing.md", "comparison.md", "benchmarks.md",
            {
                "Coming from": [
                    {"Celery": "coming-from/celery.md"}, {"RQ": "coming-from/rq.md"},
                    {"procrastinate": "coming-from/procrastinate.md"}, {"pg-boss": "coming-from/pg-boss.md"},
                    {"pgmq": "coming-from/pgmq.md"}, {"BullMQ": "coming-from/bullmq.md"},
                ]
            },
        ]
    },
    {
        "Concepts": [
            "concepts/jobs.md", "concepts/leases.md", "concepts/claims.md", "concepts/flows.md",
            "concepts/guarantees.md", "concepts/history.md", "concepts/glossary.md",
        ]
    },
    {
        "Guides": [
            {
                "Jobs": [
                    "guides/enqueueing.md", "guides/transactions.md", "guides/retries.md", "guides/flows.md",
                    "guides/durable-functions.md", "guides/limits.md", "guides/cron.md", "guides/artifacts.md",
                    "guides/testing.md",
                ]
            },
            {
                "Workers": [
                    "guides/workers.md", "guides/serverless.md", "guides/remote-workers.md", "guides/push.md",
                    "guides/sql.md",
                ]
            },
            {
                "HTTP": [
                    "guides/server.md", "guides/fastapi.md", "guides/auth.md", "guides/dashboard.md",
                    "guides/web.md", "guides/applications.md",
                ]
            },
            {
                "Libraries": [
                    "guides/django.md", "guides/supabase.md", "guides/pgmq.md", "guides/bullmq.md",
                    "guides/sqlalchemy.md", "guides/opentelemetry.md", "guides/sentry.md", "guides/structlog.md",
                ]
            },
            {
                "In production": [
                    "guides/deploying.md", {"Docker, Kubernetes, systemd": "deploy/index.md"},
                    "guides/terminal.md",
                    "guides/operations.md", "guides/monitoring.md", "guides/security.md", "security.md",
                    "guides/database-rights.md",
                    "guides/pgbouncer.md", "guides/high-availability.md", "scale.md", "scale-out.md",
                    "guides/troubleshooting.md", "guides/faq.md",
                ]
            },
            {"More": ["guides/", "/"]},
        ]
    },
    {"Recipes": ["recipes/index.md", "recipes/"]},
    {
        "Reference": [
            "reference/settings.md", "reference/commands.md", "reference/http.md", "reference/sql.md",
            "reference/engines.md",
            {
                "Python": [
                    "reference/python/application.md", "reference/python/handlers.md", "reference/python/context.md",
                    "reference/python/jobs.md", "reference/python/worker.md", "reference/python/errors.md",
                    "reference/python/",
                ]
            },
        ]
    },
    {"Project": ["project/changing.md", "project/", {"Decisions": ["decisions/"]}]},
]  # fmt: skip


def as_toml(pages: Path) -> str:
    """For the generator's settings, with every page of a folder in the place of its name."""
    listed = set(_named(NAV))
    return _written(NAV, pages, listed)


def reached(pages: Path) -> set[str]:
    """The pages that have a place."""
    listed = set(_named(NAV))
    return {page for name in listed for page in (_below(name, pages, listed) if name.endswith("/") else [name])}


def _written(entries: Sequence[Entry], pages: Path, listed: set[str]) -> str:
    shown: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            shown += [f'"{each}"' for each in (_below(entry, pages, listed) if entry.endswith("/") else [entry])]
        else:
            for title, inner in entry.items():
                below = f'"{inner}"' if isinstance(inner, str) else _written(inner, pages, listed)
                shown += [f'{{ "{title}" = {below} }}'] if below != "[]" else []
    return "[" + ", ".join(shown) + "]"


def _below(folder: str, pages: Path, listed: set[str]) -> list[str]:
    found = (page.relative_to(pages).as_posix() for page in sorted((pages / folder.lstrip("/")).glob("*.md")))
    return [page for page in found if page not in listed]


def _named(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values():
                yield from [inner] if isinstance(inner, str) else _named(inner)

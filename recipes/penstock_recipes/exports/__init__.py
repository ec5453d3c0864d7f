"""PDF exports of résumés: documents, a queue that makes PDFs of them, history, downloads, batches.

`penstock up penstock_recipes.exports:app`, or `install(app)` into an application of your own.
"""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import Backoff, Context, Penstock
from penstock_recipes.application import made_on_demand
from penstock_recipes.exports.store import clean_up
from penstock_recipes.pages import add_page
from penstock_recipes.requirements import require

if TYPE_CHECKING:
    from fastapi import APIRouter

__all__ = ["install", "make_app"]

MEGABYTE = 1024 * 1024
_EXAMPLE = """\
HEADERS=$(penstock token --sub ada --header; echo 'Content-Type: application/json'); \
ID=$(echo "$HEADERS" | curl -sH @- {api}/api/v1/documents \
-d '{"title": "Ada", "data": {"profile": {"name": "Ada Lovelace"}}}' | grep -o '[0-9a-f-]\\{36\\}' | head -1); \
echo "$HEADERS" | curl -H @- {api}/api/v1/export/pdf -d '{"documentId": "'$ID'"}'"""


def install(
    app: Penstock,
    *,
    per_day: int | None = 100,
    running: int | None = 3,
    storage: int | None = 100 * MEGABYTE,
    max_attempts: int = 5,
    backoff: Backoff | None = None,
    timeout: float = 60.0,
    page: bool = True,
) -> None:
    """Adds tables, jobs, routes and quotas to an application. The limits are each user's: exports a day, exports
    running when another is asked for, bytes of files. With a `page` for people at /exports."""
    require("exports", "pikepdf", "typst")
    from penstock_recipes.exports.jobs import export_pdf

    app.add_migrations("exports", files(__package__) / "migrations")
    app.need("transactions")
    app.quota("exports", per_day=per_day, running=running, storage=storage)
    app.job(
        queue="exports",
        users=True,
        quota="exports",
        unique=True,
        max_attempts=max_attempts,
        backoff=backoff or Backoff(60, cap=3600, jitter=0.2),
        timeout=timeout,
        # in a process of its own: setting pages is nothing but work for a processor, and can be ended at any moment
        isolate=True,
    )(export_pdf)

    @app.cron("0 2 * * *", queue="exports")
    async def cleanup_exports(ctx: Context) -> int:
        """Removes exports that have expired, every night."""
        async with ctx.transaction() as connection:
            return await clean_up(app, connection)

    app.add_routes(_routes)
    if page:
        add_page(
            app, __name__, title="Exports", about="Résumés become PDFs: a form, live progress, the pages to look at."
        )
    app.example(_EXAMPLE)


def make_app(url: str | None = None, *, artifacts: str | Path | None = None) -> Penstock:
    """An application of its own that is nothing but exports."""
    app = Penstock(url, artifacts=artifacts)
    install(app)
    return app


def _routes() -> "APIRouter":
    from penstock_recipes.exports.routes import router

    return router


__getattr__: Callable[[str], Penstock] = made_on_demand(__name__, make_app)

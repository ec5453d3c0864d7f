"""Bookmarks: stored at once, then enriched in the background: screenshot, title, picture, text, caption, icon.

`penstock up penstock_recipes.bookmarks:app`, or `install(app)` into an application of your own.
"""

import os
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import InvalidInput, Penstock
from penstock.outbound import Guard
from penstock_recipes.application import made_on_demand
from penstock_recipes.bookmarks.archive import UPKEEP, purge
from penstock_recipes.bookmarks.consumer import reading_time
from penstock_recipes.bookmarks.messages import KIND, MAX_ATTEMPTS, QUEUE
from penstock_recipes.pages import add_page
from penstock_recipes.requirements import require

if TYPE_CHECKING:
    from fastapi import APIRouter

    from penstock_recipes.bookmarks.providers.browser import Browser
    from penstock_recipes.bookmarks.providers.captions import Captioner

__all__ = ["KIND", "QUEUE", "install", "make_app"]


def install(
    app: Penstock,
    *,
    guard: Guard | None = None,
    allow: Iterable[str] = (),
    browser: "Browser | None" = None,
    captioner: "Captioner | None" = None,
    at_once: int = 4,
    budget: float = 45.0,
    timeout: float | None = None,
    ocr_model: str | Path | None = None,
    page: bool = True,
) -> None:
    """Adds tables, jobs and routes to an application.

    Addresses that users give lead nowhere private, except into `allow`, or else the networks in BOOKMARKS_ALLOW: for
    tests and demonstrations. `at_once` messages are worked on at a time, by each process: each may start a browser.
    `timeout` seconds are for one of them; `budget` seconds, which are more, for reading the queue over HTTP, less than
    its callers wait. `ocr_model` reads other scripts than RapidOCR's own model, BOOKMARKS_OCR_MODEL unless given.
    With a `page` for people at /bookmarks.
    """
    require("bookmarks", "PIL", "blurhash_rs", "pypdfium2", "rapidocr")
    from penstock_recipes.bookmarks.enricher import Enricher
    from penstock_recipes.bookmarks.jobs import make_handler
    from penstock_recipes.bookmarks.providers.browser import Browser
    from penstock_recipes.bookmarks.providers.ocr import use_model

    timeout = budget * 8 / 9 if timeout is None else timeout
    if not 0 < timeout < (most := reading_time(budget)):
        raise InvalidInput(
            "timeout", f"must be less than {most:g} seconds with a budget of {budget:g}, not {timeout:g}"
        )
    use_model(ocr_model or os.environ.get("BOOKMARKS_OCR_MODEL"))
    guard = guard or Guard([*allow] or os.environ.get("BOOKMARKS_ALLOW", "").replace(",", " ").split())
    enricher = Enricher(app, guard, browser or Browser(guard), captioner or _captioner(), timeout)
    app.add_migrations("bookmarks", files(__package__) / "migrations")
    # a bookmark and its message are added together, in SQL
    app.need("transactions")
    handler = make_handler(app, enricher, at_once=at_once)
    app.job(kind=KIND, queue=QUEUE, max_attempts=MAX_ATTEMPTS)(handler)
    # messages that only waited for a browser would be kept from workers on other machines, and cut off by a tick
    app.set_slots(QUEUE, at_once)

    @app.cron("0 3 * * *", queue=UPKEEP)
    async def purge_bookmark_archive() -> int:
        """Deletes archived messages, and files of deleted bookmarks, every night."""
        return await purge(app)

    def routes() -> "APIRouter":
        from penstock_recipes.bookmarks.routes import make_router

        return make_router(guard, enricher, at_once=at_once, budget=budget)

    app.add_routes(routes)
    if page:
        add_page(
            app,
            __name__,
            title="Bookmarks",
            about="Addresses become cards: a screenshot, the words in pictures, a caption, an icon.",
        )
    app.example(
        "penstock token --sub ada --header | curl -H @- {api}/api/v1/bookmarks/add/data "
        """-H 'Content-Type: application/json' -d '{"url": "https://example.com/"}'"""
    )


def make_app(url: str | None = None, *, artifacts: str | Path | None = None, allow: Iterable[str] = ()) -> Penstock:
    """An application of its own that is nothing but bookmarks."""
    app = Penstock(url, artifacts=artifacts)
    install(app, allow=allow)
    return app


def _captioner() -> "Captioner":
    from penstock_recipes.bookmarks.providers.captions import ClaudeCaptioner, OfflineCaptioner

    model = os.environ.get("BOOKMARKS_CAPTION_MODEL")
    return ClaudeCaptioner(model) if model else OfflineCaptioner()


__getattr__: Callable[[str], Penstock] = made_on_demand(__name__, make_app)

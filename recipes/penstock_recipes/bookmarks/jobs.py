"""The job of a message: a screenshot, then the remaining data; archived when both are there."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from threading import BoundedSemaphore

import psycopg

from penstock import Context, Fail, LeaseLost, Penstock, PenstockError, Snooze
from penstock_recipes.bookmarks import messages
from penstock_recipes.bookmarks.enricher import Enricher
from penstock_recipes.bookmarks.failures import FOR_PEOPLE, PageFailed, tries_for
from penstock_recipes.bookmarks.messages import MAX_ATTEMPTS, InvalidMessage, Message
from penstock_recipes.bookmarks.store import Bookmark, find

log = logging.getLogger("penstock_recipes.bookmarks")

NOT_FOUND = "Bookmark not found"
BROKEN_OFF = "broken off before it was done"
_UNTIL_A_TURN = 5.0


class NotEnriched(PenstockError):
    """A part of a bookmark could not be had: the message is read again later, and only that part is repeated."""


def make_handler(
    app: Penstock, enricher: Enricher, *, at_once: int
) -> Callable[..., Awaitable[dict[str, bool] | Fail | Snooze]]:
    """The handler takes whatever a message says: plain SQL may have written it.

    A worker may have any number of slots, and calls of the consumer may overlap, but only `at_once` messages get a
    browser. The others do not wait for one here: that would be taken from their own time, and keep them from workers on
    other machines.
    """
    turns = BoundedSemaphore(at_once)

    async def add_bookmark_url(ctx: Context, /, **payload: object) -> dict[str, bool] | Fail | Snooze:
        """Takes a screenshot of a bookmarked page and stores what else there is to know about it."""
        if not turns.acquire(blocking=False):
            return Snooze(_UNTIL_A_TURN)
        try:
            return await read(ctx, payload)
        finally:
            turns.release()

    async def read(ctx: Context, payload: Mapping[str, object]) -> dict[str, bool] | Fail:
        number, no_screenshot = await messages.begin(app, ctx.id, messages.bookmark_in(payload))
        reading = Reading(app, ctx, number, messages.bookmark_in(payload))
        try:
            message = messages.read_message(payload)
        except InvalidMessage as error:
            await reading.report(str(error))
            raise
        bookmark = await find(app, message.bookmark_id, message.user_id, message.url)
        if bookmark is None:
            await reading.report(NOT_FOUND)
            return Fail(NOT_FOUND)
        try:
            failures = await _enrich(reading, enricher, bookmark, message, no_screenshot)
        except asyncio.CancelledError:
            reading.tell_broken_off()
            raise
        done = {"screenshot": "Screenshot" not in failures, "remaining": "Remaining" not in failures}
        if not failures:
            await messages.note(app, ctx.id, **done, error=None)
            return done
        text = "; ".join(f"{part}: {told_of(error)}" for part, error in failures.items())
        await reading.report(text, **done)
        unforeseen = [error for error in failures.values() if not isinstance(error, FOR_PEOPLE)]
        if not unforeseen and ctx.attempt >= max(tries_for(error, MAX_ATTEMPTS) for error in failures.values()):
            return Fail(text)
        raise NotEnriched(text) from next(iter(unforeseen or failures.values()))

    return add_bookmark_url


@dataclass(frozen=True, slots=True)
class Reading:
    """One attempt at a message."""

    app: Penstock
    ctx: Context
    number: int
    bookmark: int | None

    async def report(self, error: str, *, screenshot: bool | None = None, remaining: bool | None = None) -> None:
        """Keeps the error with the message, and tells whoever watches the log: Sentry does."""
        await messages.note(self.app, self.ctx.id, screenshot=screenshot, remaining=remaining, error=error)
        told = self._told(error) | {"screenshotSuccess": screenshot, "remainingDataSuccess": remaining}
        log.error("message %s of %s stays in the queue: %s", self.number, messages.QUEUE, error, extra=told)

    def tell_broken_off(self) -> None:
        """A budget was over, a worker stopped, or the bookmark was deleted. There is no time for more than a word."""
        log.warning("message %s of %s was %s", self.number, messages.QUEUE, BROKEN_OFF, extra=self._told(BROKEN_OFF))

    def _told(self, error: str) -> dict[str, object]:
        return {"error": error, "messageId": self.number, "bookmarkId": self.bookmark}


async def _enrich(
    reading: Reading, enricher: Enricher, bookmark: Bookmark, message: Message, no_screenshot: str | None
) -> dict[str, Exception]:
    """Does both parts, the second also when the first fails; which failed, and of what. A first part that failed in a
    reading which came no further is not waited for again, before the second had its turn."""
    ctx, failures = reading.ctx, dict[str, Exception]()

    async def take_screenshot() -> None:
        # a step also where it is not tried: each reading has the same steps in the same order
        if no_screenshot is not None:
            raise PageFailed(no_screenshot)
        await enricher.screenshot(bookmark, ctx.id)

    if not message.is_image:
        try:
            await ctx.step("screenshot", take_screenshot)
        except LeaseLost:
            raise
        except Exception as error:
            failures["Screenshot"] = error
            await messages.remember_screenshot_failed(reading.app, ctx.id, told_of(error))
    await ctx.progress(50, "Screenshot taken" if not failures else "No screenshot")
    try:
        await ctx.step("remaining", enricher.remaining, bookmark, message.fav_icon, ctx.id, ctx.step)
    except LeaseLost:
        raise
    except Exception as error:
        failures["Remaining"] = error
    return failures


def told_of(error: Exception) -> str:
    """An error as it is shown to whoever reads the queue. What was not foreseen is logged, and named by its type."""
    if isinstance(error, PenstockError):
        return str(error) or type(error).__name__
    if isinstance(error, psycopg.OperationalError):
        return "the database cannot be reached"
    log.error("unexpected", exc_info=error)
    return f"{type(error).__name__}: {error}"

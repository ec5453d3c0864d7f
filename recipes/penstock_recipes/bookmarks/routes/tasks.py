"""For the service: reading the queue, and each of its two tasks by itself."""

from collections.abc import Awaitable

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

from penstock.outbound import Refused
from penstock.server import Problem, Service, Services, Shared, problems
from penstock_recipes.answers import Success, refused, refusing, success
from penstock_recipes.bookmarks.consumer import MOST, consume
from penstock_recipes.bookmarks.enricher import Enricher
from penstock_recipes.bookmarks.failures import BookmarkGone, PageFailed
from penstock_recipes.bookmarks.messages import archive
from penstock_recipes.bookmarks.providers.browser import NoBrowser
from penstock_recipes.bookmarks.routes.bookmarks import not_found, shown
from penstock_recipes.bookmarks.shapes import (
    PREFIX,
    Archived,
    ArchiveTask,
    Consumed,
    RemainingTask,
    ScreenshotTask,
    StoredBookmark,
    Task,
)
from penstock_recipes.bookmarks.store import Bookmark, find

_NEVER_KEPT = {"Cache-Control": "no-store"}


def task_routes(enricher: Enricher, *, at_once: int, budget: float) -> APIRouter:
    router = refusing("bookmark tasks", PREFIX)

    async def consume_queue(_: Service, shared: Shared) -> Response:
        told = await consume(shared.app, at_once=at_once, budget=budget)
        return Response(msgspec.json.encode(told), 200, _NEVER_KEPT, "application/json")

    for method in ("GET", "POST"):
        router.add_api_route(
            "/add/tasks/queue-consumer",
            consume_queue,
            methods=[method],
            name=f"{method.lower()}_queue_consumer",
            summary="Read the queue",
            description=(
                f"For the service. Up to {MOST} messages: each is archived when its screenshot and its remaining data "
                f"are there, and stays in the queue otherwise. Takes {budget:g} seconds at most."
            ),
            response_model=Consumed,
            responses=problems(403),
        )

    @router.post(
        "/add/tasks/screenshot",
        summary="Take a screenshot",
        description="For the service: at once, whatever the queue is at.",
        response_model=Success[StoredBookmark],
        responses=problems(403, 404, 502, 503),
    )
    async def take_screenshot(body: ScreenshotTask, _: Service, shared: Shared) -> Response:
        bookmark = await _named(shared, body)
        return await _after(shared, body, enricher.screenshot(bookmark))

    @router.post(
        "/add/tasks/remaining",
        summary="Find out the rest",
        description="For the service: picture, text, caption and icon, at once.",
        response_model=Success[StoredBookmark],
        responses=problems(403, 404, 502),
    )
    async def find_remaining(body: RemainingTask, _: Service, shared: Shared) -> Response:
        bookmark = await _named(shared, body)
        return await _after(shared, body, enricher.remaining(bookmark, body.fav_icon))

    @router.post(
        "/add/tasks/archive",
        summary="Archive a message",
        description="For the service: takes a message out of the queue that was given up, or is not worth another try.",
        response_model=Success[Archived],
        responses=problems(403, 404),
    )
    async def archive_message(body: ArchiveTask, _: Service, shared: Shared) -> Response:
        if not await archive(shared.app, body.message_id):
            raise Problem(404, "Message not found")
        return success({"messageId": body.message_id, "archived": True})

    return router


async def _named(services: Services, task: Task) -> Bookmark:
    bookmark = await find(services.app, task.id, task.user_id, task.url)
    if bookmark is None:
        raise not_found()
    return bookmark


async def _after(services: Services, task: Task, work: Awaitable[None]) -> Response:
    """The bookmark as it is when the work is done; what went wrong with its site, as a status."""
    try:
        await work
    except BookmarkGone:
        raise not_found() from None
    except Refused as error:
        raise refused("url", str(error)) from None
    except PageFailed as error:
        raise Problem(502, str(error)) from None
    except NoBrowser as error:
        raise Problem(503, str(error)) from None
    return success(await shown(services, await _named(services, task)))

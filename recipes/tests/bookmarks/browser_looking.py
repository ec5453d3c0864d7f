"""A browser for the tests, pages for it to see, and an eye on what it leaves behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import psutil
import pytest

from penstock_recipes.bookmarks.providers.browser.executable import NoBrowser, find_chromium
from tests.kit.fake_http import Answer, FakeServer, Request, fake_server

PAGES = "127.0.0.2"
"""The only address that the guards of these tests allow. What is on 127.0.0.1 is none of a page's business."""

try:
    find_chromium()
    MISSING = None
except NoBrowser as error:
    MISSING = str(error)
needs_chromium = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

Served = str | Answer | Callable[[Request], Awaitable[Answer] | Answer]


@asynccontextmanager
async def pages(served: Mapping[str, Served]) -> AsyncIterator[FakeServer]:
    """A site: HTML, answers, or functions that answer, by path."""

    def answer(request: Request) -> Awaitable[Answer] | Answer:
        found = served.get(request.path.partition("?")[0], Answer(404))
        if isinstance(found, str):
            return Answer(body=found.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
        return found if isinstance(found, Answer) else found(request)

    async with fake_server(answer, host=PAGES) as server:
        yield server


@asynccontextmanager
async def nothing_left() -> AsyncIterator[set[psutil.Process]]:
    """Fails if a process that was started in the block, by whatever was started in it, outlives it."""
    me = psutil.Process()
    before, seen = set(me.children(recursive=True)), set()

    async def watch() -> None:
        while True:
            with suppress(psutil.NoSuchProcess):
                seen.update(set(me.children(recursive=True)) - before)
            await asyncio.sleep(0.03)

    watching = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        watching.cancel()
    assert seen, "nothing was started at all"
    assert [each for each in seen if runs(each)] == []


def runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False

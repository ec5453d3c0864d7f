"""What is found out about a bookmark: its screenshot, then the remaining data.

Each part may be done again at any time: files go to the same places, columns get the same values.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import urljoin
from uuid import UUID

import msgspec

from penstock import Artifact, Penstock, PenstockError
from penstock.outbound import Guard, Refused
from penstock_recipes.bookmarks.download import ICON, PICTURE, get, look, refuse_failed, refuse_gone
from penstock_recipes.bookmarks.failures import BookmarkGone, PageFailed, tries_for
from penstock_recipes.bookmarks.html import read_html
from penstock_recipes.bookmarks.icons import read_icon
from penstock_recipes.bookmarks.pdf import first_page
from penstock_recipes.bookmarks.pictures import Picture, read_picture
from penstock_recipes.bookmarks.providers.browser import Browser
from penstock_recipes.bookmarks.providers.captions import Captioner
from penstock_recipes.bookmarks.providers.ocr import read_text
from penstock_recipes.bookmarks.store import Bookmark, describe, find

T = TypeVar("T")


class Page(msgspec.Struct, frozen=True):
    """Where a page says that its picture and its icon are."""

    og_image: str | None
    favicon: str | None


class Kept(msgspec.Struct, frozen=True):
    """A picture that is stored."""

    file: UUID
    picture: Picture


class Step(Protocol):
    """As ctx.step: runs a function once, and remembers what it returned."""

    def __call__(self, name: str, function: Callable[..., Awaitable[T]], /, *args: Any) -> Awaitable[T]: ...


async def at_once(name: str, function: Callable[..., Awaitable[T]], /, *args: Any) -> T:
    """A step of no job: runs, and is not remembered."""
    del name
    return await function(*args)


class Enricher:
    """Does the two parts for one application, each within half of the `timeout`, and each request within a quarter: a
    site that never answers costs half of it in all."""

    def __init__(self, app: Penstock, guard: Guard, browser: Browser, captioner: Captioner, timeout: float) -> None:
        self._app = app
        self._guard = guard
        self._browser = browser
        self._captioner = captioner
        self._part = timeout / 2
        self._request = timeout / 4

    async def screenshot(self, bookmark: Bookmark, job: UUID | None = None) -> None:
        """A picture of the page, its title and description; of a PDF, its first page. An image needs none."""
        await self._in_time(self._screenshot(bookmark, job))

    async def _screenshot(self, bookmark: Bookmark, job: UUID | None) -> None:
        deadline = time.monotonic() + self._part
        seen = await look(self._guard, bookmark.url, "pdf", self._request)
        refuse_gone(seen.status)
        if seen.kind == "image":
            await self._describe(bookmark, page=Page(bookmark.url, None))
        elif seen.kind == "pdf" and seen.body:
            first = await first_page(seen.body)
            file = await self._keep(bookmark, job, "screenshot.png", first.image, "image/png")
            size = {"width": first.width, "height": first.height}
            await self._describe(
                bookmark,
                title=first.title,
                screenshot=file,
                page=Page(None, None),
                meta_data={"screenshot": size, "is_pdf": True, "pages": first.pages},
            )
        else:
            # a moment less than there is left, so that the browser itself says what was wrong
            shot = await self._browser.capture(bookmark.url, within=0.95 * (deadline - time.monotonic()))
            file = await self._keep(bookmark, job, "screenshot.png", shot.image, "image/png")
            await self._describe(
                bookmark,
                title=shot.title,
                description=shot.description,
                screenshot=file,
                page=Page(shot.og_image, shot.favicon),
                meta_data={"screenshot": {"width": shot.width, "height": shot.height}},
            )

    async def remaining(
        self, bookmark: Bookmark, fav_icon: str | None, job: UUID | None = None, step: Step = at_once
    ) -> None:
        """The page's picture with what can be told of it, and its icon. Each is a step of its own."""
        await self._in_time(self._remaining(bookmark, fav_icon, job, step))

    async def _in_time(self, part: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(self._part):
                await part
        except TimeoutError:
            raise PageFailed(f"Took longer than {self._part:g} seconds") from None

    async def _remaining(self, bookmark: Bookmark, fav_icon: str | None, job: UUID | None, step: Step) -> None:
        current = await find(self._app, bookmark.id, bookmark.user_id, bookmark.url)
        if current is not None and current.page is not None:
            page = msgspec.convert(current.page, Page)
        else:
            page = await step("page", self._page, bookmark)
        if page.og_image is not None:
            kept = await step("picture", self._picture, bookmark, page.og_image, job)
            if kept is not None:
                text = await step("text", self._text, bookmark, kept)
                await step("caption", self._caption, bookmark, kept, text)
        await step("icon", self._icon, bookmark, [fav_icon, page.favicon], job)

    async def _page(self, bookmark: Bookmark) -> Page:
        """Asks the page itself, if no browser has seen it."""
        seen = await look(self._guard, bookmark.url, "html", self._request)
        refuse_failed(seen.status)
        if seen.kind == "html":
            facts = read_html(seen.body, seen.url, seen.content_type)
            page = Page(facts.og_image, facts.favicon)
            await self._describe(bookmark, title=facts.title, description=facts.description, page=page)
        else:
            page = Page(bookmark.url if seen.kind == "image" else None, None)
            await self._describe(bookmark, page=page)
        return page

    async def _picture(self, bookmark: Bookmark, url: str, job: UUID | None) -> Kept | None:
        """Stores the picture, with its size and blurhash. One that is named but cannot be had is noted, and no reason
        to keep the message: unless it is what was bookmarked."""
        try:
            fetched = await get(self._guard, url, PICTURE, self._request)
            picture = await read_picture(fetched.body)
        except (PageFailed, Refused) as error:
            if url == bookmark.url or _may_come_yet(error):
                raise
            await self._describe(bookmark, meta_data={"og_image_error": str(error)})
            return None
        file = await self._keep(bookmark, job, "og-image", fetched.body, picture.content_type)
        size = {"width": picture.width, "height": picture.height, "blurhash": picture.blurhash}
        await self._describe(bookmark, og_image=file, meta_data={**size, "og_image_error": None})
        return Kept(file.id, picture)

    async def _text(self, bookmark: Bookmark, kept: Kept) -> str:
        text = await read_text(await self._app.artifacts.aread(kept.file))
        await self._describe(bookmark, meta_data={"ocr": text})
        return text

    async def _caption(self, bookmark: Bookmark, kept: Kept, text: str) -> None:
        data = await self._app.artifacts.aread(kept.file)
        caption = await self._captioner.caption(data, kept.picture, text)
        await self._describe(bookmark, meta_data={"img_caption": caption})

    async def _icon(self, bookmark: Bookmark, named: list[str | None], job: UUID | None) -> None:
        """The first icon that can be had, of those that were named and the one at the usual place. Having none is no
        failure; not having heard of one is."""
        candidates = dict.fromkeys([*(url for url in named if url), urljoin(bookmark.url, "/favicon.ico")])
        problems: list[PenstockError] = []
        for url in candidates:
            try:
                fetched = await get(self._guard, url, ICON, self._request)
                icon = await read_icon(fetched.body, fetched.headers.get("content-type"))
            except (Refused, PageFailed) as error:
                problems.append(error)
            else:
                file = await self._keep(bookmark, job, "favicon.png", icon.image, icon.content_type)
                await self._describe(bookmark, fav_icon=file, meta_data={"fav_icon_error": None})
                return
        if unheard := next(filter(_may_come_yet, problems), None):
            raise unheard
        # that the usual place is empty is no news
        told = str(problems[0]) if len(problems) > 1 else None
        await self._describe(bookmark, meta_data={"fav_icon_error": told})

    async def _keep(self, bookmark: Bookmark, job: UUID | None, name: str, data: bytes, content_type: str) -> Artifact:
        """Always in the same place, so that another attempt replaces what this one stored."""
        return await self._app.artifacts.aput(
            name, data, owner=bookmark.user_id, job=job, content_type=content_type, expires_in=math.inf,
            path=f"bookmarks/{bookmark.id}/{name}",
        )  # fmt: skip

    async def _describe(
        self,
        bookmark: Bookmark,
        *,
        title: str | None = None,
        description: str | None = None,
        screenshot: Artifact | None = None,
        og_image: Artifact | None = None,
        fav_icon: Artifact | None = None,
        page: Page | None = None,
        meta_data: Mapping[str, object] | None = None,
    ) -> None:
        """Adds to the bookmark. A file that came too late for one that has been deleted goes too."""
        there = await describe(
            self._app,
            bookmark,
            title=title,
            description=description,
            screenshot=_id_of(screenshot),
            og_image=_id_of(og_image),
            fav_icon=_id_of(fav_icon),
            page=None if page is None else msgspec.structs.asdict(page),
            meta_data=meta_data,
        )
        if not there:
            await self._app.artifacts.adelete(*(file.id for file in (screenshot, og_image, fav_icon) if file))
            raise BookmarkGone("Bookmark not found")


def _may_come_yet(error: PenstockError) -> bool:
    return tries_for(error, 2) > 1


def _id_of(file: Artifact | None) -> UUID | None:
    return None if file is None else file.id

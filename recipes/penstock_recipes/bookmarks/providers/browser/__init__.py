"""Pictures of pages that strangers name, by a real browser."""

import asyncio
import math
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from penstock.outbound import Guard, GuardingProxy, NoAddress, Refused
from penstock_recipes.bookmarks.failures import PageFailed, UnknownHost
from penstock_recipes.bookmarks.providers.browser.devtools import CallFailed, Gone
from penstock_recipes.bookmarks.providers.browser.executable import NoBrowser, find_chromium
from penstock_recipes.bookmarks.providers.browser.page import Page
from penstock_recipes.bookmarks.providers.browser.process import running_chromium

__all__ = ["Browser", "Capture", "NoBrowser"]


@dataclass(frozen=True, slots=True)
class Capture:
    """A page as it looked, and what it says about itself."""

    image: bytes = field(repr=False)
    """PNG."""
    width: int
    height: int
    title: str | None
    description: str | None
    og_image: str | None
    favicon: str | None
    url: str
    """Where the page was in the end."""


class Browser:
    """Opens pages in Chromium, all of whose requests go through a proxy that asks the guard.

    Each page has a browser process of its own: it starts in 60 ms, so there is nothing to gain by keeping one, and a
    hostile page takes nothing with it. The process has no rights, no secrets, and is killed in the end.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        executable: str | None = None,
        size: tuple[int, int] = (1280, 800),
        timeout: float = 30.0,
        max_bytes: int = 50 * 1024 * 1024,
    ) -> None:
        self._guard = guard
        self._executable = executable
        self._size = size
        self._timeout = timeout
        self._max_bytes = max_bytes

    async def capture(self, url: str, *, within: float = math.inf) -> Capture:
        """In so many seconds, if that is less than the browser's own. Raises Refused for where it may not go,
        PageFailed for what goes wrong, NoBrowser if there is none."""
        executable = self._executable or find_chromium()
        seconds = max(0.0, min(self._timeout, within))
        page: Page | None = None
        try:
            async with asyncio.timeout(seconds):
                await self._check(url)
                async with (
                    GuardingProxy(self._guard, max_bytes=self._max_bytes, timeout=seconds) as proxy,
                    running_chromium(executable, f"--proxy-server={proxy.url}") as tools,
                ):
                    page = Page(tools, proxy, self._size)
                    return await self._look(page, url, seconds)
        except TimeoutError:
            answered = page is not None and page.has_answered
            raise PageFailed("The page took too long" if answered else "Network timeout") from None
        except Gone:
            raise PageFailed("The page crashed the browser") from None
        except CallFailed as error:
            raise PageFailed(f"The page went away while it was looked at ({error})") from None

    async def _check(self, url: str) -> None:
        """Before a browser sees it, which reads more into a URL than we do."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise Refused(f"this is no URL: {error}") from None
        if parts.username is not None or parts.password is not None:
            raise Refused("a URL with a user name or password in it is not taken")
        try:
            await self._guard.addresses(parts.scheme, host if host.isascii() else host.encode("idna").decode(), port)
        except NoAddress as error:
            raise UnknownHost.of(error) from None
        except UnicodeError:
            raise Refused("the URL's host is not a name; write it as https://example.com/path") from None

    async def _look(self, page: Page, url: str, seconds: float) -> Capture:
        # what has not loaded by then is left out; the rest of the time is for the picture
        until = time.monotonic() + seconds * 0.6
        await page.open()
        await page.go(url)
        await page.settle(until)
        image = await page.picture()
        where, facts = await page.facts()
        width, height = self._size
        return Capture(image, width, height, facts.title, facts.description, facts.image, facts.icon, where)

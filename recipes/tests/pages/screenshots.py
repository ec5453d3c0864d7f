"""`make screenshots`, of the recipes' pages: what their demonstrations make, in both themes and on a phone."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import Browser, Page, async_playwright, expect
from rich.progress import Progress

from penstock import Penstock
from penstock_recipes import bookmarks, calls, exports, readings
from penstock_recipes.bookmarks.demo import demo as show_bookmarks
from penstock_recipes.bookmarks.demo import guard_for_demo
from penstock_recipes.calls.demo import demo as show_call
from penstock_recipes.readings.demo import demo as show_reading
from shared.asking import migrated
from tests.browser.dashboard.screenshots import FOLDER, THEMES
from tests.kit.browser import DESK, PHONE, chromium
from tests.kit.working import working

WITHIN = 120_000


async def fill(tab: Page) -> None:
    await tab.get_by_role("button", name="Make the PDF").click()
    await expect(tab.locator(".sheets img")).to_be_visible(timeout=WITHIN)


async def open_first(tab: Page) -> None:
    await tab.get_by_role("button", name="Open").first.click()
    await expect(tab.locator("#book")).to_be_visible(timeout=WITHIN)


async def wait_for_call(tab: Page) -> None:
    await expect(tab.locator(".said")).to_be_visible(timeout=WITHIN)


async def only_look(tab: Page) -> None:
    await expect(tab.locator("main")).to_be_visible()


PAGES: dict[str, Callable[[Page], Awaitable[None]]] = {
    "recipes": only_look,
    "exports": fill,
    "readings": open_first,
    "bookmarks": only_look,
    "calls": wait_for_call,
}


@asynccontextmanager
async def shown(place: Path) -> AsyncIterator[Callable[[str], str]]:
    """Links to pages of somebody who has used them."""
    async with Penstock(folder=place) as app:
        exports.install(app)
        readings.install(app)
        bookmarks.install(app, guard=guard_for_demo())
        calls.install(app, poll_interval=0.3)
        async with migrated(app, sign_in=True) as server, working(app, dict.fromkeys(app.queue_names, 4)):
            sign_in = server.server.sign_in
            assert sign_in is not None
            headers = {"Authorization": f"Bearer {sign_in.token(sign_in.code)}"}
            async with httpx.AsyncClient(base_url=server.address, headers=headers, timeout=60) as client:
                with Progress() as progress:
                    for demo in (show_bookmarks, show_call, show_reading):
                        await demo(client, place / "made", progress)
            yield lambda path: sign_in.link(server.address + path)


async def take(browser: Browser, link: Callable[[str], str], only: str = "") -> None:
    for theme in THEMES:
        for width, viewport in (("desk", DESK), ("phone", PHONE)):
            scale = 2 if width == "phone" else 1
            context = await browser.new_context(viewport=viewport, color_scheme=theme, device_scale_factor=scale)
            tab = await context.new_page()
            await tab.goto(link("/recipes").partition("#")[0])
            await tab.get_by_label("Token").wait_for()
            await tab.screenshot(path=FOLDER / f"recipes-sign-in-{theme}-{width}.png")
            for name, use in PAGES.items():
                if only in name:
                    tab = await context.new_page()
                    await tab.goto(link(f"/{name}"))
                    await use(tab)
                    await tab.evaluate("scrollTo(0, 0)")
                    await tab.wait_for_load_state("networkidle")
                    await tab.screenshot(path=FOLDER / f"recipe-{name}-{theme}-{width}.png", full_page=True)
                    await tab.close()
            await context.close()


async def main() -> None:
    os.environ.pop("DATABASE_URL", None)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-screenshots") as place:
        async with async_playwright() as playwright, shown(Path(place)) as link:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            await take(browser, link, *sys.argv[1:2])
            await browser.close()
    print(f"{len(list(FOLDER.iterdir()))} pictures in {FOLDER}")


if __name__ == "__main__":
    asyncio.run(main())

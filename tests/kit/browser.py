"""A real Chromium for the tests of pages: one for the whole run, and a fresh profile for each test.

Tests that use it share one event loop (`pytestmark = IN_A_BROWSER`), since the browser lives as long as the run.
"""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize

ROOT = Path(__file__).parents[2]
IN_A_BROWSER = pytest.mark.asyncio(loop_scope="session")
PHONE: "ViewportSize" = {"width": 390, "height": 844}
DESK: "ViewportSize" = {"width": 1280, "height": 900}


def chromium() -> str:
    """Where scripts/get-chromium looks for one, or puts one."""
    named = os.environ.get("PENSTOCK_CHROMIUM"), str(ROOT / ".chromium" / "chromium")
    for each in (*named, "chromium-headless-shell", "chromium", "google-chrome"):
        if each and (found := shutil.which(each)):
            return found
    raise AssertionError("there is no Chromium here: run scripts/get-chromium, or name one by PENSTOCK_CHROMIUM")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator["Browser"]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        # its sandbox needs rights that a container may not have; it sees nothing but our own pages
        browser = await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def profile(browser: "Browser") -> AsyncIterator["BrowserContext"]:
    context = await browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def tab(profile: "BrowserContext") -> AsyncIterator["Page"]:
    """A page that must not complain: neither throw, nor break its policy."""
    tab = await profile.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))

    def listen(message: "ConsoleMessage") -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    tab.on("console", listen)
    yield tab
    await tab.close()
    assert complaints == []


async def refuse_barriers(tab: "Page") -> None:
    """What axe finds that keeps somebody from using the page: everything in light, the colours again in dark."""
    from axe_playwright_python.async_playwright import Axe

    await tab.emulate_media(color_scheme="light")
    found = await Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()
    await tab.emulate_media(color_scheme="dark")
    found = await Axe().run(tab, options={"runOnly": ["color-contrast"], "resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()

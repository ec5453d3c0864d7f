"""A site for each test of the module and the element: one for all would stand still while tests on other loops run."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page

from tests.browser.site import Site, site, token


@pytest_asyncio.fixture(loop_scope="session")
async def tried(url: str, tmp_path: Path) -> AsyncIterator[Site]:
    async with site(url, tmp_path) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def opened(tried: Site, tab: Page) -> Page:
    """The page, with the module on it, as ada."""
    await tab.goto(f"{tried.address}/try")
    await tab.wait_for_function("() => globalThis.penstock")
    await tab.evaluate("token => penstock.configure({token})", token())
    return tab

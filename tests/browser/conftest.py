"""One site for all tests of the module and the element."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.browser.site import Site, site, token
from tests.databases import DatabasesAhead


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tried(databases: DatabasesAhead, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    made = databases.take()
    try:
        async with site(made[0], tmp_path_factory.mktemp("files")) as running:
            yield running
    finally:
        databases.give_back(made)


@pytest_asyncio.fixture(loop_scope="session")
async def opened(tried: Site, tab: Page) -> Page:
    """The page, with the module on it, as ada."""
    await tab.goto(f"{tried.address}/try")
    await tab.wait_for_function("() => globalThis.penstock")
    await tab.evaluate("token => penstock.configure({token})", token())
    return tab

"""One scene for all tests of the dashboard in a browser."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.browser.dashboard.scene import Scene, scene
from tests.databases import DatabasesAhead
from tests.kit.serving import KEY


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shown(databases: DatabasesAhead, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    made = databases.take()
    async with scene(made[0], tmp_path_factory.mktemp("files")) as shown:
        yield shown
    databases.give_back(made)


async def sign_in(tab: Page, shown: Scene, credential: str = KEY) -> Page:
    await tab.goto(f"{shown.address}/login")
    await tab.fill("#credential", credential)
    await tab.click("text=Sign in")
    await tab.wait_for_selector("h1 >> text=Overview")
    return tab


async def enter(tab: Page, shown: Scene, credential: str = KEY) -> None:
    """Signs in without the form, which has tests of its own: the session is a cookie."""
    answer = await tab.request.post(
        f"{shown.address}/login", form={"credential": credential}, headers={"Origin": shown.address}, max_redirects=0
    )
    assert answer.status == 303, await answer.text()


@pytest_asyncio.fixture(loop_scope="session")
async def operator(shown: Scene, tab: Page) -> Page:
    await enter(tab, shown)
    await tab.goto(shown.address)
    return tab

"""One site for all of the pages."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pages.site import Site, site
from tests.databases import DatabasesAhead


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def recipes(databases: DatabasesAhead, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    made = databases.take()
    try:
        async with site(made[0], tmp_path_factory.mktemp("files")) as running:
            yield running
    finally:
        databases.give_back(made)

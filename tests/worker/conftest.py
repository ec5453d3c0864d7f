"""An application on a fresh database, whose handlers are those that the test gives it."""

from collections.abc import AsyncIterator

import pytest

from penstock import Penstock


@pytest.fixture
async def app(url: str) -> AsyncIterator[Penstock]:
    async with Penstock(url) as app:
        yield app

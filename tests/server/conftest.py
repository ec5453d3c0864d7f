"""The API over a fresh database, asked as anybody: by a user, the service, or nobody."""

from collections.abc import AsyncIterator

import pytest

from penstock import Penstock
from penstock.server import ServerSettings
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api, asking


@pytest.fixture
async def app(url: str) -> AsyncIterator[Penstock]:
    """Without handlers: a test gives it those it needs, before the first request."""
    async with Penstock(url) as app:
        yield app


@pytest.fixture
def settings() -> ServerSettings:
    return ServerSettings(service_key=KEY, jwt_secret=SECRET, database_timeout=30.0)


@pytest.fixture
async def api(app: Penstock, settings: ServerSettings) -> AsyncIterator[Api]:
    async with asking(app, settings) as api:
        yield api

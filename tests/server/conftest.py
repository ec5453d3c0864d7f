"""The API over a fresh database, asked as anybody: by a user, the service, or nobody."""

from collections.abc import AsyncIterator

import pytest

from penstock import Penstock
from penstock.engine.postgres.engine import PostgresEngine
from penstock.server import ServerSettings
from penstock.server.live.hub import Hub
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api, asking
from tests.server.watching import started


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


@pytest.fixture
async def hub(engine: PostgresEngine) -> AsyncIterator[Hub]:
    async with started(engine) as hub:
        yield hub


@pytest.fixture
def hand(connect: Connect) -> Hand:
    """Beside the server: whoever enqueues, and works."""
    return Hand(connect())

"""The dashboard over a fresh database, looked at by whoever a test makes of its browser."""

from collections.abc import AsyncIterator

import httpx
import pytest

from penstock import Penstock
from penstock.server import Server, ServerSettings
from tests.server.dashboard.browsing import Browser, token_of


@pytest.fixture
async def web(app: Penstock, settings: ServerSettings) -> AsyncIterator[Server]:
    server = Server(app, settings)
    yield server
    await server.aclose()


@pytest.fixture
async def stranger(web: Server) -> AsyncIterator[Browser]:
    transport = httpx.ASGITransport(web.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield Browser(client)


@pytest.fixture
async def operator(stranger: Browser) -> Browser:
    return await stranger.sign_in()


@pytest.fixture
async def viewer(stranger: Browser) -> Browser:
    return await stranger.sign_in(token_of("vera", "viewer"))

"""An application whose workers have no database: a server stands between, over real HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from penstock import Penstock
from tests.remote.serving import Api


@pytest.fixture
async def api(url: str, tmp_path: Path) -> AsyncIterator[Api]:
    api = Api(url, tmp_path / "artifacts")
    await api.start()
    yield api
    await api.stop()


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Penstock]:
    """As it is where there is no database."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    async with Penstock(folder=tmp_path) as app:
        yield app


@pytest.fixture
async def client(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A worker in another language, by hand."""
    async with api.client() as client:
        yield client

"""The recipe on a fresh database, served on loopback, and a website beside it that it may visit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bookmarks import sites
from bookmarks.asking import Bookmarks, serving
from bookmarks.sites import Site
from penstock import Penstock
from penstock_recipes.bookmarks import install


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with sites.serving() as site:
        yield site


@pytest.fixture
async def bookmarks(url: str, files: Path) -> AsyncIterator[Bookmarks]:
    """As it comes, but that it may visit this machine."""
    async with Penstock(url, artifacts=files) as app:
        install(app, allow=["127.0.0.1"])
        async with serving(app) as bookmarks:
            yield bookmarks

"""The recipe on a fresh database, served on loopback, and a website beside it that it may visit."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import Penstock
from penstock.recipes.bookmarks import install
from tests.recipes.bookmarks import sites
from tests.recipes.bookmarks.asking import Bookmarks, serving
from tests.recipes.bookmarks.sites import Site


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

"""The recipe on a fresh database: a real server on a loopback port, a folder for files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import Penstock
from penstock.recipes.exports import install
from tests.recipes.exports.asking import Exports, serving


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
async def exports(url: str, files: Path) -> AsyncIterator[Exports]:
    """With the limits that the recipe has by itself."""
    async with Penstock(url, artifacts=files) as app:
        install(app)
        async with serving(app) as exports:
            yield exports

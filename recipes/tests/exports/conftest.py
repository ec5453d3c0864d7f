"""The recipe on a fresh database: a real server on a loopback port, a folder for files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from exports.asking import Exports, serving
from penstock import Penstock
from penstock_recipes.exports import install


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

"""Stores to try: a folder and a real S3 server."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from penstock import Penstock
from penstock.storage import Store, store_at
from tests.storage.seaweed import KEY, SECRET, Seaweed, seaweed_in


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.delenv("AWS_SESSION_TOKEN", raising=False)
        with seaweed_in(tmp_path_factory.mktemp("seaweed")) as server:
            yield server


@pytest.fixture(params=["folder", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is, with nothing in it."""
    if request.param == "folder":
        return str(tmp_path / "store")
    seaweed: Seaweed = request.getfixturevalue("seaweed")
    return seaweed.address(uuid4().hex)


@pytest.fixture
def store(address: str) -> Store:
    return store_at(address)


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    """Keeps its files in a folder."""
    assert "PENSTOCK_ARTIFACTS" not in os.environ
    async with Penstock(url, artifacts=tmp_path / "files") as app:
        yield app

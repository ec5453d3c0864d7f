"""The recipe on a fresh database: a real server on a loopback port, a folder for files, providers that are quick."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from calls.asking import Calls, serving
from calls.providers import Clerk, Reader
from penstock import Backoff, Penstock
from penstock_recipes.calls import install
from tests.kit.redis import fresh_redis

over_both = pytest.mark.parametrize("jobs_url", ["postgres", "bullmq"], indirect=True)
"""A test of what holds wherever the jobs are. The others take those in the database."""

Make = Callable[..., AbstractAsyncContextManager[Calls]]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def jobs_url(request: pytest.FixtureRequest) -> str | None:
    """Where the jobs are, if it is not the database."""
    return fresh_redis() if getattr(request, "param", "postgres") == "bullmq" else None


@pytest.fixture
def make(url: str, jobs_url: str | None, files: Path) -> Make:
    """Serves the recipe with other options; tried again at once unless told otherwise."""

    @asynccontextmanager
    async def make_one(settings: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Calls]:
        chosen: dict[str, Any] = {"transcriber": Clerk(), "analyst": Reader(), "poll_interval": 0.01}
        async with Penstock(url, jobs=jobs_url, artifacts=files) as app:
            install(app, **chosen | {"backoff": Backoff.constant(0.01)} | options)
            async with serving(app, **settings or {}) as calls:
                yield calls

    return make_one


@pytest.fixture
async def calls(make: Make) -> AsyncIterator[Calls]:
    async with make() as calls:
        yield calls

"""Every engine, one after the other: what is tested here holds for each. A further one is one more line in ENGINES."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import NewJob, Penstock
from penstock.engine.http import HttpEngine
from penstock.engine.protocol import Engine
from penstock.errors import EngineCannot
from penstock.job import Enqueued, Job
from tests.kit.pooler import POOLED
from tests.kit.redis import fresh_redis
from tests.kit.serving import KEY
from tests.remote.serving import Api


@dataclass
class Bench:
    """The engine under test, and an application beside it that has the database."""

    engine: Engine
    app: Penstock

    async def add(self, kind: str = "work", **about: Any) -> Enqueued:
        [enqueued] = await self.app.engine.aenqueue([NewJob(kind=kind, **about)])
        return enqueued

    async def job(self, enqueued: Enqueued) -> Job:
        return await self.app.handle(enqueued.id).arefresh()


@asynccontextmanager
async def _postgres(url: str, folder: Path) -> AsyncIterator[Bench]:
    async with Penstock(url, artifacts=folder) as app:
        yield Bench(app.engine, app)


@asynccontextmanager
async def _http(url: str, folder: Path) -> AsyncIterator[Bench]:
    api = Api(url, folder)
    await api.start()
    engine = HttpEngine(api.address, KEY)
    yield Bench(engine, api.app)
    await engine.aclose()
    await api.stop()


@asynccontextmanager
async def _bullmq(_: str, folder: Path) -> AsyncIterator[Bench]:
    async with Penstock(fresh_redis(), artifacts=folder) as app:
        yield Bench(app.engine, app)


@asynccontextmanager
async def _bullmq_beside(url: str, folder: Path) -> AsyncIterator[Bench]:
    async with Penstock(url, jobs=fresh_redis(), artifacts=folder) as app:
        yield Bench(app.engine, app)


ENGINES: dict[str, Callable[[str, Path], AbstractAsyncContextManager[Bench]]] = {
    "postgres": _postgres,
    "http": _http,
    "bullmq": _bullmq,
    "bullmq beside postgres": _bullmq_beside,
}


@pytest.fixture(params=ENGINES)
async def bench(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with ENGINES[request.param](url, tmp_path / "artifacts") as bench:
        yield bench


hears = pytest.mark.skipif(POOLED, reason="no notification comes through a PgBouncer in transaction mode")

Run = Callable[[Any], Awaitable[Any]]
Test = Callable[..., Awaitable[None]]


def takes(capability: str) -> Callable[[Test], Test]:
    """A test of what not every engine can do: one that cannot must refuse it, by the name of what it lacks."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        async def either(bench: Bench, *args: Any, **kwargs: Any) -> None:
            if getattr(bench.engine.capabilities, capability):
                await test(bench, *args, **kwargs)
                return
            with pytest.raises(EngineCannot) as refused:
                await test(bench, *args, **kwargs)
            assert refused.value.capability == capability

        return either

    return decorate


@pytest.fixture(params=["async", "sync"])
def run(request: pytest.FixtureRequest, bench: Bench) -> Run:
    """Both ways to run a command."""
    if request.param == "async":
        return bench.engine.arun

    return lambda command: asyncio.to_thread(bench.engine.run, command)

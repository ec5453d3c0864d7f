"""The database is away: a request is answered in time, with when to come again, and the log says it once."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from penstock import Penstock
from penstock.server import ServerSettings
from tests.app.cut_wire import Wire
from tests.kit.serving import KEY, SECRET
from tests.kit.until import until
from tests.kit.working import working
from tests.server.api import Api, asking

faults = pytest.mark.parametrize("fault", [Wire.go_down, Wire.swallow])


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    with TemporaryDirectory(prefix="penstock") as folder:
        wire = Wire(url, Path(folder))
        yield wire
        wire.close()


@pytest.fixture
async def app(wire: Wire) -> AsyncIterator[Penstock]:
    async with Penstock(wire.url) as app:

        @app.job(users=True)
        async def work() -> None: ...

        yield app


@pytest.fixture
async def api(app: Penstock) -> AsyncIterator[Api]:
    async with asking(app, ServerSettings(service_key=KEY, jwt_secret=SECRET)) as api:
        yield api


async def _all_away(api: Api) -> None:
    user = api.user()

    async def timed(method: str, path: str, json: object = None) -> tuple[float, int, str | None, str]:
        began = time.monotonic()
        answer = await user(method, path, **({} if json is None else {"json": json}))
        return (
            time.monotonic() - began,
            answer.status_code,
            answer.headers.get("retry-after"),
            answer.headers["content-type"],
        )

    ready, healthy, *answers = await asyncio.gather(
        timed("GET", "/readyz"),
        timed("GET", "/healthz"),
        timed("GET", "/api/jobs"),
        timed("POST", "/api/jobs", {"kind": "work"}),
        timed("POST", "/api/jobs/batch", {"jobs": [{"kind": "work"}]}),
        timed("GET", "/api/jobs/0198c5a0-0000-7000-8000-000000000000/stream"),
        *(timed("GET", "/api/usage") for _ in range(20)),
    )
    assert healthy[0] < 0.3
    assert healthy[1] == 200
    assert ready[0] < 1.1
    assert ready[1] == 503
    for seconds, status, retry_after, content_type in answers:
        assert (status, retry_after, content_type) == (503, "2", "application/problem+json")
        assert seconds < 2.3


@faults
async def test_requests_are_answered_in_time(
    api: Api, wire: Wire, fault: Callable[[Wire], None], caplog: pytest.LogCaptureFixture
) -> None:
    await api.user().start("work")
    # each has a connection that was good before, and waits or fails on that
    await asyncio.gather(*(api.user().get("/api/usage") for _ in range(6)))
    fault(wire)
    await _all_away(api)
    assert (await api.user().get("/readyz")).status_code == 503
    wire.come_back() if fault is Wire.go_down else wire.come_to_itself()
    await api.user().start("work")
    assert _told(caplog) == ["the database cannot be reached", "the database is back"]


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [re.split(": | after", each.message)[0] for each in caplog.records if each.levelname in ("WARNING", "ERROR")]


async def test_a_server_that_began_without_it_says_so_in_time_too(api: Api, wire: Wire) -> None:
    wire.swallow()
    await _all_away(api)
    wire.come_to_itself()
    await api.user().start("work")


async def test_a_worker_says_once_that_it_is_lost_and_once_that_it_is_back(
    app: Penstock, wire: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.postgres.pools.RESTART", 0.1)
    async with working(app) as worker:
        wire.go_down()
        caplog.set_level("DEBUG", "penstock.worker")
        await until(lambda: sum("trying again in 0.2" in each.message for each in caplog.records) > 1)
        wire.come_back()
        handle = await app.handler("work").aenqueue()
        assert await handle.aresult(timeout=20) is None
        assert worker.lease
    assert _told(caplog) == ["the database cannot be reached", "the database is back"]

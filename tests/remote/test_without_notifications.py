"""A server behind PgBouncer in transaction mode: nothing is notified, and its workers hear of everything."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import JobState, Penstock
from penstock.server.work import waiting
from tests.kit.pooler import PROGRAM, pgbouncer
from tests.kit.until import soon, until
from tests.remote.enqueueing import enqueue
from tests.remote.serving import Api, working

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="needs PgBouncer in front of the database: apt-get install pgbouncer"
)


@pytest.fixture
async def api(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    monkeypatch.setattr(waiting, "_ECHO", 0.2)
    with pgbouncer(url) as address:
        api = Api(address, tmp_path / "artifacts")
        await api.start()
        yield api
        await api.stop()


async def test_jobs_start_and_stop_without_notifications(app: Penstock, api: Api) -> None:
    came, stopped = asyncio.Event(), asyncio.Event()

    @app.job
    async def work(number: int) -> int:
        return number

    @app.job
    async def wait() -> None:
        came.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with working(app, api):
        for number in range(3):
            assert await (await enqueue(api, "work", number=number)).aresult(20) == number
        job = await enqueue(api, "wait")
        await soon(came.wait())
        await job.acancel()
        await soon(stopped.wait())

        async def ended() -> bool:
            return (await job.arefresh()).state is JobState.CANCELLED

        await until(ended)
        assert not api.workers.listening


async def test_a_waiting_claim_finds_the_job_that_comes(api: Api) -> None:
    async with api.client() as client:
        lease = (await client.post("/api/work/open-lease", json={"worker": "by hand"})).json()["result"]
        body = {"lease": lease, "queue": "default", "wait": 30}
        waiting = asyncio.create_task(client.post("/api/work/claim", json=body))

        await until(lambda: api.workers.waiting == 1)
        job = await enqueue(api, "work")
        assert [each["id"] for each in (await soon(waiting)).json()["result"]] == [str(job.id)]

"""A queue's limits hold for Node's workers and ours together."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import NewJob, Penstock
from penstock.engine import commands as c
from penstock.job import ClaimedJob, Lease
from tests.bullmq.peer import node
from tests.kit import saying
from tests.kit.redis import fresh_redis
from tests.kit.until import until


@pytest.fixture
def url() -> str:
    return fresh_redis()


@pytest.fixture
async def app(url: str) -> AsyncIterator[Penstock]:
    async with Penstock(url) as app:
        yield app


async def claim(app: Penstock, lease: Lease, most: int = 9) -> list[ClaimedJob]:
    return await app.engine.arun(c.Claim(lease, "default", most))


async def test_of_a_queue_that_may_run_two_each_has_one(app: Penstock, url: str, tmp_path: Path) -> None:
    await app.queues.aset("default", max_running=2)
    await app.engine.aenqueue([NewJob(kind="hangs") for _ in range(4)])
    lease = await app.engine.arun(c.OpenLease("ours", queues=["default"]))
    [ours] = await claim(app, lease, 1)
    async with node(url, tmp_path) as peer:
        assert await peer.ask("work") == "working"
        theirs = (await peer.hear())["started"]
        assert await claim(app, lease) == []
        [queue] = await app.queues.alist()
        assert (queue.running, queue.ready) == (2, 2)
        # what ends here makes room there
        await app.engine.arun(saying.complete(lease, [ours]))
        assert (await peer.hear())["started"] not in (str(ours.id), theirs)
        assert await claim(app, lease) == []


async def test_of_a_queue_that_may_start_two_an_hour_each_has_one(app: Penstock, url: str, tmp_path: Path) -> None:
    await app.queues.aset("default", rate=2, rate_period=3600)
    await app.engine.aenqueue([NewJob(kind="note", args=b'{"name": "a"}') for _ in range(4)])
    lease = await app.engine.arun(c.OpenLease("ours", queues=["default"]))
    assert len(await claim(app, lease, 1)) == 1
    async with node(url, tmp_path) as peer:
        assert await peer.ask("work") == "working"
        await until(lambda: peer.ask("ran"))
        assert await claim(app, lease) == []
        [queue] = await app.queues.alist()
        assert (queue.running, queue.ready) == (1, 2)
        assert await peer.ask("ran") == ["a"]

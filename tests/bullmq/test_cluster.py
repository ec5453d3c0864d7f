"""On a cluster: queues are spread over the nodes, and one that is killed and comes back loses nothing acknowledged."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Context, Flow, NewJob, Penstock
from penstock.cli import doctor_redis
from penstock.engine import mover
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.errors import InvalidFlow
from tests.bullmq.peer import node
from tests.kit.redis_cluster import Cluster
from tests.kit.working import working


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.mark.parametrize(
    "killed", [[1], pytest.param([1, 0, 2, 1], marks=pytest.mark.slow)], ids=["once", "again and again"]
)
async def test_nodes_that_are_killed_and_come_back_lose_nothing(cluster: Cluster, killed: list[int]) -> None:
    queues = [f"q{n}" for n in range(6)]
    async with Penstock(cluster.url) as app:
        done: list[int] = []
        back = asyncio.Event()

        @app.job(max_attempts=99)
        async def work(n: int) -> int:
            if n % 2:
                await back.wait()
            done.append(n)
            return n

        jobs = []
        for number, queue in enumerate(queues):
            jobs += list(await work.using(queue=queue).aenqueue_many([{"n": number * 100 + n} for n in range(20)]))
        flow = Flow(then=work.using(queue="q0").prepare(-1))
        flow.add(work.using(queue="q0").prepare(-2))
        jobs.append(await app.aenqueue(flow))
        async with working(app, dict.fromkeys(queues, 4), lease=1.0):
            await jobs[0].aresult(timeout=20)
            for node in killed:
                cluster.kill(node)
                await asyncio.to_thread(cluster.bring_back, node)
            back.set()
            for job in jobs:
                await job.aresult(timeout=60)
    assert set(done) == {number * 100 + n for number in range(6) for n in range(20)} | {-1, -2}


async def test_queues_are_spread_and_a_flow_stays_in_one(cluster: Cluster) -> None:
    async with Penstock(cluster.url) as app:
        engine = app.engine
        assert isinstance(engine, BullmqEngine)
        assert engine.session().keys("mail").base == "bull:{mail}:"
        flow = Flow(then=NewJob(kind="last", queue="a"))
        flow.add(NewJob(kind="first", queue="b"))
        with pytest.raises(InvalidFlow, match="share a queue"):
            await engine.aenqueue(flow.jobs())


async def test_what_follows_from_a_job_is_added_in_another_queue(cluster: Cluster) -> None:
    async with Penstock(cluster.url) as app:

        @app.job(queue="first")
        async def first(ctx: Context) -> None:
            ctx.enqueue(NewJob(kind="then", queue="then"))

        job = await first.aenqueue()
        async with working(app, {"first": 1}):
            await job.aresult(timeout=20)
        assert [each.kind for each in (await app.jobs.alist(queue="then")).jobs] == ["then"]


async def test_node_s_bullmq_works_on_the_queue_in_braces_and_adds_to_it(cluster: Cluster, tmp_path: Path) -> None:
    async with Penstock(cluster.url) as app, node(cluster.url, tmp_path, "{mail}") as peer:

        @app.job(queue="mail")
        async def double(n: int) -> int:
            return 2 * n

        async with working(app, {"mail": 1}):
            told = await peer.ask("add", jobs=[{"name": "double", "data": {"n": 4}}])
            assert told["double"]["output"] == 8
        job = await double.aenqueue(21)
        assert await peer.ask("work") == "working"
        assert await job.aresult(timeout=20) == 42


def test_the_doctor_asks_a_cluster(cluster: Cluster) -> None:
    with Penstock(cluster.url) as app:
        found = {finding.about: finding.level for finding in doctor_redis.look(app)}
    assert (found["redis"], found["cluster"], found["persistence"]) == ("ok", "ok", "ok")


def test_a_queue_moves_to_a_cluster_and_back(cluster: Cluster, url: str) -> None:
    jobs = [NewJob(kind="work", queue="moving", delay=delay) for delay in (None, 3600.0) for _ in range(10)]
    with Penstock(url) as here, Penstock(cluster.url) as there:
        here.engine.enqueue(jobs)
        assert mover.move(here.engine, there.engine, "moving") == mover.Moved(20)
        assert {job.id for job in there.jobs.list(queue="moving").jobs} == {job.id for job in jobs}
        there.job(kind="work", queue="moving")(lambda: None)
        assert {each.id for each in there.tick()} == {job.id for job in jobs[:10]}
        assert mover.move(there.engine, here.engine, "moving") == mover.Moved(10)
        assert {job.id for job in here.jobs.list(queue="moving").jobs} == {job.id for job in jobs[10:]}

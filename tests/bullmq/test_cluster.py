"""On a cluster: queues are spread over the nodes, and one that is killed and comes back loses nothing acknowledged."""

from collections.abc import Iterator

import pytest

from penstock import Flow, NewJob, Penstock
from penstock.cli import doctor_redis
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.errors import InvalidFlow
from tests.kit.redis_cluster import Cluster
from tests.kit.working import working


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.mark.parametrize("killed", [pytest.param([1, 0, 2, 1], marks=pytest.mark.slow), []], ids=["killed", "whole"])
async def test_nodes_that_are_killed_and_come_back_lose_nothing(cluster: Cluster, killed: list[int]) -> None:
    queues = [f"q{n}" for n in range(6)]
    async with Penstock(cluster.url) as app:
        done: list[int] = []

        @app.job
        async def work(n: int) -> int:
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
                cluster.bring_back(node)
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


def test_the_doctor_asks_a_cluster(cluster: Cluster) -> None:
    with Penstock(cluster.url) as app:
        found = {finding.about: finding.level for finding in doctor_redis.look(app)}
    assert (found["redis"], found["cluster"], found["persistence"]) == ("ok", "ok", "ok")

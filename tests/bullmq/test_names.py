"""A queue may be called as it likes: its keys lead back to its name."""

from collections.abc import AsyncIterator

import pytest

from penstock import Flow, NewJob, Penstock
from penstock.engine import commands as c
from penstock.engine.bullmq.names import Names
from tests.kit import saying
from tests.kit.redis import fresh_redis

QUEUES = ["mail", "mail:eu", "{mail}", "a{b}", "{a}{b}"]


@pytest.fixture
async def app() -> AsyncIterator[Penstock]:
    async with Penstock(fresh_redis()) as app:
        yield app


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("names", [Names("bull", False), Names("{bull}", False), Names("{bull}", True)])
def test_a_key_leads_back_to_its_queue(names: Names, queue: str) -> None:
    assert names.place_of(names.queue(queue)["7"]) == (queue, "7")


@pytest.mark.parametrize("queue", ["mail", "mail:eu", "a{b}", "{a}{b}"])
def test_in_a_cluster_too(queue: str) -> None:
    names = Names("bull", True)
    assert names.place_of(names.queue(queue)["7"]) == (queue, "7")
    assert names.queue("{mail}").base == names.queue("mail").base, "which is Node's name for the other"


@pytest.mark.parametrize("queue", QUEUES)
async def test_a_flow_is_seen_and_cancelled_in_any_queue(app: Penstock, queue: str) -> None:
    flow = Flow(then=NewJob(kind="last", queue=queue))
    for kind in ("good", "other"):
        flow.add(NewJob(kind=kind, queue=queue))
    last, *_ = await app.engine.aenqueue(flow.jobs())
    handle = app.handle(last.id)
    lease = await app.engine.arun(c.OpenLease("hands", queues=[queue]))
    [job] = await app.engine.arun(c.Claim(lease, queue, 1))
    await app.engine.arun(saying.complete(lease, [job]))
    await app.engine.arun(c.CloseLease(lease))
    assert (await handle.arefresh()).percent == 50
    await handle.acancel()
    jobs = (await app.jobs.alist(parent=handle.id)).jobs
    assert {each.queue for each in jobs} == {queue}
    assert sorted(each.state for each in jobs) == ["cancelled", "succeeded"]

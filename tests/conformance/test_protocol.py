"""What an engine says of itself, and what else it is asked for than commands."""

import asyncio
import pickle
from dataclasses import replace
from uuid import UUID

import pytest

from penstock.engine import commands as c
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.http import HttpEngine
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.protocol import Ears, Engine
from penstock.errors import DuplicateKey, EngineCannot, UniqueKeyTaken
from penstock.job import ClaimedJob, Lease, NewJob, new_job_id
from tests.conformance.conftest import Bench, hears
from tests.kit.until import soon


def test_it_is_an_engine(bench: Bench) -> None:
    engine: Engine = bench.engine
    assert engine.capabilities.database or not engine.capabilities.transactions


async def test_an_engine_knows_its_own_errors_when_nobody_is_there() -> None:
    engines: list[Engine] = [
        PostgresEngine(lambda: "postgresql://127.0.0.1:1/x"),
        HttpEngine("http://127.0.0.1:1", "k"),
        BullmqEngine("redis://127.0.0.1:1"),
    ]
    for engine in engines:
        with pytest.raises(engine.faults.passing) as raised:
            await engine.arun(c.OpenLease("nobody"))
        assert engine.faults.is_lost(raised.value)
        await engine.aclose()


async def test_another_process_reaches_the_same_engine(bench: Bench) -> None:
    place = pickle.loads(pickle.dumps(bench.engine.place))
    assert hash(place) == hash(bench.engine.place)
    engine = place.engine()
    try:
        lease = await engine.arun(c.OpenLease("elsewhere"))
        assert (await bench.engine.arun(c.ExtendLease(lease))).alive
    finally:
        await engine.aclose()


async def test_a_transaction_is_given_or_refused(bench: Bench) -> None:
    engine = bench.engine
    if not engine.capabilities.transactions:
        # one that is given is of a database beside the jobs, and completes none of them
        ending = c.CompleteAndEnqueue(Lease(1), c.Completed(new_job_id(), 1), [])
        refused = r"needs a database connection|not in that database"
        with pytest.raises(EngineCannot, match=refused), engine.transaction() as transaction:
            transaction.complete(ending)
        with pytest.raises(EngineCannot, match=refused):
            async with engine.atransaction() as awaited:
                await awaited.complete(ending)
        return
    async with engine.atransaction() as transaction:
        await transaction.run(c.SetQueue("held", {"paused": True}))
    assert await engine.arun(c.QueueStats()) == [], "not committed"
    async with engine.atransaction() as transaction:
        await transaction.run(c.SetQueue("held", {"paused": True}))
        await transaction.commit()
    assert [queue.name for queue in await engine.arun(c.QueueStats())] == ["held"]


async def test_tenants_and_kinds_do_not_meet_in_a_unique_key(bench: Bench) -> None:
    tenants = [(None, None), ("ada", None), (None, "ada"), ("ada", "acme")]
    jobs = [
        NewJob(kind=kind, unique_key="k", owner=owner, org=org) for kind in ("mail", "sync") for owner, org in tenants
    ]
    enqueued = await bench.app.engine.aenqueue(jobs)
    assert [(each.id, each.created) for each in enqueued] == [(job.id, True) for job in jobs]
    for job in jobs:
        [again] = await bench.app.engine.aenqueue([replace(job, id=new_job_id())])
        assert (again.id, again.created) == (job.id, False)
    with pytest.raises(DuplicateKey):
        await bench.app.engine.aenqueue([replace(jobs[0], id=new_job_id(), unique_key="l") for _ in range(2)])


async def test_no_job_comes_back_while_another_has_its_unique_key(bench: Bench) -> None:
    app = bench.app
    first, plain = await bench.add(unique_key="k"), await bench.add()
    await app.jobs.acancel(first.id, plain.id)
    second = await bench.add(unique_key="k")
    assert second.created
    with pytest.raises(UniqueKeyTaken, match="another work holds it"):
        await app.jobs.aretry(first.id)
    assert await app.jobs.aretry_where(state="cancelled") == [plain.id], "the others do"
    await app.jobs.acancel(second.id)
    with pytest.raises(UniqueKeyTaken):
        await app.jobs.aretry(first.id, second.id)
    assert await app.jobs.aretry(first.id) == [first.id]
    again = await bench.add(unique_key="k")
    assert (again.id, again.created) == (first.id, False), "it has its key again"
    await app.jobs.acancel(first.id)
    assert (await bench.add(unique_key="k")).created, "and has left it with its end"


@hears
async def test_a_listener_tells_of_work_and_of_what_to_stop(bench: Bench) -> None:
    engine = bench.engine.of_worker(5.0)
    woken, stopped = asyncio.Event(), asyncio.Queue[UUID]()

    def hear(extended: c.Extended) -> None:
        for id in extended.cancelling:
            stopped.put_nowait(id)

    def hand(_: str, job: ClaimedJob) -> None:
        handed.put_nowait(job)
        woken.set()

    handed: asyncio.Queue[ClaimedJob] = asyncio.Queue()
    lease = Lease(await engine.arun(c.OpenLease("listening", queues=["default"])))
    listener = engine.listener(
        Ears(wake=woken.set, cancel=stopped.put_nowait, hand=hand, heard=hear, missed=lambda: None, busy=lambda: False)
    )
    listener.lease = lease
    listener.start()
    try:
        await soon(listener.settle())
        assert listener.listening
        assert await soon(listener.register("default")) is None
        woken.clear()
        enqueued = await bench.add()
        await soon(woken.wait())
        jobs = await engine.arun(c.Claim(lease, "default")) or [handed.get_nowait()]
        assert [job.id for job in jobs] == [enqueued.id]
        await bench.app.handle(enqueued.id).acancel()
        assert await soon(stopped.get()) == enqueued.id
        assert (await soon(listener.run_command(c.ExtendLease(lease)))).alive
        await listener.unregister("default")
        await listener.unregister_all()
    finally:
        await listener.stop()
        await engine.aclose()

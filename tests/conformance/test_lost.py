"""Of a job whose worker was lost with its last attempt somebody else tells: whoever leads, or ticks."""

from typing import Any

import msgspec
import pytest

from penstock import JobState
from penstock.engine import commands as c
from penstock.job import ClaimedJob, Lease
from tests.conformance.conftest import Bench, Run
from tests.kit.until import until


async def claim(run: Run) -> tuple[Lease, list[ClaimedJob]]:
    lease = Lease(await run(c.OpenLease("a worker", queues=["default"])))
    return lease, await run(c.Claim(lease, "default"))


async def test_a_job_that_was_lost_with_its_last_attempt_is_told_once(
    bench: Bench, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    about: dict[str, Any] = {"args": b'{"n": 1}', "owner": "ada", "org": "acme", "options": {"timeout": 9}}
    enqueued = await bench.add(max_attempts=2, **about)
    engine = bench.app.engine
    for attempt in (1, 2):
        lease, [job] = await claim(run)
        assert job.attempt == attempt
        assert await engine.arun(c.TakeLost()) == []
        await run(c.ExpireLease(lease))
    _, none = await claim(run)  # on BullMQ whoever claims it next finds that it is over
    assert none == []
    assert (await bench.job(enqueued)).state is JobState.FAILED

    if not bench.engine.capabilities.leads:
        await until(lambda: "given up after attempt 2 of 2: its worker was lost" in caplog.messages)  # by the server
        return
    leader = Lease(await engine.arun(c.OpenLease("a leader", queues=["default"])))
    assert (await engine.arun(c.ExtendLease(leader))).leads
    tended = await engine.arun(c.Tend(leader))
    assert tended.leads
    assert tended.lost
    assert (await engine.arun(c.Maintain()) or {"lost": 1})["lost"] == 1
    [lost] = await engine.arun(c.TakeLost())
    assert lost.queue == "default"
    # a claim counts on BullMQ even if it only finds that the job is over
    assert msgspec.structs.replace(lost.job, claims=job.claims) == job
    assert await engine.arun(c.TakeLost()) == []
    assert not (await engine.arun(c.Tend(leader))).lost


async def test_one_that_somebody_wanted_stopped_is_not_told(bench: Bench, run: Run) -> None:
    enqueued = await bench.add(max_attempts=1)
    lease, _ = await claim(run)
    await bench.app.handle(enqueued.id).acancel()
    await run(c.ExpireLease(lease))
    await claim(run)
    assert (await bench.job(enqueued)).state is JobState.CANCELLED
    assert await bench.app.engine.arun(c.TakeLost()) == []

"""Watching jobs: what is told, and what it costs the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.flow import batch
from penstock.job import NewJob
from penstock.server.live.hub import Hub
from penstock.server.live.states import Link, State
from tests.engine.hand import Hand
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.until import until
from tests.server.watching import Counted, Ear


@pytest.fixture
async def engine(url: str) -> AsyncIterator[Counted]:
    engine = Counted(url)
    yield engine
    await engine.aclose()


async def test_the_first_watcher_costs_two_queries_and_the_others_none(engine: Counted, hub: Hub, hand: Hand) -> None:
    id = hand.add()
    engine.asked.clear()
    topics = await asyncio.gather(*(hub.join(Ear(), id) for _ in range(50)))
    assert len(engine.asked) == 2
    assert len({topic.state.version for topic in topics if topic.state}) == 1


async def test_a_change_costs_one_look_up_for_all_who_watch(engine: Counted, hub: Hub, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ears = [Ear() for _ in range(600)]
    for ear in ears:
        await hub.join(ear, id)
    engine.asked.clear()
    worker.progress(job, 30)
    states = [await ear.hear() for ear in ears]
    assert len({id_of(state) for state in states}) == 1
    assert len(engine.asked) == 1


def id_of(state: State) -> int:
    """Encoded once, so the very same object."""
    return id(state.piece(""))


async def test_a_notification_of_a_job_that_nobody_watches_costs_nothing(engine: Counted, hub: Hub, hand: Hand) -> None:
    watched, other = hand.add("watched"), hand.add("other")
    hand.run(commands.Watch(other))
    worker = hand.worker()
    jobs = {job.id: job for job in worker.claim(2)}
    ear = Ear()
    await hub.join(ear, watched)
    engine.asked.clear()
    for percent in range(10):
        worker.progress(jobs[other], percent)
    worker.progress(jobs[watched], 1)
    await ear.hear()
    assert len(engine.asked) == 1


async def test_notifications_that_come_faster_than_look_ups_share_one(engine: Counted, hub: Hub, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    engine.asked.clear()
    for percent in range(1, 51):
        worker.progress(job, percent)  # does not give the event loop a turn
    while (await ear.hear()).job.progress["percent"] != 50:
        pass
    assert len(engine.asked) < 10


async def test_many_jobs_that_changed_are_looked_up_in_one_query(engine: Counted, hub: Hub, hand: Hand) -> None:
    for _ in range(20):
        hand.add()
    worker = hand.worker()
    jobs = worker.claim(20)
    ears = {job.id: Ear() for job in jobs}
    for id, ear in ears.items():
        await hub.join(ear, id)
    engine.asked.clear()
    hand.run(saying.report_progress(worker.lease, jobs, [{"percent": 5 + n} for n in range(20)]))
    for n, job in enumerate(jobs):
        state = await ears[job.id].hear()
        assert (state.job.id, state.job.progress["percent"]) == (job.id, 5 + n)
    assert len(engine.asked) <= 2
    assert all(ear.told.empty() for ear in ears.values())


async def test_who_has_parted_is_told_nothing(hub: Hub, hand: Hand) -> None:
    id = hand.add()
    gone, stays = Ear(), Ear()
    topic = await hub.join(gone, id)
    await hub.join(stays, id)
    hub.part(gone, topic)
    hand.run(commands.Cancel([id]))
    assert (await stays.hear()).final
    assert gone.told.empty()
    assert hub.watchers == 1


async def test_one_connection_listens_however_many_watch(url: str, connect: Connect, hub: Hub, hand: Hand) -> None:
    for _ in range(30):
        await hub.join(Ear(), hand.add())
    [(count,)] = connect().execute(
        "select count(*) from pg_stat_activity where datname = current_database() and query like 'unlisten %'"
        " and pid <> pg_backend_pid()"
    )
    assert count == 1


async def test_nobody_listens_before_somebody_watches(engine: Counted) -> None:
    hub = Hub(engine, engine)
    await asyncio.sleep(0)
    assert engine.asked == []
    assert not hub.listening
    await hub.aclose()


async def test_the_end_comes_with_links_to_what_the_job_made(engine: Counted, hand: Hand) -> None:
    made: list[Sequence[Artifact]] = []

    async def links(artifacts: Sequence[Artifact]) -> list[Link]:
        made.append(artifacts)
        return [{"type": "pdf", "url": "/files/one"}]

    hub = Hub(engine, engine, links=links)
    ids = [hand.add() for _ in range(3)]
    worker = hand.worker()
    ears = [Ear() for _ in ids]
    for ear, id in zip(ears, ids, strict=True):
        await hub.join(ear, id)
    await until(lambda: hub.listening)
    assert made == []
    worker.finish_all()
    versions = set()
    for ear in ears:
        state = await ear.hear()
        while b"result_url" not in state.piece("")["body"]:  # that it was claimed may be told first
            state = await ear.hear()
        assert b'"result_url":"/files/one"' in state.piece("")["body"]
        assert b'"artifacts":[{"type":"pdf","url":"/files/one"}]' in state.piece("")["body"]
        versions.add(state.version)
    assert len(made) == 3
    again = [(await hub.join(Ear(), id)).state for id in ids]
    assert {state.version for state in again if state} == versions
    await hub.aclose()


async def test_a_flow_s_watchers_are_told_what_its_grandchildren_do(hub: Hub, hand: Hand) -> None:
    inner = batch([NewJob(kind="a"), NewJob(kind="b")])
    outer = batch([NewJob(kind="c")])
    outer.add(inner)
    root = hand.start(outer)
    worker = hand.worker()
    jobs = {job.kind: job for job in worker.claim(3)}
    ear = Ear()
    await hub.join(ear, root)
    worker.progress(jobs["a"], 80)
    assert (await ear.hear()).job.progress["percent"] == 20
    worker.complete(*jobs.values())
    while not (await ear.hear()).final:
        pass


async def test_every_watcher_is_reminded_to_keep_alive(engine: Counted, hand: Hand) -> None:
    hub = Hub(engine, engine, keep_alive=0.1)
    id = hand.add()
    ears = [Ear() for _ in range(40)]
    for ear in ears:
        await hub.join(ear, id)
    await until(lambda: all(ear.beats >= 2 for ear in ears))
    await hub.aclose()
    assert all(ear.left.is_set() for ear in ears)


async def test_who_comes_while_the_server_stops_is_sent_away(hub: Hub, hand: Hand) -> None:
    hub.leave()
    ear = Ear()
    await hub.join(ear, hand.add())
    assert ear.left.is_set()

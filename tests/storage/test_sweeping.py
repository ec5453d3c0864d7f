"""Removing what is due, and nothing else."""

import asyncio
import logging
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock import Context, Penstock
from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.errors import ArtifactExpired, UnknownArtifact
from penstock.flow import Flow
from penstock.storage.sweep import aremove_file
from penstock.worker import sweeper
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.storage.test_putting import claim, files_in


async def stored(app: Penstock, name: str = "a.txt", **choices: Any) -> Artifact:
    """A file of a job that has finished."""
    if "export" not in app.kinds:

        @app.job(kind="export")
        async def export(ctx: Context) -> None: ...

    await app.handler("export").using(owner="ann").aenqueue()
    lease, job = await claim(app)
    artifact = await app.artifacts.keeper.aput(job, lease, name, name.encode(), **choices)
    await app.engine.arun(saying.complete(lease, [job]))
    return artifact


def expire(connect: Connect, artifact: Artifact) -> None:
    connect().execute("update penstock.artifacts set expires_at = now() - interval '1 s' where id = %s", [artifact.id])


async def test_expired_artifacts_go_and_the_others_stay(app: Penstock, connect: Connect) -> None:
    old, later, ever = [await stored(app, name, expires_in=kept) for name, kept in (("o", 60), ("l", 60), ("e", None))]
    expire(connect, old)
    assert app.artifacts.due() == 1
    with pytest.raises(ArtifactExpired):
        app.artifacts.read(old.id)
    with pytest.raises(ArtifactExpired):
        app.artifacts.url(old.id)
    assert app.artifacts.sweep().artifacts == 1
    assert set(files_in(app)) == {later.path, ever.path}
    assert app.artifacts.due() == 0
    with pytest.raises(UnknownArtifact):
        app.artifacts.read(old.id)


async def test_a_sweep_goes_through_any_number_and_tells_how_far_it_is(app: Penstock, connect: Connect) -> None:
    artifact = await stored(app)
    connect().execute(
        "insert into penstock.artifacts select (a).* from (select jsonb_populate_record(a, jsonb_build_object("
        " 'id', penstock.uuid7(), 'path', 'ann/' || n, 'expires_at', now() - interval '1 s')) as a"
        " from penstock.artifacts as a, generate_series(1, 250) as n) as made"
    )
    told: list[tuple[int, int]] = []
    assert (await app.artifacts.asweep(progress=lambda *both: told.append(both))).artifacts == 250
    assert told[-1] == (250, 250)
    assert len(told) == 250
    assert [each.id for each in app.artifacts.list()] == [artifact.id]


async def test_orphans_go_only_when_asked_for_and_only_when_old(app: Penstock) -> None:
    artifact = await stored(app)
    await app.artifacts.store.aput("ann/lost", b"x", content_type="text/plain", filename="lost")
    assert app.artifacts.sweep(grace=-1).orphans == 0
    assert (await app.artifacts.asweep(orphans=True)).orphans == 0
    assert (await app.artifacts.asweep(orphans=True, grace=-1)).orphans == 1
    assert set(files_in(app)) == {artifact.path}


async def test_delete_removes_the_file_and_may_be_said_twice(app: Penstock) -> None:
    one, other = await stored(app, "a"), await stored(app, "b")
    assert app.artifacts.delete(one.id, uuid4()) == [one.id]
    assert app.artifacts.delete(one.id) == []
    assert await app.artifacts.adelete(other.id) == [other.id]
    assert files_in(app) == {}
    assert app.artifacts.get(one.id) is None


async def test_two_sweeps_at_once_do_not_get_in_each_others_way(app: Penstock, connect: Connect) -> None:
    for number in range(20):
        expire(connect, await stored(app, str(number), expires_in=60))
    swept = await asyncio.gather(*(app.artifacts.asweep() for _ in range(3)))
    assert sum(each.artifacts for each in swept) == 20
    assert files_in(app) == {}


async def test_a_file_written_anew_is_not_the_one_that_is_removed(app: Penstock, connect: Connect) -> None:
    """A removal under way and a job that writes the same path: the job waits, and its file stays."""
    await stored(app, path="same")
    [artifact] = app.artifacts.list()
    await app.engine.arun(commands.RemoveArtifacts([artifact.id]))
    reached, go = asyncio.Event(), asyncio.Event()
    inner = app.artifacts.store

    class Slow:
        async def adelete(self, path: str) -> None:
            reached.set()
            await go.wait()
            await inner.adelete(path)

    removing = asyncio.create_task(aremove_file(app.engine, Slow(), artifact.id))  # type: ignore[arg-type]
    await soon(reached.wait())
    writing = asyncio.create_task(stored(app, "new", path="same"))

    async def waits() -> bool:
        watch = "select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'begin_artifact'"
        return bool(connect().execute(watch).fetchall())

    await until(waits)
    go.set()
    assert await removing is True
    again = await writing
    assert files_in(app) == {"ann/same": b"new"}
    assert [each.id for each in app.artifacts.list()] == [again.id]


async def test_everything_below_a_flow_is_listed_in_order(app: Penstock) -> None:
    @app.job
    async def step(ctx: Context, name: str) -> None:
        await ctx.artifacts.put(name, name.encode())

    flow = Flow(then=step.prepare(name="last"))
    for name in ("one", "two"):
        flow.add(step.prepare(name=name))
    handle = await app.aenqueue(flow)
    while (job := await app.jobs.aget(handle.id)) is not None and not job.state.final:
        await app.atick()
    assert sorted(each.name for each in await app.artifacts.alist(handle.id)) == ["last", "one", "two"]
    alone: list[UUID] = [each.job for each in app.artifacts.list(handle.id) if each.name == "one"]
    assert [each.name for each in app.artifacts.list(alone[0])] == ["one"]


async def test_lists_go_page_by_page_newest_first(app: Penstock) -> None:
    ids = [(await stored(app, str(number))).id for number in range(5)][::-1]
    page = app.artifacts.list(limit=2)
    assert [each.id for each in page] == ids[:2]
    assert [each.id for each in app.artifacts.list(before=page[-1].id)] == ids[2:]
    assert [each.id for each in app.artifacts.list(owner="ann")] == ids
    assert app.artifacts.list(owner="bob") == app.artifacts.list(org="acme") == []


# By the workers themselves.


@pytest.fixture
def quick_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeper, "FIRST", 0.05)
    monkeypatch.setattr(sweeper, "EVERY", 0.05)


async def test_a_leading_worker_sweeps_by_itself(app: Penstock, connect: Connect, quick_sweeps: None) -> None:
    stays = await stored(app, "stays")
    worker = app.worker({"another": 1})
    running = asyncio.create_task(worker.run())
    await soon(worker.ready.wait())
    expire(connect, await stored(app, "goes", expires_in=60))

    await until(lambda: set(files_in(app)) == {stays.path})
    worker.stop()
    await soon(running)


async def test_a_store_that_fails_does_not_end_the_worker(
    app: Penstock, connect: Connect, quick_sweeps: None, caplog: pytest.LogCaptureFixture
) -> None:
    expire(connect, await stored(app, "goes", expires_in=60))
    store = app.artifacts.store
    failed = asyncio.Event()

    async def fail(path: str) -> None:
        failed.set()
        raise OSError("the disk is away")

    delete, store.adelete = store.adelete, fail  # type: ignore[method-assign]
    worker = app.worker()
    with caplog.at_level(logging.WARNING, "penstock.worker"):
        running = asyncio.create_task(worker.run())
        await soon(failed.wait())
        store.adelete = delete  # type: ignore[method-assign]

        await until(lambda: files_in(app) == {})
        worker.stop()
        await soon(running)
    assert "the disk is away" in caplog.text

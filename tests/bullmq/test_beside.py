"""Jobs in Redis and a database beside them: files of jobs and tables of one's own are there, and no promise is made
that takes a transaction over both."""

import asyncio
from pathlib import Path

import pytest

from penstock import Context, EngineCannot, JobFailed, Penstock, SyncContext
from penstock.engine import commands
from penstock.errors import LeaseLost
from penstock.flow import Flow
from penstock.job import ClaimedJob, JobState, Lease
from penstock.server import ServerSettings
from tests.kit.redis import fresh_redis
from tests.kit.serving import KEY
from tests.kit.working import working
from tests.server.api import asking

SOON = 60.0


@pytest.fixture
def app(url: str, tmp_path: Path) -> Penstock:
    return Penstock(url, jobs=fresh_redis(), artifacts=tmp_path / "files")


async def test_files_of_a_flow_are_on_record_as_those_of_jobs_in_the_database(app: Penstock) -> None:
    @app.job
    async def part(ctx: Context, name: str) -> str:
        return (await ctx.artifacts.put(name, name.encode(), metadata={"n": 1})).path

    @app.job
    def whole(ctx: SyncContext) -> str:
        return ctx.artifacts.put("whole.txt", b"whole").path

    flow = Flow(then=whole.using(org="acme").prepare())
    for name in ("a.txt", "b.txt"):
        flow.add(part.using(org="acme", owner="ada").prepare(name))
    async with app, working(app):
        job = await app.aenqueue(flow)
        path = await job.aresult(SOON)
        made = await app.artifacts.alist(job.id)
        assert sorted((each.name, each.owner, each.kind) for each in made) == [
            ("a.txt", "ada", "part"), ("b.txt", "ada", "part"), ("whole.txt", None, "whole"),
        ]  # fmt: skip
        found = await app.artifacts.afind(path=path)
        assert found is not None
        assert await app.artifacts.aread(found.id) == b"whole"
        members = (await app.jobs.alist(parent=job.id)).jobs
        assert {each.parent for each in members} == {job.id}
        assert (await app.jobs.alist(ids=[each.id for each in members])).jobs == members
        seen = await app.engine.arun(commands.SeeJob(job.id))
        assert seen is not None
        assert len(seen.artifacts or ()) == 3


async def test_a_run_that_has_lost_its_job_stores_nothing(app: Penstock) -> None:
    handler = app.job(kind="work")(lambda: None)
    async with app:
        await handler.aenqueue()
        lease: Lease = await app.engine.arun(commands.OpenLease("w", seconds=60))
        claimed: list[ClaimedJob] = await app.engine.arun(commands.Claim(lease, "default", 1))
        await app.artifacts.keeper.aput(claimed[0], lease, "first.txt", b"kept")
        await app.engine.arun(commands.ExpireLease(lease))
        with pytest.raises(LeaseLost):
            await app.artifacts.keeper.aput(claimed[0], lease, "second.txt", b"lost")
        again: Lease = await app.engine.arun(commands.OpenLease("w", seconds=60))
        [job] = await app.engine.arun(commands.Claim(again, "default", 1))
        await app.artifacts.keeper.aput(job, again, "first.txt", b"anew")
        [found] = await app.artifacts.alist(job.id)
        assert await app.artifacts.aread(found.id) == b"anew"


async def test_a_transaction_with_the_completion_is_refused_and_one_beside_it_is_not(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def together(ctx: Context) -> None:
        async with ctx.transaction():
            raise AssertionError("not here")

    @app.job(max_attempts=1)
    async def beside() -> int:
        async with app.atransaction() as connection:
            rows = await connection.execute("select 42")
            return int((await rows.fetchone() or [0])[0])

    async with app, working(app):
        refused = await together.aenqueue()
        with pytest.raises(JobFailed, match=r"app\.atransaction"):
            await refused.aresult(SOON)
        assert await (await beside.aenqueue()).aresult(SOON) == 42
        async with app.atransaction() as connection:
            with pytest.raises(EngineCannot) as told:
                await beside.using(connection=connection).aenqueue()
            assert told.value.capability == "transactions"


async def test_what_an_operator_cancels_leaves_a_line(app: Penstock) -> None:
    handler = app.job(kind="work")(lambda: None)
    async with app:
        job = await handler.aenqueue()
        assert list(await app.operator("ada").acancel_jobs(job.id)) == [job.id]
        assert (await job.arefresh()).state is JobState.CANCELLED
        [line] = await asyncio.to_thread(app.audit.list)
        assert (line.who, line.action, line.jobs) == ("ada", "cancel", 1)


async def test_what_takes_jobs_in_postgres_is_refused_by_name_however_it_is_asked(app: Penstock) -> None:
    async with app, asking(app, ServerSettings(service_key=KEY)) as api:
        for path in ("/api/jobs/tick", "/api/jobs/batch", "/api/jobs", "/rest/v1/jobs"):
            for way in ("GET", "POST", "DELETE"):
                answer = await api.service(way, path)
                assert "this is for jobs in Postgres" in answer.text, f"{way} {path}"


def test_there_is_a_database_where_one_is_named_or_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    redis = fresh_redis()
    with Penstock(redis) as alone, Penstock(jobs=redis) as beside:
        for app in (alone, beside):
            assert (app.has_database, app.engine.capabilities.artifacts) == (False, False)
            with pytest.raises(EngineCannot) as refused:
                app.artifacts.list()
            assert refused.value.capability == "artifacts"
        (tmp_path / "0001_pages.sql").write_text("create schema pages;")
        beside.add_migrations("pages", tmp_path)
        assert (beside.has_database, beside.engine.capabilities.artifacts) == (True, True)
    monkeypatch.setenv("PENSTOCK_JOBS_URL", redis)
    with Penstock("postgresql://127.0.0.1:1/x") as moved:
        assert moved.has_database
        assert not moved.engine.capabilities.database

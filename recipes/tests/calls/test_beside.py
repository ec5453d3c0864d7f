"""Jobs in Redis beside the recipe's tables: there is no transaction over both. Whatever is broken off between them, no
call is lost or worked on twice, and what the engine cannot do is refused by its name."""

from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from calls.asking import ACME, Calls, serving
from calls.conftest import Make, over_both
from calls.providers import Clerk, Reader
from penstock import EngineCannot, Flow, JobContext, Penstock
from penstock.job import JobState
from penstock.middleware import CallNext
from penstock_recipes.calls import install
from penstock_recipes.calls.jobs import STAGES
from shared.asking import names_in
from tests.kit.fixtures import Connect
from tests.kit.redis import fresh_redis
from tests.kit.until import until
from tests.kit.working import working

in_redis = pytest.mark.parametrize("jobs_url", ["bullmq"], indirect=True)


@pytest.fixture
def connection(connect: Connect) -> psycopg.Connection[Any]:
    connection = connect()
    connection.execute(
        "create function refuse() returns trigger language plpgsql as 'begin raise division_by_zero; end'"
    )
    return connection


def refuse(connection: psycopg.Connection[Any], what: str) -> None:
    """Not before the commit, by when the jobs are in Redis."""
    connection.execute(
        f"create constraint trigger refuse after {what} on calls.calls deferrable initially deferred "
        "for each row execute function refuse()".encode()
    )


def allow(connection: psycopg.Connection[Any]) -> None:
    connection.execute("drop trigger refuse on calls.calls")


async def states(calls: Calls) -> list[JobState]:
    return sorted(job.state for job in (await calls.app.jobs.alist()).jobs)


@in_redis
async def test_jobs_of_a_call_that_was_not_committed_end_and_leave_nothing(
    calls: Calls, connection: psycopg.Connection[Any]
) -> None:
    ada = calls.user()
    refuse(connection, "insert")
    assert (await ada.send(**{"Idempotency-Key": "k"})).status_code >= 400
    assert len(await states(calls)) == len(STAGES), "they were enqueued before"
    allow(connection)
    async with calls.worker():
        ended = await until(lambda: states(calls), so=lambda found: all(state.final for state in found))
        assert JobState.SUCCEEDED not in ended
        assert (await ada.get()).json()["calls"] == []
        answer = await ada.send(**{"Idempotency-Key": "k"})
        assert (answer.status_code, answer.json()["created"]) == (201, True)
        await ada.done(answer.json()["id"])
    assert connection.execute("select count(*) from calls.calls").fetchone() == (1,)


@in_redis
async def test_a_retry_and_a_deletion_that_were_not_committed_change_nothing(
    make: Make, connection: psycopg.Connection[Any], files: Path
) -> None:
    reader, clerk = Reader(ConnectionError("busy")), Clerk()
    async with make(analyst=reader, transcriber=clerk, max_attempts=1) as calls:
        ada = calls.user()
        async with calls.worker():
            failed = await ada.ended(await ada.upload())
            reader.error = None
            refuse(connection, "update of job_id or delete")
            for method, path in (("POST", f"/{failed['id']}/retry"), ("DELETE", f"/{failed['id']}")):
                assert (await ada(method, path)).status_code >= 400
            await until(lambda: states(calls), so=lambda found: len(found) == 9 and all(each.final for each in found))
            assert (await ada.call(failed["id"]))["status"] == "failed"
            assert reader.asked == 1, "the flow of the retry has ended at its first stage"
            assert names_in(files) == [f"_{ACME}/{failed['id']}/{name}" for name in ("audio.flac", "transcript.json")]
            allow(connection)
            assert (await ada("POST", f"/{failed['id']}/retry")).status_code == 202
            await ada.done(failed["id"])
    assert len(clerk.started) == 1


@in_redis
async def test_a_stage_waits_for_whoever_writes_its_call(calls: Calls, connection: psycopg.Connection[Any]) -> None:
    """The first of them may be claimed before the upload is committed: it must not take that for a deleted call."""
    waits = "select from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and not granted"
    async with calls.worker():
        with connection.transaction():
            # what an upload does last but one: its jobs are there, and its call is not
            call, job = await begin_uncommitted(calls.app, connection)
            await until(lambda: connection.execute(waits).rowcount > 0)
        assert (await calls.app.handle(job).arefresh()).state is JobState.BLOCKED
        gone = await calls.user().ended(str(call))
    # there was no recording: but it got as far as to look for one
    assert gone["error"] == "the recording is not there any more; upload it again"


async def begin_uncommitted(app: Penstock, connection: psycopg.Connection[Any]) -> tuple[UUID, UUID]:
    call = UUID("0198c5a0-0000-7000-8000-0000000000cc")
    connection.execute("select pg_advisory_xact_lock(hashtextextended(%s, 4))", [str(call)])
    args = {"org_id": ACME, "call_id": call}
    flow = Flow(then=app.prepare("analyze", args, org=str(ACME)))
    flow.add(app.prepare("extract_audio", args, org=str(ACME)))
    [last, *_] = jobs = flow.jobs()
    connection.execute(
        "insert into calls.calls (id, org_id, file_name, content_type, size, job_id) values (%s, %s, '', '', 0, %s)",
        [call, ACME, last.id],
    )
    await app.aenqueue_many(jobs)
    return call, last.id


@in_redis
async def test_a_call_has_failed_when_the_last_of_its_stages_knows_of_it(make: Make) -> None:
    """BullMQ tells what waits for a failed job when somebody takes it next."""
    queues = dict.fromkeys(STAGES, "calls") | {"analyze": "last"}
    async with make(transcriber=Clerk(polls=99), max_polls=1, queues=queues) as calls:
        ada = calls.user()
        async with working(calls.app, {"calls": 4}):
            id = await ada.upload()
            call = await ada.until(id, lambda call: call["stages"][2]["status"] == "failed")
            assert (call["status"], call["stages"][3]["status"]) == ("processing", "queued")
            assert (await ada("POST", f"/{id}/retry")).status_code == 409
            async with working(calls.app, {"last": 1}):
                assert (await ada.ended(id))["stages"][3]["status"] == "failed"


@over_both
async def test_calls_are_worked_on_in_the_order_they_came(make: Make) -> None:
    order: list[str] = []
    async with make() as calls:

        @calls.app.middleware
        async def note(ctx: JobContext, call_next: CallNext) -> Any:
            if ctx.kind == "extract_audio":
                order.append(str(ctx.job.args))
            return await call_next()

        ids = [await calls.user().upload() for _ in range(4)]
        async with calls.worker(slots=1):
            for id in ids:
                await calls.user().done(id)
    assert [next(id for id in ids if id in args) for args in order] == ids


def test_a_transcriber_that_calls_is_refused_when_it_is_installed(url: str) -> None:
    with Penstock(url, jobs=fresh_redis()) as app, pytest.raises(EngineCannot, match="webhook_timeout") as refused:
        install(app, transcriber=Clerk(), analyst=Reader(), webhook_timeout=60)
    assert refused.value.capability == "durable_waits"


async def test_while_redis_is_away_nothing_is_taken(url: str, files: Path, connect: Connect) -> None:
    async with Penstock(url, jobs="redis://127.0.0.1:1/0", artifacts=files, database_timeout=0.2) as app:
        install(app, transcriber=Clerk(), analyst=Reader())
        async with serving(app) as calls:
            assert (await calls.user().send()).status_code == 503
            assert (await calls.nobody.client.get("/readyz")).status_code == 503
            assert (await calls.nobody.client.get("/healthz")).status_code == 200
    assert connect().execute("select count(*) from calls.calls").fetchone() == (0,)


@in_redis
async def test_what_the_server_cannot_do_with_such_jobs_says_so(calls: Calls) -> None:
    for method, path in (("POST", "/api/jobs"), ("GET", "/api/jobs"), ("POST", "/rest/v1/rpc/enqueue")):
        answer = await calls.service(method, path, json={} if method == "POST" else None)
        assert (answer.status_code, answer.json()["capability"]) == (501, "database"), path
    assert (await calls.nobody.client.get("/readyz")).status_code == 200
    assert (await calls.nobody("GET", "/api/jobs")).status_code == 501

"""What a user may start by direct SQL: declared kinds, on their own name, within their quota. No more."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
import pytest
from msgspec import Raw

from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.errors import InvalidInput, LimitReached, NotAllowed, StorageFull
from penstock.flow import Flow
from penstock.job import Enqueued, NewJob
from tests.channels import listen
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.sql.neighbours import act_as, claims_of, rows_of

Connection = psycopg.Connection[Any]
KINDS: list[dict[str, Any]] = [
    {"kind": "export", "template": {"queue": "exports", "priority": 3, "max_attempts": 7}, "quota": "q"},
    {"kind": "free", "template": {}},
    {"kind": "once", "template": {}, "unique": True},
]


@pytest.fixture(autouse=True)
def declared(engine: PostgresEngine) -> None:
    engine.run(commands.DeclareKinds(KINDS, ["export", "free", "once", "internal"]))


@pytest.fixture
async def users(url: str) -> AsyncIterator["Users"]:
    engine = PostgresEngine(lambda: url, pool_size=20)
    yield Users(engine)
    await engine.aclose()


@pytest.fixture
def connection(connect: Connect) -> Connection:
    return connect()


class Users:
    """Users as the server lets them ask."""

    def __init__(self, engine: PostgresEngine) -> None:
        self.engine = engine

    async def start(self, user: str, kind: str, args: object = None, **options: Any) -> Enqueued:
        started: Enqueued = await self.run(user, commands.Start(kind, Raw(json.dumps(args or {}).encode()), **options))
        return started

    async def batch(self, user: str, *jobs: Any, **options: Any) -> list[Enqueued]:
        started: list[Enqueued] = await self.run(user, commands.StartBatch(jobs, **options))
        return started

    async def retry(self, user: str, id: UUID) -> bool | None:
        retried: bool | None = await self.run(user, commands.RetryMine(id))
        return retried

    async def run(self, user: str, call: Any) -> Any:
        return await self.engine.arun_as("authenticated", claims_of(user), call)

    async def limit(self, **limits: int) -> None:
        await self.engine.arun(commands.SetQuota("q", limits))

    async def fail_all(self, queue: str = "exports") -> None:
        lease = await self.engine.arun(commands.OpenLease("worker"))
        while jobs := await self.engine.arun(commands.Claim(lease, queue, 10)):
            await self.engine.arun(saying.fail(lease, jobs, [{"error": "no", "final": True}] * len(jobs)))


async def test_everything_but_kind_and_arguments_comes_from_the_declaration(
    users: Users, connection: Connection
) -> None:
    started = await users.start("alice", "export", {"queue": "other", "priority": -9, "owner": "bob"}, org="alices")
    row = connection.execute(
        "select queue, priority, max_attempts, owner, org, parent, args from penstock.jobs where id = %s", [started.id]
    ).fetchone()
    args = {"queue": "other", "priority": -9, "owner": "bob"}
    assert row == ("exports", 3, 7, "alice", "alices", None, args)


async def test_fields_beside_kind_and_arguments_of_a_batch_are_not_read(users: Users, connection: Connection) -> None:
    bobs = await users.start("bob", "free")
    chosen = {"queue": "q", "priority": -9, "max_attempts": 99, "owner": "bob", "org": "bobs", "parent": str(bobs.id),
              "after": [str(bobs.id)], "id": str(bobs.id), "unique_key": "k", "idempotency_key": "k", "watched": True,
              "options": {"timeout": 1}, "rollup": {}, "run_at": "2999-01-01T00:00:00Z", "limit_key": "k"}  # fmt: skip
    batch, job = await users.batch("alice", {"kind": "free", "args": {}, **chosen})
    row = connection.execute(
        """select queue, priority, max_attempts, owner, org, parent, unique_key, limit_key, watched, options, rollup,
                  state::text
             from penstock.jobs where id = %s""",
        [job.id],
    ).fetchone()
    assert row == ("default", 0, 5, "alice", None, batch.id, None, None, False, None, None, "ready")
    assert connection.execute("select count(*) from penstock.edges").fetchone() == (0,)


@pytest.mark.parametrize("kind", ["internal", "nothing", "", "batch", "Export", "export "])
async def test_what_is_not_declared_is_closed(users: Users, connection: Connection, kind: str) -> None:
    before = rows_of(connection)
    with pytest.raises(NotAllowed, match="not open"):
        await users.start("alice", kind)
    with pytest.raises(NotAllowed, match="not open"):
        await users.batch("alice", {"kind": "free"}, {"kind": kind}, {"kind": "export"})
    assert rows_of(connection) == before


@pytest.mark.parametrize(
    "jobs",
    [None, {}, "free", [], [None], ["free"], [[]], [{}], [{"kind": None}], [{"kind": ["free"]}],
     [{"kind": "free", "args": []}], [{"kind": "free", "args": "x"}]],
)  # fmt: skip
async def test_a_batch_of_nonsense_is_refused(users: Users, connection: Connection, jobs: Any) -> None:
    before = rows_of(connection)
    with pytest.raises((NotAllowed, InvalidInput)):
        await users.run("alice", commands.StartBatch(jobs))
    assert rows_of(connection) == before


async def test_a_batch_has_a_size(users: Users, connection: Connection) -> None:
    assert len(await users.batch("alice", *[{"kind": "free"}] * 1000)) == 1001
    before = rows_of(connection)
    with pytest.raises(InvalidInput, match="at most 1000"):
        await users.batch("alice", *[{"kind": "free"}] * 1001)
    assert rows_of(connection) == before


async def test_an_organisation_must_be_the_starter_s(users: Users, connection: Connection) -> None:
    for start in (users.start("alice", "free", org="bobs"), users.batch("alice", {"kind": "free"}, org="bobs")):
        with pytest.raises(NotAllowed, match="belong"):
            await start
    assert connection.execute("select count(*) from penstock.jobs").fetchone() == (0,)


async def test_a_unique_job_stands_for_its_owner_s_alone(users: Users) -> None:
    """Also when names are chosen so that joined together they read the same."""
    args = {"document": 1}
    mine = await users.start("alice", "once", args)
    assert await users.start("alice", "once", args) == Enqueued(mine.id, False)
    names = ["bob", "a::b", 'a", "b', "alice::", "once"]
    for name in names:
        started = await users.start(name, "once", args)
        assert started.created
        assert started.id != mine.id
    in_org = await users.run("x", commands.Start("once", Raw(b"{}")))
    joined = [("a", "b::c"), ("a::b", "c"), ("a", 'b", "c'), ('a", "b', "c")]
    for user, org in joined:
        claims = claims_of(user, org_id=org)
        call = commands.Start("once", Raw(b"{}"), org=org)
        assert (await users.engine.arun_as("authenticated", claims, call)).created, (user, org)
    assert in_org.created


async def test_no_arguments_are_the_same_as_empty_ones_also_for_unique_jobs(connection: Connection) -> None:
    with connection.transaction():
        act_as(connection, "authenticated", claims_of("alice"))
        [(first, _)] = connection.execute("select * from penstock.start('once', null)").fetchall()
        again = connection.execute("select * from penstock.start('once')").fetchall()
    assert again == [(first, False)]


async def test_idempotency_keys_are_each_owner_s(users: Users) -> None:
    alices = await users.start("alice", "free", {"n": 1}, idempotency_key="k")
    bobs = await users.start("bob", "export", {"n": 2}, idempotency_key="k")
    assert bobs.created
    assert await users.start("alice", "free", {"n": 1}, idempotency_key="k") == Enqueued(alices.id, False)


async def test_a_repeated_batch_gives_the_jobs_it_had(users: Users) -> None:
    jobs = [{"kind": "export", "args": {"n": n}} for n in range(3)]
    first = await users.batch("alice", *jobs, idempotency_key="k")
    await users.fail_all()
    again = await users.batch("alice", *jobs, idempotency_key="k")
    assert [job.id for job in again] == [job.id for job in first]
    assert not any(job.created for job in again)


async def test_of_many_at_once_as_many_are_started_as_the_quota_says(users: Users, connection: Connection) -> None:
    await users.limit(per_day=5)
    results = await asyncio.gather(
        *(users.start("alice", "export", {"n": n}) for n in range(20)), return_exceptions=True
    )
    started = [each.id for each in results if isinstance(each, Enqueued)]
    assert len(started) == 5
    assert all(isinstance(each, Enqueued | LimitReached) for each in results)
    assert {id for (id,) in connection.execute("select id from penstock.jobs")} == set(started)
    assert connection.execute("select owner, used from penstock.quota_use").fetchall() == [("alice", 5)]
    assert (await users.start("bob", "export")).created


async def test_batches_and_retries_at_once_keep_to_the_quota_too(users: Users, connection: Connection) -> None:
    await users.limit(per_day=12)
    failed = [await users.start("alice", "export", {"n": n}) for n in range(2)]
    await users.fail_all()
    work: list[Any] = [users.batch("alice", *[{"kind": "export"}] * 3) for _ in range(10)]
    work += [users.retry("alice", job.id) for job in failed]
    results = await asyncio.gather(*work, return_exceptions=True)
    assert all(isinstance(each, list | bool | LimitReached) for each in results), results
    [used] = connection.execute("select used from penstock.quota_use").fetchone() or [0]
    assert used <= 12
    live = connection.execute("select count(*) from penstock.jobs where kind = 'export'").fetchone()
    assert live == (used - 2,)


async def test_unfinished_jobs_are_limited(users: Users, connection: Connection) -> None:
    await users.limit(unfinished=3)
    results = await asyncio.gather(
        *(users.start("alice", "export", {"n": n}) for n in range(9)), return_exceptions=True
    )
    assert sum(isinstance(each, Enqueued) for each in results) == 3
    before = rows_of(connection)
    with pytest.raises(LimitReached):
        await users.batch("alice", {"kind": "export"}, {"kind": "export"})
    assert rows_of(connection) == before
    await users.start("alice", "free")
    await users.fail_all()
    await users.start("alice", "export")


async def test_running_jobs_are_limited(users: Users) -> None:
    await users.limit(running=1)
    await users.start("alice", "export")
    lease = await users.engine.arun(commands.OpenLease("worker"))
    [running] = await users.engine.arun(commands.Claim(lease, "exports", 1))
    with pytest.raises(LimitReached, match="running") as refused:
        await users.start("alice", "export")
    assert told_by(refused.value) == ("running", 1, 1)
    assert refused.value.retry_in == 5
    await users.engine.arun(saying.complete(lease, [running]))
    await users.start("alice", "export")


async def test_storage_is_limited(users: Users, connection: Connection) -> None:
    await users.limit(storage=10)
    job = await users.start("alice", "export")
    connection.execute(
        """insert into penstock.artifacts
             (id, job, created_at, size, state, owner, kind, name, path, content_type, digest)
           values (penstock.uuid7(), %s, now(), 10, 'stored', 'alice', 'export', 'n', 'p', 'text/plain', 'd')""",
        [job.id],
    )
    before = rows_of(connection)
    with pytest.raises(StorageFull) as full:
        await users.start("alice", "export", {"n": 1})
    assert (full.value.used, full.value.limit) == (10, 10)
    assert rows_of(connection) == before
    await users.start("bob", "export")


async def test_retrying_a_batch_counts_each_job_that_comes_back(users: Users, connection: Connection) -> None:
    await users.limit(per_day=5)
    batch, *_ = await users.batch("alice", *[{"kind": "export"}] * 3)
    await users.fail_all()
    before = rows_of(connection)
    with pytest.raises(LimitReached):
        await users.retry("alice", batch.id)
    assert rows_of(connection) == before
    await users.limit(per_day=6)
    assert await users.retry("alice", batch.id)
    await users.fail_all()
    with pytest.raises(LimitReached):
        await users.retry("alice", batch.id)


async def test_a_flow_counts_while_it_is_unfinished_and_when_it_is_retried(users: Users) -> None:
    await users.limit(unfinished=2, per_day=3)

    async def start_flow() -> UUID:
        flow = Flow(then=NewJob(kind="internal"))
        flow.add(NewJob(kind="internal"))
        jobs = [NewJob(**{**_fields(job), "owner": "alice"}) for job in flow.jobs()]
        return (await users.engine.arun(commands.StartFor("alice", "q", jobs)))[0].id

    first = await start_flow()
    await start_flow()
    with pytest.raises(LimitReached, match="unfinished") as refused:
        await start_flow()
    assert told_by(refused.value) == ("unfinished", 2, 2)
    assert await users.run("alice", commands.CancelMine(first))
    assert await users.retry("alice", first)
    assert await users.run("alice", commands.CancelMine(first))
    with pytest.raises(LimitReached, match="per_day") as refused:
        await users.retry("alice", first)
    assert told_by(refused.value) == ("per_day", 3, 3)
    assert 0 < refused.value.retry_in <= 24 * 3600


def told_by(error: LimitReached) -> tuple[str | None, int | None, int | None]:
    return error.which, error.used, error.limit


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
@pytest.mark.parametrize(("per_day", "told"), [(0, ["probe"]), (1, ["wake", "probe"])])
async def test_a_refused_start_tells_no_worker(
    users: Users, connection: Connection, per_day: int, told: list[str]
) -> None:
    await users.limit(per_day=per_day)
    lease = await users.engine.arun(commands.OpenLease("worker"))
    sorts = listen(connection, "wake", "hand") | {"probe": "probe"}
    connection.execute("listen probe")
    connection.execute("select penstock.wait_for_work(%s, '{exports}')", [lease])
    with suppress(LimitReached):
        await users.start("alice", "export", idempotency_key="k")
    connection.execute("notify probe")
    assert [sorts[each.channel] for each in connection.notifies(timeout=10, stop_after=len(told))] == told


def _fields(job: NewJob) -> dict[str, Any]:
    return {name: getattr(job, name) for name in NewJob.__slots__}

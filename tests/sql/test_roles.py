"""Migrated and used by logins that may do little: with the right to make roles or without, as on Supabase, as a worker.

Roles belong to a whole server, so these tests have one of their own.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from msgspec import Raw
from psycopg.conninfo import make_conninfo

from penstock import Penstock, embedded
from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.migrate import Migrated, migrate
from penstock.engine.postgres.statement import Statement, first
from penstock.errors import RolesMissing
from penstock.job import JobState, NewJob
from tests.kit import saying
from tests.sql.neighbours import claims_of

ROLES = ("anon", "authenticated", "service_role")


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded.start(tmp_path_factory.mktemp("roles"), settings={"fsync": "off"}) as postgres:
        yield postgres.url


@dataclass
class Cluster:
    """A server with no roles but its superuser's and those that the test makes."""

    url: str
    admin: psycopg.Connection[Any]
    databases: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    def login(self, attributes: str = "", name: str = "app") -> str:
        self.admin.execute(f"create role {name} login password 'secret' {attributes}".encode())
        self.logins.append(name)
        return name

    def database(self, owner: str) -> str:
        """Its address for that login."""
        name = f"of_{uuid4().hex}"
        self.admin.execute(f"create database {name} owner {owner}".encode())
        self.databases.append(name)
        return self.address(owner, name)

    def address(self, login: str, database: str | None = None) -> str:
        return make_conninfo(self.url, user=login, password="secret", dbname=database or self.databases[-1])

    def as_admin(self) -> str:
        return make_conninfo(self.url, dbname=self.databases[-1])

    def clear(self) -> None:
        """Takes everything away but the logins."""
        while self.databases:
            self.admin.execute(f"drop database {self.databases.pop()} with (force)".encode())
        for name in ROLES:
            self.admin.execute(f"drop role if exists {name}".encode())

    def end(self) -> None:
        self.clear()
        for name in self.logins:
            self.admin.execute(f"drop role {name}".encode())


@pytest.fixture
def cluster(own_server: str) -> Iterator[Cluster]:
    with psycopg.connect(own_server, autocommit=True) as admin:
        cluster = Cluster(own_server, admin)
        yield cluster
        cluster.end()


async def start_as_a_user(url: str) -> None:
    """A user starts a job through this login, sees it, and nobody else does."""
    engine = PostgresEngine(lambda: url)
    try:
        await engine.arun(commands.DeclareKinds([{"kind": "export", "template": {}}], ["export"]))
        started = await engine.arun_as("authenticated", claims_of("alice"), commands.Start("export", Raw(b"{}")))
        seen = await engine.arun_as("authenticated", claims_of("alice"), commands.SeeMyJob(started.id))
        assert seen is not None
        assert await engine.arun_as("authenticated", claims_of("bob"), commands.SeeMyJob(started.id)) is None
        assert await engine.arun_as("authenticated", claims_of("bob"), commands.CancelMine(started.id)) is None
        assert await engine.arun_as("authenticated", claims_of("alice"), commands.CancelMine(started.id))
    finally:
        await engine.aclose()


async def work(url: str) -> None:
    """A worker's life in short: enqueue, claim, complete, fail, flows, bulk, maintenance."""
    engine = PostgresEngine(lambda: url)
    try:
        await engine.aenqueue([NewJob(kind="one", idempotency_key="k", unique_key="u", owner="alice")])
        await engine.aenqueue([NewJob(kind="many", args=b'{"n": 1}') for _ in range(50)])
        lease = await engine.arun(commands.OpenLease("worker"))
        await engine.arun(commands.ExtendLease(lease))
        jobs = await engine.arun(commands.Claim(lease, "default", 100))
        assert len(jobs) == 51
        await engine.arun(saying.fail(lease, jobs[:1], [{"error": "no", "final": True}]))
        assert not await engine.arun(saying.complete(lease, jobs[1:], [b"1"] * 50))
        [back] = await engine.arun(commands.Retry([jobs[0].id]))
        assert await engine.arun(commands.Cancel([back]))
        seen = await engine.arun(commands.SeeJob(back))
        assert seen is not None
        assert seen.state is JobState.CANCELLED
        assert len(await engine.arun(commands.SeeJobs({"kind": ["one", "many"]}, None, 100))) >= 51
        await engine.arun(commands.CloseLease(lease))
    finally:
        await engine.aclose()


async def test_a_login_that_may_create_roles_creates_them_and_acts_as_them(cluster: Cluster) -> None:
    url = cluster.database(cluster.login("createrole"))
    assert migrate(url).notices == ("created roles anon, authenticated, service_role, which cannot log in",)
    await start_as_a_user(url)
    await work(url)
    assert migrate(url) == Migrated(applied=(), functions_replaced=False)
    roles = cluster.admin.execute(
        """select rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole
             from pg_roles where rolname = any(%s) order by 1""",
        [list(ROLES)],
    ).fetchall()
    assert roles == [(name, False, False, False, False) for name in ROLES]


async def test_without_the_right_to_create_roles_everything_works_but_requests_of_users(cluster: Cluster) -> None:
    url = cluster.database(cluster.login())
    notices = migrate(url, with_=["supabase"]).notices
    assert [each.partition(":")[0] for each in notices] == [
        f"role {role} is missing and app may not create it" for role in ROLES
    ]
    await work(url)
    with pytest.raises(RolesMissing, match='role "authenticated" does not exist') as told:
        await start_as_a_user(url)
    async with Penstock(url) as app:
        with pytest.raises(RolesMissing, match='role "anon" does not exist'):
            async with app.database.acting_as("anon", "{}"):
                pass
    assert "create role" in str(told.value)
    assert "secret" not in str(told.value)


async def test_roles_that_come_later_are_granted_what_they_need_by_the_next_migration(cluster: Cluster) -> None:
    url = cluster.database(cluster.login())
    migrate(url)
    for role in ROLES:
        cluster.admin.execute(f"create role {role} nologin noinherit".encode())
    with pytest.raises(RolesMissing, match="permission denied to set role") as told:
        await start_as_a_user(url)
    assert "grant anon, authenticated, service_role to" in str(told.value)
    cluster.admin.execute("grant anon, authenticated, service_role to app")
    assert migrate(url).changed
    await start_as_a_user(url)
    assert not migrate(url).changed


async def test_supabase_s_own_roles_are_used_as_they_are(cluster: Cluster) -> None:
    url = cluster.database(cluster.login("createrole createdb", "postgres"))
    cluster.admin.execute(
        """create role anon nologin noinherit; create role authenticated nologin noinherit;
           create role service_role nologin noinherit bypassrls;
           grant anon, authenticated, service_role to postgres"""
    )
    with psycopg.connect(cluster.as_admin(), autocommit=True) as theirs:
        theirs.execute("create schema auth; create function auth.uid() returns uuid language sql return null::uuid")
    migrate(url, with_=["supabase"])
    await start_as_a_user(url)
    await work(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set role service_role")
        assert connection.execute("select count(*) from penstock.jobs, penstock.kinds").fetchone() == (0,)
        connection.execute("select penstock.enqueue('export')")
        assert connection.execute("select count(*) from penstock.jobs").fetchone() == (1,)
        connection.execute("insert into public.jobs (type) values ('reading')")
        assert connection.execute("select status from public.jobs where type = 'reading'").fetchone() == ("queued",)
        connection.execute("select * from public.claim_tasks('w')")
        connection.execute("set role anon")
        for table in ("penstock.jobs", "public.jobs", "public.job_tasks"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"select id from {table}".encode())


@pytest.mark.parametrize("bypass", ["", "bypassrls"], ids=["ours", "as Supabase's"])
async def test_a_worker_needs_no_more_than_to_be_a_member_of_service_role(cluster: Cluster, bypass: str) -> None:
    url = cluster.database(cluster.login())
    for role in ROLES:
        cluster.admin.execute(
            f"create role {role} nologin noinherit {bypass if role == 'service_role' else ''}".encode()
        )
    cluster.admin.execute("grant anon, authenticated, service_role to app")
    migrate(url)
    worker = cluster.address(cluster.login("in role service_role inherit", "worker"))
    await work(worker)
    engine = PostgresEngine(lambda: worker)
    partitions = Statement("select count(*) from pg_inherits where inhparent = 'penstock.history'::regclass", [], first)
    with psycopg.connect(cluster.as_admin(), autocommit=True) as admin:
        admin.execute("update penstock.settings set partitions_ahead = 9, history_kept = '1 second'")
        admin.execute("alter role worker set penstock_clock.now = '2031-01-01'")
    before = await engine.arun(partitions)
    reports = [await engine.arun(Statement("select penstock.maintain()", [], first)) for _ in range(before)]
    told = [(each["partitions_added"], each["partitions_dropped"]) for each in reports]
    assert told == [(10, 1), *[(0, 1)] * (before - 2), (0, 0)]
    # what fell out of the partitions that were dropped went with them; new ones are closed to users like the others
    with psycopg.connect(worker, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("drop table penstock.jobs")
    await work(worker)
    await engine.aclose()


def test_databases_of_one_server_may_be_migrated_at_the_same_time(cluster: Cluster) -> None:
    login = cluster.login("createrole")
    for _ in range(3):
        cluster.clear()
        urls = [cluster.database(login) for _ in range(3)] * 2
        together = Barrier(len(urls))

        def migrate_with_the_others(url: str, together: Barrier = together) -> bool:
            together.wait()
            return migrate(url).changed

        with ThreadPoolExecutor(len(urls)) as threads:
            assert sorted(threads.map(migrate_with_the_others, urls)) == [False] * 3 + [True] * 3
        for url in set(urls):
            asyncio.run(start_as_a_user(url))

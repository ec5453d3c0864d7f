"""Two users who have nothing in common: Bob, who has something in every table, and Alice, who would like to see it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import errors, sql

from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.job import ClaimedJob, Lease, NewJob
from tests.kit import saying

ALICE, BOB = "alice", "bob"
_FOUND = {"child": "jobs where parent is not null", "artifact": "artifacts where state = 'stored'"}
Connection = psycopg.Connection[Any]
Refusals = type[psycopg.Error] | tuple[type[psycopg.Error], ...]

_RELATIONS = """
select c.relname, c.relkind::text, c.relispartition
  from pg_class as c
 where c.relnamespace = 'penstock'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
 order by c.relname
"""

# What no call of the engine writes for a user by itself.
_THE_REST: LiteralString = """
insert into penstock.artifacts
  (id, job, created_at, stored_at, size, state, owner, org, kind, name, path, content_type, digest)
select penstock.uuid7(), id, now(), now(), 1, state, 'bob', 'bobs', 'export', 'bobs.pdf', 'bob/' || state, 'a/b', 'd'
  from (select id from penstock.history where owner = 'bob' limit 1) as job,
       unnest('{writing,stored,removing}'::text[]) as state;
insert into penstock.steps (job, name, output, done_at)
select id, 'bobs step', '"of bob"', now() from penstock.jobs where owner = 'bob' and state = 'running';
insert into penstock.waits (job, step, event, key, since)
select id, 'bobs wait', 'bobs', 'bob', now() from penstock.jobs where owner = 'bob' and state = 'running';
select penstock.emit('of bob', 'bob', '"of bob"');
insert into penstock.usage values (current_date, 'bobs', 'export', 1, 1, 1, 1);
insert into penstock.usage_log values (current_date, 'bobs', 'export', 1, 1, 1, 1);
insert into penstock.history_strays
select (jsonb_populate_record(h, jsonb_build_object('id', '00000000-0000-7' || substr(h.id::text, 16)))).*
  from penstock.history as h where owner = 'bob';
insert into penstock.payloads_strays
select (jsonb_populate_record(p, jsonb_build_object('id', '00000000-0000-7' || substr(p.id::text, 16)))).*
  from penstock.payloads as p;
insert into penstock.errors_strays
select (jsonb_populate_record(e, jsonb_build_object('id', '00000000-0000-7' || substr(e.id::text, 16)))).*
  from penstock.errors as e;
insert into penstock.waiting (queue, lease, backend) values ('bobs', 1, 1);
insert into penstock.lost_jobs (job, at) select id, now() from penstock.history where owner = 'bob' limit 1;
insert into penstock.starts values ('bobs', 'bob', now(), 1);
insert into penstock.turns values ('bobs', 'bob', 1);
select penstock.raise_horizon(), penstock.raise_floor('bobs'), penstock.raise_time_floor();
insert into penstock.operations (id, created_at, total, total_is_exact, state, action, who, filter, options)
values (penstock.uuid7(), now(), 1, true, 'done', 'retry', 'bob', '{}', '{}');
insert into penstock.depths (at, queue, ready, running) values (now(), 'bobs', 1, 1);
insert into penstock.failures (hour, id, last_at, attempts, jobs, kind, queue, message)
values (now(), penstock.uuid7(), now(), 1, 1, 'export', 'bobs', 'of bob');
insert into penstock.reports (at, runs, errors) values (now(), '["of bob"]', '[]');
insert into penstock.statistics
  (seconds, at, queue, kind, succeeded, failed, retried, cancelled, waited, ran, waited_seconds, ran_seconds)
values (60, now(), 'bobs', 'export', 1, 1, 1, 1, '{}', '{}', 1, 1);
insert into penstock.usage_sums values (current_date, 'org', 'bobs', 1, 1, 1, 1);
insert into penstock.vitals (lease, number, memory) select id, 1, 1 from penstock.leases limit 1;
insert into penstock.audit (at, who, action) values (now(), 'bob', 'retry');
insert into penstock.queues (name) values ('bobs');
insert into penstock.declared_queues (queue, settings) values ('bobs', '{"of": "bob"}');
insert into penstock.application_migrations (application, number, name) values ('bobs', 1, 'bobs');
insert into penstock.schedules (name, cron, tz, kind, args, catch_up, options, source, created_at)
values ('bobs', '* * * * *', 'utc', 'export', '{"of": "bob"}', 'one', '{"owner": "bob"}', 'database', now());
"""


@dataclass
class World:
    """Bob's ids by what they are of."""

    url: str
    bobs: dict[str, UUID] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """What must not reach Alice's eyes."""
        return [str(id) for id in self.bobs.values()] + ["bob"]


def claims_of(user: str, **more: object) -> str:
    return json.dumps({"sub": user, "role": "authenticated", "app_metadata": {"org_id": f"{user}s"}} | more)


def act_as(connection: Connection, role: str, claims: str | None) -> None:
    """From here on in this transaction, as a gateway does."""
    if claims is not None:
        connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])
    connection.execute("select set_config('role', %s, true)", [role])


@contextmanager
def acting(
    connection: Connection, role: str = "authenticated", claims: str | None = claims_of(ALICE)
) -> Iterator[Connection]:
    """One transaction of a user, undone in the end."""
    with connection.transaction(force_rollback=True):
        act_as(connection, role, claims)
        yield connection


def assert_refused(
    connection: Connection, statement: sql.Composed | str, refusals: Refusals = errors.InsufficientPrivilege
) -> None:
    try:
        with connection.transaction():
            connection.execute(statement.encode() if isinstance(statement, str) else statement)
    except refusals:
        return
    raise AssertionError(f"this was not refused: {statement}")


def relations(connection: Connection) -> list[tuple[str, str, bool]]:
    """Name, kind and whether it is a partition, of every table and view."""
    return connection.execute(_RELATIONS).fetchall()


def rows_of(connection: Connection) -> dict[str, int]:
    """Every row of every table as text, and how often it is there."""
    parts = [
        sql.SQL("select {} || ' ' || to_jsonb(t)::text from only penstock.{} as t").format(name, sql.Identifier(name))
        for name, kind, _ in relations(connection)
        if kind == "r"
    ]
    found: dict[str, int] = {}
    for (row,) in connection.execute(sql.SQL(" union all ").join(parts)):
        found[row] = found.get(row, 0) + 1
    return found


def changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """What is not as it was, rows of Alice's own aside."""
    new = [f"+ {row}" for row in after if row not in before and f'"owner": "{ALICE}"' not in row]
    return new + [f"- {row}" for row in before if after.get(row, 0) < before[row]]


def settle_in(url: str) -> World:
    """Both move in: Bob with jobs in every state, a flow, artifacts, keys and usage."""
    world = World(url)
    engine = PostgresEngine(lambda: url)
    template = {"queue": "exports", "priority": 3, "max_attempts": 7}
    kinds: list[dict[str, Any]] = [
        {"kind": "export", "template": template, "quota": "daily"},
        {"kind": "once", "template": {}, "unique": True},
    ]
    engine.run(commands.DeclareKinds(kinds, ["export", "once", "internal"]))
    engine.run(commands.SetQuota("daily", {"per_day": 1000}))
    started = "select id from penstock.start({})"
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("succeeded", "failed", "cancelled", "retried", "running"):
            world.bobs[name] = _start(connection, started.format("'export', '{\"of\": \"bob\"}', 'bobs'"))
        lease = engine.run(commands.OpenLease("worker of bob"))
        claimed = {job.id: job for job in engine.run(commands.Claim(lease, "exports", 10))}
        _end(engine, lease, claimed, world)
        world.bobs["ready"] = _start(connection, started.format("'export', '{\"of\": \"bob\"}', null, 'bobs key'"))
        large = json.dumps({"of": "bob", "text": "of bob" * 200})
        world.bobs["large"] = _start(connection, started.format(f"'export', '{large}', 'bobs'"))
        world.bobs["unique"] = _start(connection, started.format("'once', '{}'"))
        jobs = """'[{"kind": "export", "args": {"of": "bob"}}, {"kind": "once"}]', 'bobs', 'bobs batch'"""
        world.bobs["batch"] = _start(connection, f"select id from penstock.start_batch({jobs})")
        after = NewJob(kind="internal", owner=BOB, after=(world.bobs["running"],))
        world.bobs["blocked"] = engine.run(commands.EnqueueJobs([after]))[0].id
        connection.execute(_THE_REST)
        for name, table in _FOUND.items():
            for (id,) in connection.execute(f"select id from penstock.{table} limit 1".encode()):
                world.bobs[name] = id
    engine.close()
    return world


def _start(connection: Connection, text: str) -> UUID:
    with connection.transaction():
        act_as(connection, "authenticated", claims_of(BOB))
        rows: Sequence[tuple[UUID]] = connection.execute(text.encode()).fetchall()
        connection.execute("reset role")
    return rows[0][0]


def _end(engine: PostgresEngine, lease: Lease, claimed: dict[UUID, ClaimedJob], world: World) -> None:
    bobs = world.bobs
    engine.run(saying.complete(lease, [claimed[bobs["succeeded"]]], [b'{"of": "bob"}']))
    secret = {"error": "password of bob", "type": "ValueError", "traceback": "File /srv/bob.py", "final": True}
    engine.run(saying.fail(lease, [claimed[bobs["failed"]], claimed[bobs["cancelled"]]], [secret, secret]))
    engine.run(saying.fail(lease, [claimed[bobs["retried"]]], [{**secret, "final": False}]))

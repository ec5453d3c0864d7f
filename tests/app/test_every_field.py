"""A job keeps every field, whichever way it is enqueued.

Fields are read from NewJob and columns from the catalogue: one that is added later, and forgotten somewhere, is missed
here.
"""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from uuid import UUID, uuid4

import msgspec
import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

import penstock
from penstock import Flow, NewJob, Penstock
from penstock.columns import COLUMNS, SHORT
from penstock.cron import Schedule, Source
from penstock.engine import commands
from penstock.engine.commands import CompleteAndEnqueue, Completed
from penstock.engine.http.wire import CompletionBody, bodies
from penstock.engine.postgres.enqueue import COPY_FROM
from penstock.job import DEFAULTS, Bulk, Lease, new_job_id
from penstock.server.work.complete import _new_job
from tests.app.test_own_async_transaction import CALLERS as ASYNC_CALLERS
from tests.app.test_own_transaction import CALLERS
from tests.kit import saying

Row = dict[str, Any]
Enqueue = Callable[[Penstock, Sequence[NewJob]], Sequence[UUID]]

FLOW = {"policy": "fail", "total": 1, "phases": [], "start": 0, "hollow": False, "succeeded": 0, "failed": 0}
FIELDS: dict[str, object] = {
    "kind": "paint",
    "args": b'{"to": "ada"}',
    "id": None,
    "queue": "mail",
    "priority": -7,
    "run_at": datetime(2100, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "delay": 3600.0,
    "max_attempts": 9,
    "max_snoozes": 4,
    "owner": "ada",
    "org": "analysts",
    "unique_key": "only",
    "limit_key": "one at a time",
    "idempotency_key": "again",
    "idempotency_ttl": 120.0,
    "fingerprint": "of a request",
    "after": None,
    "parent": None,
    "weight": 2.5,
    "phase": "drawing",
    "rollup": FLOW,
    "options": {"timeout": 9},
    "quota": "drawings",
}
"""A value of each that is not its default; None where it is made for each job."""

BESIDE = {"delay", "idempotency_key", "idempotency_ttl", "fingerprint", "after"}
"""Fields that are kept elsewhere than in a column of their name."""
FREE = [name for name in FIELDS if name not in ("id", "after", "parent", "rollup")]
"""Fields that mean something for a job by itself."""


def test_the_declared_columns_are_those_of_the_catalogue(url: str) -> None:
    """By name and type, in `jobs` and in `history`."""
    fields = {field.name for field in dataclasses.fields(NewJob)}
    assert set(FIELDS) == fields
    assert {column.name for column in COLUMNS if column.by == "caller"} == fields - BESIDE
    with psycopg.connect(url) as connection:
        of_jobs, of_history = (_columns(connection, table) for table in ("jobs", "history"))
    assert of_jobs == {column.name: column.type for column in COLUMNS}
    kept = {column.name: column.type for column in COLUMNS if column.kept}
    assert of_history == kept | {"finished_at": "timestamptz", "output": "jsonb"}


_NAMES_OF_TYPES = {
    "integer": "int", "timestamp with time zone": "timestamptz", "job_state": "state", "penstock.job_state": "state",
}  # fmt: skip


def _columns(connection: psycopg.Connection[Any], table: str) -> dict[str, str]:
    rows = connection.execute(
        """select attname, format_type(atttypid, null) from pg_attribute
            where attrelid = %s::regclass and attnum > 0 and not attisdropped""",
        [f"penstock.{table}"],
    ).fetchall()
    return {name: _NAMES_OF_TYPES.get(type, type) for name, type in rows}


def test_what_a_column_of_the_short_ways_says_by_default_is_what_its_field_does(url: str) -> None:
    """COPY and the single enqueue leave it to the table."""
    left = [column.name for column in SHORT if column.name not in ("id", "kind", "args", "run_at")]
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            """select attname, coalesce(pg_get_expr(adbin, adrelid), 'null')
                 from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
                where attrelid = 'penstock.jobs'::regclass and attname = any(%s)""",
            [left],
        ).fetchall()
        given = {name: connection.execute(f"select {default}").fetchall()[0][0] for name, default in rows}
    assert given == {name: DEFAULTS[name] for name in left}


def test_what_a_caller_set_moves_to_history_and_back(app: Penstock, url: str) -> None:
    """By completion, by failure, and by a retry after each of them."""
    kept = [column.name for column in COLUMNS if column.kept and column.by == "caller" and column.name != "run_at"]
    whole = {name: value for name, value in FIELDS.items() if name in kept and value is not None and name != "rollup"}
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connection:
        for end in ("complete", "fail"):
            job = NewJob(**{**whole, "unique_key": end, "parent": None})  # type: ignore[arg-type]
            app.engine.enqueue([job])
            before = {name: _row(connection, job.id)[name] for name in kept}
            lease = app.engine.run(commands.OpenLease("worker"))
            [claimed] = app.engine.run(commands.Claim(lease, job.queue))
            if end == "complete":
                app.engine.run(saying.complete(lease, [claimed]))
            else:
                app.engine.run(saying.fail(lease, [claimed], [{"error": "x", "final": True}]))
            [row] = connection.execute("select * from penstock.history where id = %s", [job.id]).fetchall()
            assert {name: row[name] for name in kept} == before, end
            if end == "fail":
                assert app.engine.run(commands.Retry([job.id])) == [job.id]
                assert {name: _row(connection, job.id)[name] for name in kept} == before
                back = _row(connection, job.id)
                assert {name: back[name] for name in _KEPT - _FRESH} == {name: row[name] for name in _KEPT - _FRESH}
    assert set(whole) | {"id", "parent", "rollup"} == set(kept)


_SQL = Path(penstock.__file__).parent / "sql"
_MOVE = re.compile(r"insert into penstock\.history \(([^)]*)\)")
_KEPT = {column.name for column in COLUMNS if column.kept}
_FRESH = {"run_at", "turn", "state", "attempt", "snoozes", "started_at", "lease", "progress"}
"""What a job that is retried begins anew with."""


def test_whatever_moves_jobs_to_history_names_every_kept_column() -> None:
    """Also in functions that no test here calls: SQL that forgets one would lose it in silence."""
    found = set()
    for file in [*(_SQL / "functions").rglob("*.sql"), *(_SQL / "adapters").rglob("*.sql")]:
        for names in _MOVE.findall(file.read_text("utf-8")):
            named = [name.strip() for name in names.split(",")]
            assert len(named) == len(set(named))
            assert set(named) == _KEPT | {"finished_at", "output"}, file
            found.add(file.name)
    assert found == {"complete.sql", "finish.sql"}


def test_what_a_caller_set_moves_to_another_engine(app: Penstock) -> None:
    """As it comes out of Postgres, and as it goes in again."""
    moved = [name for name in FREE if name not in BESIDE and name not in ("parent", "rollup")]
    job = NewJob(**{name: FIELDS[name] for name in moved})  # type: ignore[arg-type]
    app.engine.enqueue([job])
    mover = app.engine.mover()
    [held] = mover.hold(job.queue, 10)
    assert {name: getattr(held.job, name) for name in moved} == {name: getattr(job, name) for name in moved}
    assert held.job.id == job.id
    mover.let_go(job.queue, [job.id])
    mover.take_in(job.queue, [held])
    [again] = mover.hold(job.queue, 10)
    assert again.job == held.job


def _with(name: str, number: int = 0) -> NewJob:
    """A job that has this field, and what the field cannot do without."""
    value = FIELDS[name]
    given: Row = {"kind": "work", name: value}
    if name in ("unique_key", "idempotency_key"):
        given[name] = f"{value} {number}"
    if name == "quota":
        given["owner"] = "ada"
    if name in ("idempotency_ttl", "fingerprint"):
        given["idempotency_key"] = f"{name} {number}"
    return NewJob(**given)


def _one(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    return [app.engine.enqueue([job])[0].id for job in jobs]


def _alone(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    """As a handler enqueues one."""
    return [app.engine.enqueue(Bulk.of(job, [job.args]))[0].id for job in jobs]


def _alike(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    """As a handler enqueues many, where they may have a key in common."""
    if any(job.unique_key or job.idempotency_key for job in jobs):
        return _alone(app, jobs)
    return [each.id for each in app.engine.enqueue(Bulk.of(jobs[0], [jobs[0].args] * COPY_FROM))]


def _together(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    return [each.id for each in app.engine.enqueue(jobs)]


def _many(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    """Enough for COPY, others among them."""
    others = [NewJob(kind="work") for _ in range(COPY_FROM)]
    mixed = [job for pair in zip(jobs, others, strict=False) for job in pair] + others[len(jobs) :]
    enqueued = app.engine.enqueue(mixed)
    return [enqueued[2 * place].id for place in range(len(jobs))]


def _over_http(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    """As a worker's request says them, and the server reads them."""
    [body] = bodies(CompleteAndEnqueue(Lease(1), Completed(uuid4(), 1), jobs))
    read = msgspec.json.decode(body, type=CompletionBody).enqueue
    return _together(app, [_new_job(place, job, 1 << 20) for place, job in enumerate(read)])


def _in_flow(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    flow = Flow()
    for job in jobs:
        flow.add(job)
    return [each.id for each in app.engine.enqueue(flow.jobs())[1:]]


def _by_sql(app: Penstock, jobs: Sequence[NewJob]) -> Sequence[UUID]:
    with psycopg.connect(app.database.pools.url()) as connection:
        document = [job.to_json() for job in jobs]
        rows = connection.execute(
            "select id from penstock.enqueue_jobs(%s::jsonb)", [msgspec.json.encode(document).decode()]
        ).fetchall()
    return [id for (id,) in rows]


WAYS: dict[str, Enqueue] = {
    "one": _one, "alone": _alone, "alike": _alike, "together": _together, "many": _many, "over HTTP": _over_http,
    "in a flow": _in_flow, "SQL": _by_sql,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_each_field_by_each_way(app: Penstock, url: str, way: str) -> None:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        for name in FREE:
            jobs = [_with(name, number) for number in range(3)]
            if way == "in a flow" and name == "unique_key":
                continue  # refused there, by name
            for job, id in zip(jobs, WAYS[way](app, jobs), strict=False):
                _assert_kept(connection, name, job, id, in_flow=way == "in a flow")
            connection.execute("delete from penstock.jobs; delete from penstock.idempotency_keys")
            connection.commit()


@pytest.mark.parametrize("caller", CALLERS)
def test_each_field_on_a_connection_of_the_caller_s(app: Penstock, url: str, caller: str) -> None:
    with CALLERS[caller](url) as own, psycopg.connect(url, row_factory=dict_row) as connection:
        placed = {name: [_with(name, number) for number in range(COPY_FROM + 1)] for name in FREE}
        for jobs in placed.values():
            app.engine.enqueue(jobs[:1], connection=own.connection)
            app.engine.enqueue(jobs[1:], connection=own.connection)
            own.commit()
        for name, jobs in placed.items():
            for job in (jobs[0], jobs[-1]):
                _assert_kept(connection, name, job, job.id)


@pytest.mark.needs_session("a caller's driver that prepares statements is the caller's to set up for a pooler")
@pytest.mark.parametrize("caller", ASYNC_CALLERS)
async def test_each_field_on_an_async_connection_of_the_caller_s(app: Penstock, url: str, caller: str) -> None:
    async with ASYNC_CALLERS[caller](url) as own:
        placed = {name: [_with(name, number) for number in range(COPY_FROM + 1)] for name in FREE}
        for jobs in placed.values():
            await app.engine.aenqueue(jobs[:1], connection=own.connection)
            await app.engine.aenqueue(jobs[1:], connection=own.connection)
        await own.commit()
    with psycopg.connect(url, row_factory=dict_row) as connection:
        for name, jobs in placed.items():
            for job in (jobs[0], jobs[-1]):
                _assert_kept(connection, name, job, job.id)
    await app.engine.aclose()


_OF_ONE_JOB = {"run_at", "weight", "phase", "idempotency_key", "idempotency_ttl", "fingerprint"}
"""Fields that make no sense for the many jobs of a schedule."""


@pytest.mark.parametrize("source", get_args(Source))
def test_each_field_of_a_schedule_s_jobs(app: Penstock, url: str, source: Source) -> None:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        for name in sorted(set(FREE) - _OF_ONE_JOB):
            job = _with(name)
            schedule = Schedule.of(job, cron="0 3 * * *", tz="UTC", catch_up="one", name=name)
            app.engine.run(commands.SetSchedule.of(schedule, source, datetime.now(UTC)))
            id = app.engine.run(commands.RunSchedule(name))
            scheduled = dataclasses.replace(job, options={**(job.options or {}), "schedule": name})
            _assert_kept(connection, name, scheduled, id)


@pytest.mark.parametrize("count", [1, COPY_FROM])
def test_what_jobs_say_of_each_other(app: Penstock, url: str, count: int) -> None:
    """`id`, `after`, `parent` and `rollup`, whose jobs come together."""
    ids = sorted(new_job_id() for _ in range(2))
    flow = NewJob(kind="whole", id=ids[1], rollup=FLOW)
    parts = [NewJob(kind="part", id=ids[0] if n == 0 else new_job_id(), parent=flow.id) for n in range(count)]
    later = NewJob(kind="later", after=(flow.id, parts[0].id))
    app.engine.enqueue([flow, *parts, later])
    with psycopg.connect(url, row_factory=dict_row) as connection:
        assert _row(connection, flow.id)["rollup"] == FLOW
        assert {_row(connection, part.id)["parent"] for part in parts} == {flow.id}
        edges = connection.execute("select waits_for from penstock.edges where job = %s", [later.id]).fetchall()
        assert {edge["waits_for"] for edge in edges} == set(later.after)


def test_each_argument_of_the_sql_function(url: str) -> None:
    """penstock.enqueue(…) names fewer fields; what it names it keeps."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        [about] = connection.execute(
            "select proargnames as names from pg_proc where oid = 'penstock.enqueue'::regproc"
        ).fetchall()
        for name in about["names"]:
            job = _with(name) if name != "after" else NewJob(kind="work", after=(_first(connection),))
            given = {key: getattr(job, key) for key in {"kind", name}}
            shown = {key: _as_sql(value) for key, value in given.items()}
            text = ", ".join(f"{key} => %({key})s" for key in shown)
            [enqueued] = connection.execute(f"select penstock.enqueue({text}) as id".encode(), shown).fetchall()
            _assert_kept(connection, name, job, enqueued["id"])


def _as_sql(value: object) -> object:
    if isinstance(value, bytes):
        return Jsonb(msgspec.json.decode(value))
    if isinstance(value, tuple):
        return list(value)
    return Jsonb(value) if isinstance(value, dict) else value


def _first(connection: psycopg.Connection[Row]) -> UUID:
    [row] = connection.execute("select penstock.enqueue('first') as id").fetchall()
    id: UUID = row["id"]
    return id


def _row(connection: psycopg.Connection[Row], id: UUID) -> Row:
    [row] = connection.execute("select * from penstock.jobs where id = %s", [id]).fetchall()
    return row


def _assert_kept(
    connection: psycopg.Connection[Row], name: str, job: NewJob, id: UUID, *, in_flow: bool = False
) -> None:
    row = _row(connection, id)
    wanted = getattr(job, name)
    if name == "delay":
        assert (row["run_at"] - row["created_at"]).total_seconds() == wanted
    elif name in ("idempotency_key", "idempotency_ttl", "fingerprint"):
        [key] = connection.execute("select * from penstock.idempotency_keys where job = %s", [id]).fetchall()
        assert key["key"] == job.idempotency_key
        if name == "fingerprint":
            assert key["fingerprint"] == hashlib.sha256(b'"of a request"').digest()
        if name == "idempotency_ttl":
            assert (key["expires_at"] - row["created_at"]).total_seconds() == pytest.approx(wanted, abs=1)
    elif name == "after":
        edges = connection.execute("select waits_for from penstock.edges where job = %s", [id]).fetchall()
        assert tuple(edge["waits_for"] for edge in edges) == wanted
    else:
        assert row[name] == (msgspec.json.decode(wanted) if isinstance(wanted, bytes) else wanted), name
    for other in (
        set(FIELDS) - BESIDE - {name, "kind", "id", "args", "run_at", *({"parent", "weight"} if in_flow else ())}
    ):
        assert row[other] == getattr(job, other), f"{other}, where {name} is given"

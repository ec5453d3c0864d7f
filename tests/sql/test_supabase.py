"""The adapter `supabase`: names that Supabase projects use for a queue of their own, on our engine, by plain SQL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock.engine.postgres.migrate import migrate
from penstock.errors import PenstockError
from tests.run_document import blocks
from tests.sql.neighbours import acting, claims_of

pytestmark = pytest.mark.needs_session("search_path is an option of the session")

Connection = psycopg.Connection[Any]

GUIDE = Path(__file__).parent.parent.parent / "docs" / "guides" / "supabase.md"


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    migrate(url, with_=["supabase"])
    # a login that is called as the engine's schema would mean that one's tables
    with psycopg.connect(url, autocommit=True, options="-c search_path=public") as connection:
        yield connection


def value(connection: Connection, query: str, *values: object) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    assert row is not None
    return row[0]


def make(connection: Connection, *types: str) -> tuple[UUID, list[UUID]]:
    job = value(connection, "insert into jobs (user_id, type) values ('ada', 'reading') returning id")
    add = "insert into job_tasks (job_id, task_type, sequence) values (%s, %s, %s) returning id"
    return job, [value(connection, add, job, type, n) for n, type in enumerate(types)]


def claim(connection: Connection, worker: str, n: int = 1) -> list[UUID]:
    return [id for (id,) in connection.execute("select id from claim_tasks(%s, %s)", [worker, n]).fetchall()]


def test_a_failed_task_is_pending_at_once_until_its_attempts_are_spent(connection: Connection) -> None:
    job, [task] = make(connection, "text_generation")
    for attempt in (1, 2, 3):
        assert claim(connection, "w") == [task]
        assert value(connection, "select fail_task(%s, 'w', 'no')", task)
        told = connection.execute("select status, attempts, error, worker_id from job_tasks").fetchone()
        assert told == (("pending", attempt, "no", None) if attempt < 3 else ("failed", 3, "no", "w"))
    assert value(connection, "select status from jobs where id = %s", job) == "failed"
    assert claim(connection, "w") == []


@pytest.mark.parametrize("size", [2, 4_000])
def test_a_task_s_input_and_a_job_s_params_are_whole_whatever_their_size(connection: Connection, size: int) -> None:
    """Large ones are kept beside the job, by the same names before, while and after it runs."""
    params, given = ({"lines": [f"{word} line"] * size} for word in ("this", "that"))
    insert = "insert into jobs (user_id, type, params) values ('ada', 'reading', %s) returning id"
    job = value(connection, insert, Jsonb(params))
    add = "insert into job_tasks (job_id, task_type, input) values (%s, 'text_generation', %s) returning id"
    task = value(connection, add, job, Jsonb(given))

    def seen() -> list[Any]:
        return [value(connection, "select input from job_tasks"), value(connection, "select params from jobs")]

    assert seen() == [given, params]
    assert value(connection, "select input from claim_tasks('w', 1)") == given
    assert value(connection, "select fail_task(%s, 'w', 'no')", task)
    assert value(connection, "select input from claim_tasks('w', 1)") == given, "after another attempt"
    assert value(connection, "select complete_task(%s, 'w', %s)", task, Jsonb(given))
    assert value(connection, "select status from jobs") == "complete"
    assert seen() == [given, params]
    assert value(connection, "select output from job_tasks") == given


def test_a_queue_s_backoff_is_kept(connection: Connection) -> None:
    connection.execute("""insert into penstock.queues (name, backoff) values ('tasks', '{"base": 900, "jitter": 0}')""")
    _, [task] = make(connection, "x")
    claim(connection, "w")
    connection.execute("select fail_task(%s, 'w', 'no')", [task])
    assert claim(connection, "w") == []
    assert value(connection, "select run_at > now() + interval '14 minutes' from penstock.jobs where id = %s", task)
    # once it is due nobody else needs to say so
    connection.execute("update penstock.jobs set run_at = now() - interval '1 second' where id = %s", [task])
    assert claim(connection, "w") == [task]


def test_only_the_worker_that_has_a_task_is_heard(connection: Connection) -> None:
    _, [task] = make(connection, "x")
    claim(connection, "w1")
    for call in ("heartbeat_task(%s, 'w2')", "complete_task(%s, 'w2')", "fail_task(%s, 'w2', 'x')"):
        assert value(connection, f"select {call}", task) is False
    assert value(connection, "select heartbeat_task(%s, 'w1')", task) is True
    assert value(connection, "select complete_task(%s, 'w1')", task) is True
    assert value(connection, "select complete_task(%s, 'w1')", task) is False
    assert value(connection, "select count(*) from penstock.leases") == 0


def test_a_task_that_falls_silent_goes_back_and_its_worker_is_refused(connection: Connection) -> None:
    _, [one, other] = make(connection, "x", "x")
    assert claim(connection, "w1", 2) == [one, other]
    assert value(connection, "select min(expires_at) > now() + interval '4 minutes' from penstock.leases_now")
    assert value(connection, "select reclaim_stale_tasks()") == 0
    connection.execute("update penstock.heartbeats set expires_at = now() - interval '1 second'")
    # each by itself: what one says keeps nothing else
    assert value(connection, "select heartbeat_task(%s, 'w1')", other) is True
    assert value(connection, "select reclaim_stale_tasks()") == 1
    assert claim(connection, "w2", 2) == [one]
    assert value(connection, "select complete_task(%s, 'w1')", one) is False
    assert value(connection, "select complete_task(%s, 'w2')", one) is True
    assert value(connection, "select worker_id from job_tasks where id = %s", one) == "w2"


def test_a_cancelled_job_stops_its_tasks(connection: Connection) -> None:
    job, [one, other] = make(connection, "x", "x")
    assert claim(connection, "w") == [one]
    connection.execute("select penstock.cancel(array[%s]::uuid[])", [job])
    assert value(connection, "select heartbeat_task(%s, 'w')", one) is False
    assert value(connection, "select status from job_tasks where id = %s", other) == "cancelled"
    assert value(connection, "select fail_task(%s, 'w')", one) is True
    assert value(connection, "select status from jobs where id = %s", job) == "cancelled"
    empty, _ = make(connection)
    connection.execute("select penstock.cancel(array[%s]::uuid[])", [empty])
    assert value(connection, "select status from jobs where id = %s", empty) == "cancelled"


def test_phases_are_the_types_and_share_the_percentage(connection: Connection) -> None:
    _, tasks = make(connection, "text_generation", "pdf_generation", "text_generation", "audio_generation")
    seen = []
    for _ in tasks:
        [task] = claim(connection, "w")
        connection.execute("select complete_task(%s, 'w')", [task])
        progress = value(connection, "select progress from jobs")
        seen.append((progress["percent"], progress["phase"], progress["docsComplete"]))
    assert seen == [(25, "text", 1), (50, "text", 2), (75, "audio", 3), (100, "complete", 4)]


def test_a_job_that_ended_takes_no_more_tasks_and_can_be_retried(connection: Connection) -> None:
    job, [one, other] = make(connection, "x", "x")
    connection.execute("update penstock.jobs set max_attempts = 1 where id = %s", [other])
    claim(connection, "w", 2)
    connection.execute("select complete_task(%s, 'w'), fail_task(%s, 'w', 'no')", [one, other])
    assert connection.execute("select status, error from jobs").fetchone() == ("failed", "1 of 2 tasks failed")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r"job_id: .* takes tasks"):
        connection.execute("insert into job_tasks (job_id, task_type) values (%s, 'x')", [job])
    # the job goes on with its task
    connection.execute("select penstock.retry(array[%s]::uuid[])", [other])
    assert claim(connection, "w", 2) == [other]
    connection.execute("select complete_task(%s, 'w')", [other])
    assert connection.execute("select status, error from jobs").fetchone() == ("complete", None)


def test_what_people_ask_for_is_found_by_an_index(connection: Connection) -> None:
    job, _ = make(connection, "x")
    connection.execute("set role service_role; set enable_seqscan = off")

    def plan(query: str) -> str:
        return "\n".join(line for (line,) in connection.execute(f"explain {query}".encode()).fetchall())

    # how much there is to do, whatever was ever done
    assert "history" not in plan("select count(*) from job_tasks where status = 'pending'")
    assert "history" not in plan("select * from jobs where status = 'queued'")
    for query in (
        f"select * from job_tasks where job_id = '{job}'", f"select * from job_artifacts where job_id = '{job}'",
        f"select * from jobs where id = '{job}'", "select * from jobs where user_id = 'ada'",
    ):  # fmt: skip
        assert "Index" in plan(query)
        assert "Seq Scan" not in plan(query)


def test_policies_know_who_asks(connection: Connection) -> None:
    """Those of an application's own tables, by Supabase's functions."""
    user = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
    connection.execute(
        "create table notes (owner uuid, text text); alter table notes enable row level security; "
        "grant select on notes to authenticated, anon; "
        "create policy own on notes using (auth.uid() = owner or auth.jwt()->>'role' = 'service_role')"
    )
    connection.execute("insert into notes values (%s, 'mine'), (gen_random_uuid(), 'another''s')", [user])
    for subject, rows in ((user, 1), ("ada", 0)):
        with acting(connection, claims=claims_of(subject)):
            assert value(connection, "select count(*) from notes") == rows
            assert value(connection, "select auth.role()") == "authenticated"
    with acting(connection, "anon", "{}"):
        assert value(connection, "select count(*) from notes") == 0


def test_a_policy_that_looks_into_jobs_is_written_as_the_guide_has_it(connection: Connection) -> None:
    user, other = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f", "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e70"
    [policy] = [block.code for block in blocks(GUIDE) if "public.reviews" in block.code]
    connection.execute(policy.encode())
    connection.execute("grant select on public.reviews to authenticated")
    for owner in (user, other, "ada"):
        job = value(connection, "insert into jobs (user_id, type) values (%s, 'r') returning id", owner)
        connection.execute("insert into public.reviews values (%s, 5)", [job])
    for subject, rows in ((user, 1), (other, 1), ("ada", 0)):
        with acting(connection, claims=claims_of(subject)):
            assert value(connection, "select count(*) from public.reviews") == rows
            assert value(connection, "select count(*) from jobs where user_id = auth.uid()::text") == rows


def test_what_is_supabase_s_or_an_application_s_stays(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create schema auth; create function auth.uid() returns uuid language sql return null::uuid; "
            "comment on function auth.uid() is 'of Supabase'; create table public.jobs (id int)"
        )
        with pytest.raises(
            PenstockError, match=r"supabase: there is a public.jobs in this database already: rename it"
        ):
            migrate(url, with_=["supabase"])
        connection.execute("drop table public.jobs; create function public.fail_task() returns int return 1")
        with pytest.raises(PenstockError, match=r"supabase: there is a function public.fail_task"):
            migrate(url, with_=["supabase"])
        connection.execute("drop function public.fail_task()")
        migrate(url, with_=["supabase"])
        assert value(connection, "select obj_description('auth.uid()'::regprocedure)") == "of Supabase"
        migrate(url, without=["supabase"])
        assert value(connection, "select obj_description('auth.uid()'::regprocedure)") == "of Supabase"
        assert value(connection, "select to_regclass('public.jobs')") is None
        assert value(connection, "select to_regprocedure('auth.jwt()')") is None
        migrate(url, "My Jobs", with_=["supabase"])
        connection.execute("insert into public.jobs (type) values ('x')")
        assert value(connection, 'select count(*) from "My Jobs".jobs') == 1


def test_supabase_s_default_privileges_open_nothing(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "alter default privileges in schema public grant all on tables to anon, authenticated, service_role; "
            "alter default privileges in schema public grant all on functions to anon, authenticated, service_role"
        )
        migrate(url, with_=["supabase"])
        granted = connection.execute(
            "select grantee, table_name, string_agg(lower(privilege_type), ' ' order by privilege_type) "
            "from information_schema.role_table_grants where table_schema = 'public' "
            "and grantee in ('anon', 'authenticated', 'service_role') group by 1, 2"
        ).fetchall()
        everything = {("service_role", view, "insert select") for view in ("jobs", "job_tasks", "job_artifacts")}
        reading = {("authenticated", view, "select") for view in ("job_tasks", "job_artifacts")}
        assert set(granted) == everything | reading | {("authenticated", "jobs", "insert select")}
        callers = connection.execute(
            "select distinct r.rolname from pg_roles as r, pg_proc as p where p.pronamespace = 'public'::regnamespace "
            "and r.rolname in ('anon', 'authenticated', 'service_role') "
            "and has_function_privilege(r.oid, p.oid, 'execute')"
        ).fetchall()
        assert callers == [("service_role",)]

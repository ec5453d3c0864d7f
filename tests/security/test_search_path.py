"""Whoever may create in a schema that the engine's logins look into may make functions that fit better than Postgres's
own. None of them is ever called."""

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import penstock
from penstock import Penstock
from penstock.cli import doctor, doctor_database, doctor_vacuum
from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.migrate import migrate, migrate_on
from penstock.job import NewJob
from penstock.server.rest.catalog import FUNCTIONS
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.until import soon
from tests.kit.working import working
from tests.security.conftest import STRANGER, Connection
from tests.worker.test_handing import idle

QUALIFIED = {"enqueue_plain"}
"""Not pinned, because it is hot: it names the schema of every function whose arguments may fit another better."""

INSIDE = {
    "pick_ready", "pick_limited", "finish", "settle", "tell_it_runs", "try_lock", "lock", "lock_limits", "lock_flows",
    "advance_turn", "new_job", "enqueue_one",
}  # fmt: skip
"""Not pinned, because only functions that are call them."""

_FUNCTIONS = """
select p.proname, p.prosqlbody is not null,
       coalesce('search_path=pg_catalog, pg_temp' = any(p.proconfig), false), p.prosrc
  from pg_proc as p where p.pronamespace = 'penstock'::regnamespace
"""


def test_every_function_is_pinned_or_need_not_be(connect: Connect) -> None:
    functions = {row[0]: row[1:] for row in connect().execute(_FUNCTIONS).fetchall()}
    assert {name for name, (parsed, pinned, _) in functions.items() if not parsed and not pinned} == QUALIFIED | INSIDE
    statements = list(_statements())
    for name in INSIDE:
        called = re.compile(rf"penstock\.{name}\(")
        callers = {caller for caller, (_, _, source) in functions.items() if called.search(source)}
        assert callers, name
        assert all(functions[caller][1] or caller in INSIDE for caller in callers), (name, callers)
        assert not [text for _, text in statements if called.search(text)], f"{name} is called from Python"


def test_what_is_qualified_is_so_throughout(connect: Connect) -> None:
    owner = connect()
    for name, _, _, source in owner.execute(_FUNCTIONS).fetchall():
        if name in QUALIFIED:
            assert _unqualified(owner, re.sub(r"--.*", "", source)) <= GRAMMAR


GRAMMAR = {"extract"}
"""extract(… from …) means Postgres's own."""


PINNED = {
    "penstock/cli/doctor.py", "penstock/cli/doctor_database.py", "penstock/cli/doctor_vacuum.py",
    "penstock/server/rest/answers.py", "penstock/server/rest/queries.py",
}  # fmt: skip
"""Whose statements are asked in transactions that look into pg_catalog alone. The doctor's are tried below."""


def test_statements_from_python_call_nothing_that_another_could_fit_better(connect: Connect) -> None:
    owner = connect()
    of = set()
    for file, text in _statements():
        of.add(file)
        if file not in PINNED:
            assert _unqualified(owner, text) <= GRAMMAR, f"{file}: {text}"
            # text || anything: an operator for that very type fits better
            assert not re.search(r"('|%s) \|\| [\w.]+(?![\w.(:])", text), f"{file}: {text}"
    assert of > PINNED


def _statements() -> Iterator[tuple[str, str]]:
    """The SQL in Python."""
    root = Path(penstock.__file__).parent.parent
    for folder in ("penstock", "recipes/penstock_recipes"):
        for file in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                else:
                    continue
                if re.match(r"\s*\(?(select|with|insert|update|delete)\s", text) and re.search(r"\w[.(]", text):
                    yield str(file.relative_to(root)), text


def _unqualified(connection: Connection, text: str) -> set[str]:
    """The functions of Postgres's that a text calls without saying that they are."""
    named = set(re.findall(r"(?<![.\w])([a-z_]\w*)\(", re.sub(r"'[^']*'", "''", text)))
    rows = connection.execute(
        "select distinct proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace and proname = any(%s)",
        [sorted(named)],
    ).fetchall()
    return {name for (name,) in rows}


def test_functions_and_views_of_the_recipes_are_pinned() -> None:
    for file in Path(penstock.__file__).parent.parent.glob("recipes/penstock_recipes/*/migrations/*.sql"):
        text = file.read_text("utf-8")
        if "create schema" in text:
            assert text.index("set local search_path = pg_catalog, pg_temp;") < text.index("create schema"), file
        for made in re.findall(r"create (?:or replace )?function .*?\$\$", text, re.DOTALL):
            assert "\nset search_path = pg_catalog, pg_temp\n" in made, made


def test_so_are_functions_of_the_supabase_adapter(url: str, connect: Connect) -> None:
    functions = "select p.oid, p.proname from pg_proc as p where p.pronamespace <> 'pg_catalog'::regnamespace"
    before = dict(connect().execute(functions.encode()).fetchall())
    migrate(url, with_=["supabase"])
    added = {oid: name for oid, name in connect().execute(functions.encode()).fetchall() if oid not in before}
    assert set(added.values()) >= {*FUNCTIONS["public"], "insert_job", "task_claim"}
    loose = connect().execute(
        """
        select p.proname
          from pg_proc as p
         where p.oid = any(%s) and p.prosqlbody is null
           and not coalesce(p.proconfig @> '{"search_path=pg_catalog, pg_temp"}', false)
        """,
        [list(added)],
    )
    assert loose.fetchall() == []


_TRAPS = """
create function public.sprung() returns text language plpgsql as $$
begin
  if current_user <> 'penstock_stranger' then
    raise exception 'hijacked: % was here', current_user;
  end if;
  return 'never';
end
$$;
create function public.json_build_array(bigint, text, json) returns json language sql as 'select public.sprung()::json';
create function public.json_build_array(uuid, text, int, int, int, int, int, int, text, text, text, timestamptz, text,
  text) returns json language sql as 'select public.sprung()::json';
create function public.json_build_object(text, bigint, text, uuid) returns json language sql
  as 'select public.sprung()::json';
create function public.json_build_object(text, uuid, text, text) returns json language sql
  as 'select public.sprung()::json';
create function public.json_build_object(text, uuid, text, penstock.job_state) returns json language sql
  as 'select public.sprung()::json';
create function public.make_interval(secs int) returns interval language sql as 'select public.sprung()::interval';
create function public.make_interval(secs smallint) returns interval language sql as 'select public.sprung()::interval';
create function public.unnest(text[]) returns setof text language sql as 'select public.sprung()';
create function public.unnest(uuid[]) returns setof uuid language sql as 'select public.sprung()::uuid';
create function public.to_jsonb(uuid[]) returns jsonb language sql as 'select public.sprung()::jsonb';
create function public.cardinality(uuid[]) returns int language sql as 'select public.sprung()::int';
create function public.jsonb_build_array(jsonb) returns jsonb language sql as 'select public.sprung()::jsonb';
create function public.array_length(uuid[], int) returns int language sql as 'select public.sprung()::int';
create function public.less(numeric, int) returns numeric language sql as 'select public.sprung()::numeric';
-- of the very types, found where public comes before pg_catalog
create function public.set_config(text, text, boolean) returns text language sql as 'select public.sprung()';
create function public.pg_notify(text, text) returns void language sql as 'select public.sprung()';
create function public.pg_backend_pid() returns int language sql as 'select public.sprung()::int';
create function public.row_security_active(text) returns boolean language sql as 'select public.sprung()::boolean';
create function public.octet_length(text) returns int language sql as 'select public.sprung()::int';
create function public.now() returns timestamptz language sql as 'select public.sprung()::timestamptz';
create operator public./ (leftarg = numeric, rightarg = int, function = public.less);
create operator public.* (leftarg = numeric, rightarg = int, function = public.less);
"""


@pytest.fixture
def traps(connect: Connect, stranger: Connection) -> None:
    """As in databases from before Postgres 15, where anybody may create in public."""
    owner = connect()
    owner.execute(f"create schema if not exists public; grant usage, create on schema public to {STRANGER}".encode())
    # a type that a stranger may not even name
    owner.execute(f"grant usage on schema penstock to {STRANGER}".encode())
    stranger.execute(_TRAPS.encode())
    owner.execute(f"revoke usage on schema penstock from {STRANGER}".encode())


@pytest.mark.usefixtures("traps")
@pytest.mark.parametrize("path", ['"$user", public', "public, pg_catalog", "public"])
def test_better_fitting_overloads_are_not_called(url: str, path: str) -> None:
    options = f"-c search_path={path}".replace(" ", "\\ ").replace("-c\\ ", "-c ")
    engine = PostgresEngine(lambda: psycopg.conninfo.make_conninfo(url, options=options))
    assert engine.run(commands.SetQueue("default", {"rate": 1000, "rate_period": 1, "fair_by": "owner"})) is None
    lease = engine.run(commands.OpenLease("worker", seconds=30))
    engine.run(commands.WaitForWork(lease, ["default", "plain"]))
    flow = NewJob(kind="one", owner="ada")
    engine.enqueue([flow, NewJob(kind="two", after=(flow.id,), owner="bob", unique_key="k")])
    engine.enqueue([NewJob(kind="many", queue="plain") for _ in range(30)])
    engine.run(commands.Watch(flow.id))
    for queue in ("default", "plain"):
        while jobs := engine.run(commands.Claim(lease, queue, 10)):
            engine.run(saying.report_progress(lease, jobs, [{"percent": 1}] * len(jobs)))
            first, *others = jobs
            engine.run(saying.complete(lease, others, [b"1"] * len(others)))
            engine.run(saying.fail(lease, [first], [{"error": "no", "final": True}]))
    engine.run(commands.ListJobs({"state": ["failed"]}, None, 10))
    engine.run(commands.Retry([flow.id], None))
    engine.run(commands.Cancel([flow.id], "enough"))
    assert engine.run(commands.Maintain()) is not None
    engine.run(commands.QueueStats())
    engine.run(commands.CloseLease(lease))
    engine.close()


@pytest.mark.usefixtures("traps")
async def test_a_job_that_is_handed_over_is_told_by_our_own_words(app: Penstock, connect: Connect) -> None:
    """The call that made a stranger superuser: enqueue, with a worker waiting."""
    done = asyncio.Event()

    @app.job
    async def work(number: int) -> None:
        done.set()

    async with working(app):
        await idle(connect)
        await work.aenqueue(1)
        await soon(done.wait())


@pytest.mark.usefixtures("traps")
def test_the_doctor_asks_nobody_else(url: str, connect: Connect) -> None:
    """Who is often a superuser, and has another's open transaction before it."""
    with connect().transaction() as open_one, Penstock(url) as app:
        open_one.connection.execute("select pg_catalog.pg_current_xact_id()")
        connection = doctor_database.connect(app)
        with connection, pytest.raises(psycopg.errors.RaiseException, match="hijacked"):
            doctor_vacuum.look(app, connection).__next__()
        assert {each.level for each in doctor.look(app)} == {"ok", "warning"}


@pytest.mark.usefixtures("traps")
def test_migrations_are_not_led_astray(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("set search_path = public, pg_catalog")
        migrate_on(connection, "another")
        assert connection.execute("show search_path").fetchone() == ("public, pg_catalog",)

"""Two tenants who ask for the same get a job each, whichever way they ask; and one of them, asking twice, gets one."""

from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from penstock import Flow, Penstock, dedupe_key
from penstock.job import NewJob
from tests.kit.fixtures import Connect
from tests.security.conftest import Connection
from tests.server.api import Api
from tests.sql.neighbours import act_as, claims_of
from tests.values.json_values import json_values, texts

OWNERS, ORGS = ("alice", "bob"), ("alices", "bobs")


def give_kinds(app: Penstock) -> None:
    @app.job(users=True, unique=True, kind="by arguments")
    async def by_arguments(n: float) -> None: ...

    @app.job(users=True, unique="only one", kind="by key")
    async def by_key(n: float) -> None: ...

    @app.job
    async def part() -> None: ...

    @app.flow(users=True, kind="flow")
    def flow(n: float) -> Flow:
        made = Flow(then=by_arguments.prepare(n))
        made.add(part.prepare())
        return made

    @app.flow(users=True, kind="keyed flow")
    def keyed(n: float) -> Flow:
        made = Flow(then=by_key.prepare(n))
        made.add(part.prepare())
        return made


KINDS = ("by arguments", "by key", "flow", "keyed flow")


async def test_users_and_the_service_on_their_behalf(app: Penstock, api: Api, connect: Connect) -> None:
    give_kinds(app)
    jobs: dict[tuple[str, str], str] = {}
    for kind, (owner, org) in product(("by arguments", "by key"), zip(OWNERS, ORGS, strict=True)):
        user = api.user(owner, org=org)
        body: dict[str, Any] = {"kind": kind, "args": {"n": 1.5}, "org": org}
        first = await user.post("/api/jobs", body)
        assert first.status_code == 202, first.text
        again = await user.post("/api/jobs", body)
        behalf = await api.service.post("/api/jobs", body | {"owner": owner})
        connection = connect()
        with connection.transaction():
            act_as(connection, "authenticated", claims_of(owner))
            by_sql = connection.execute(
                "select id::text, created from penstock.start(%s, %s, %s)", [kind, Jsonb({"n": 1.50}), org]
            ).fetchall()
        ids = {answer.json()["id"] for answer in (first, again, behalf)} | {by_sql[0][0]}
        assert len(ids) == 1, kind
        assert (first.json()["created"], again.json()["created"], by_sql[0][1]) == (True, False, False)
        jobs[kind, owner] = ids.pop()
    assert len(set(jobs.values())) == len(jobs)
    # one user in two places, and for nobody in particular
    nowhere = await api.user("alice").post("/api/jobs", {"kind": "by key", "args": {"n": 1.5}})
    of_service = await api.service.post("/api/jobs", {"kind": "by key", "args": {"n": 1.5}, "org": "alices"})
    assert len({*jobs.values(), nowhere.json()["id"], of_service.json()["id"]}) == len(jobs) + 2


async def test_flows_whose_last_step_is_unique(app: Penstock, api: Api) -> None:
    give_kinds(app)
    ids = set()
    for kind, (owner, org) in product(("flow", "keyed flow"), zip(OWNERS, ORGS, strict=True)):
        body = {"kind": kind, "args": {"n": 2}, "org": org}
        first = await api.user(owner, org=org).post("/api/jobs", body)
        assert first.status_code == 202, first.text
        behalf = await api.service.post("/api/jobs", body | {"owner": owner})
        assert behalf.json()["id"] == first.json()["id"]
        assert not behalf.json()["created"]
        ids.add(first.json()["id"])
    assert len(ids) == 4
    keys = [(job.org, job.unique_key) for job in (await app.jobs.alist(kind="by arguments")).jobs]
    assert set(keys) == {(org, dedupe_key("by arguments", org, {"n": 2})) for org in ORGS}


def test_from_python_and_from_sql(url: str, connect: Connect) -> None:
    connection = connect()
    with Penstock(url) as app:
        give_kinds(app)
        for kind in ("by arguments", "by key"):
            ids = {}
            for owner, org in product((None, *OWNERS), (None, *ORGS)):
                handler = app.handler(kind).using(owner=owner, org=org)
                ids[owner, org] = handler.enqueue(3.0).id
                assert [each.id for each in handler.enqueue_many([{"n": 3}])] == [ids[owner, org]]
                key = "only one" if kind == "by key" else dedupe_key(kind, org, {"n": 3})
                by_sql = connection.execute(
                    "select penstock.enqueue(%s, '{\"n\": 3.00}', owner => %s, org => %s, unique_key => %s)",
                    [kind, owner, org, key],
                ).fetchall()
                assert by_sql == [(ids[owner, org],)]
            assert len(set(ids.values())) == 9
        # one call may carry a key for each tenant
        many = [NewJob(kind="other", unique_key="k", owner=owner, org=org) for owner in OWNERS for org in ORGS]
        assert all(each.created for each in app.engine.enqueue(many))


@pytest.fixture
def reader(connect: Connect) -> Connection:
    return connect()


arguments = st.dictionaries(texts, json_values, max_size=4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments, st.none() | texts)
@example({"b": 1, "aa": 2, "ä": 3, "z": 4, "\U0001f388": 5, "\ufb01": 6, "": 7}, None)
@example({"n": [1.0, -0.0, 1e-7, 5e-324, 1e20, 1.7e308, -1.5, 1e16, 123456789012345678, 10**25, 0.1]}, "acme")
@example({"t": 'quote " back \\ tab \t nl \n bell \x07 del \x7f sep \u2028 \u00e9', "empty": [{}, [], ""]}, "")
def test_the_key_is_the_same_text_in_sql(reader: Connection, args: dict[str, object], org: str | None) -> None:
    encoded = msgspec.json.encode(args)
    [(key,)] = reader.execute(
        "select penstock.dedupe_key('kind', %s, %s::text::jsonb)", [org, encoded.decode()]
    ).fetchall()
    assert key == dedupe_key("kind", org, args) == dedupe_key("kind", org, encoded)


def test_deep_arguments_have_a_key_too(connect: Connect) -> None:
    deep: object = 1
    for _ in range(490):
        deep = [deep]
    encoded = msgspec.json.encode({"deep": deep})
    [(key,)] = (
        connect().execute("select penstock.dedupe_key('kind', null, %s::text::jsonb)", [encoded.decode()]).fetchall()
    )
    assert key == dedupe_key("kind", None, encoded)

"""From the attacker's side: nothing of the database can be reached by /rest/v1 but what is meant to be."""

import base64
import json

import pytest

from penstock.server.auth import mint
from penstock.server.rest.catalog import FUNCTIONS, VIEWS
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api
from tests.server.rest.conftest import Rest
from tests.sql.neighbours import changed, rows_of

_UUID = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
_VALUES: dict[str, object] = {
    "uuid": _UUID, "text": "x", "integer": 1, "bigint": 1, "jsonb": {}, "text[]": ["tasks"], "jsonb[]": [{}],
}  # fmt: skip


@pytest.mark.parametrize("who", ["nobody", "user"])
async def test_users_call_no_function_of_workers(api: Api, connect: Connect, who: str) -> None:
    asking = api.nobody if who == "nobody" else api.user("alice")
    connection = connect()
    connection.execute("select pgmq.create('x'), pgmq.send('x', '{}')")
    before = rows_of(connection)
    for schema, functions in FUNCTIONS.items():
        for name, function in functions.items():
            body = {argument: _VALUES[type] for argument, type in function.arguments.items()}
            answer = await asking.post(f"/rest/v1/rpc/{name}", body, headers={"Content-Profile": schema})
            assert answer.status_code == (401 if who == "nobody" else 403), f"{name}: {answer.text}"
            assert answer.json()["code"] == "42501"
    assert not changed(before, rows_of(connection))


async def test_nobody_reads_or_writes_a_view(nobody: Rest) -> None:
    for name in VIEWS["public"]:
        for answer in (
            await nobody.ask.get(f"/rest/v1/{name}"),
            await nobody.ask.post(f"/rest/v1/{name}", {"job_id": _UUID} if name != "jobs" else {"type": "x"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (401, "42501"), name


FUNCTION_NAMES = """
pg_sleep pg_read_file version set_config current_setting query_to_xml lo_import dblink pg_terminate_backend
penstock.claim claim enqueue retry open_job add_task is_service claim_tasks(text) claim_tasks" public.claim_tasks
CLAIM_TASKS claim_tasks;select%201 %2e%2e%2fclaim claim_tasks%00 __proto__ 😀
"""
TABLE_NAMES = """
pg_class pg_shadow pg_authid kinds leases channels history penstock.jobs jobs_view jobs" jobs;drop%20view%20jobs JOBS
information_schema.tables jobs%20union%20select%201 %22jobs%22
"""


async def test_no_other_function_can_be_named(service: Rest) -> None:
    for name in FUNCTION_NAMES.split():
        for headers in ({}, {"Content-Profile": "public"}, {"Content-Profile": "pgmq_public"}):
            answer = await service.ask.post(f"/rest/v1/rpc/{name}", {}, headers=headers)
            assert answer.status_code == 404, f"{name}: {answer.text}"


async def test_no_other_table_can_be_named(service: Rest) -> None:
    for name in TABLE_NAMES.split():
        assert (await service.ask.get(f"/rest/v1/{name}")).status_code == 404, name
        assert (await service.ask.post(f"/rest/v1/{name}", {"id": 1})).status_code == 404, name


async def test_names_of_arguments_are_no_sql(service: Rest, connect: Connect) -> None:
    for argument in (
        'p_worker_id" text); drop view public.jobs; --', "p_worker_id => 'x') --", "p_WORKER_id", "%s", "%(x)s",
        "p_queues'", "$1", "\x00", "",
    ):  # fmt: skip
        answer = await service.ask.post("/rest/v1/rpc/claim_tasks", {"p_worker_id": "w", argument: "x"})
        assert (answer.status_code, answer.json()["code"]) == (404, "PGRST202"), answer.text
        inserted = await service.ask.post("/rest/v1/jobs", {"type": "x", argument: "x"})
        assert (inserted.status_code, inserted.json()["code"]) == (400, "PGRST204"), inserted.text
    assert connect().execute("select count(*) from public.jobs").fetchone() == (0,)


QUERIES = {
    "PGRST100": """select=id,(select%201) select=pg_sleep(5) select=id,job_tasks(*) select=id::text
      select=id"%20from%20pg_authid-- order=id;drop%20view%20jobs order=id.desc.nullsfirst.x order=(select%201)
      status=eq status=fts.x status=not.eq.x or=(id.eq.1) status=in.("x) limit=1;select%201 limit=-1 offset=1e9
      id"--=eq.1 %25s=eq.1 status=is.true%20or%201=1 on_conflict=id columns=id""",
    "42703": "select=password owner=eq.alice order=lease",
    "22P02": "id=eq.1'%20or%20'1'='1 id=in.(1)",
}


async def test_a_query_is_no_sql(service: Rest) -> None:
    for code, queries in QUERIES.items():
        for query in queries.split():
            answer = await service.ask.get(f"/rest/v1/jobs?{query}")
            assert (answer.status_code, answer.json()["code"]) == (400, code), f"{query}: {answer.text}"


async def test_values_are_no_sql(service: Rest, connect: Connect) -> None:
    evil = "x'); drop view public.jobs; -- %s $1 {0}"
    await service.ask.post("/rest/v1/jobs", {"type": evil, "params": {evil: evil}, "user_id": evil})
    found = await service.ask.get("/rest/v1/jobs", params={"type": f"eq.{evil}", "select": "type,user_id,params"})
    assert found.json() == [{"type": evil, "user_id": evil, "params": {evil: evil}}]
    assert await service.rpc("claim_tasks", p_worker_id=evil, p_task_types=[evil], p_queues=[evil]) == []


@pytest.mark.parametrize("way", ["authorization", "apikey"])
async def test_tokens_that_do_not_verify_are_refused(api: Api, way: str) -> None:
    header, claims = (
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode()
        for each in ({"alg": "none"}, {"role": "service_role", "exp": 9_999_999_999})
    )
    for token in (
        f"{header}.{claims}.x", mint("another secret that has 32 characters", role="service_role"), "sb_secret_x",
        "undefined", mint(SECRET, "alice")[:-4] + "AAAA", KEY + "x", KEY[:-1], mint(SECRET, "alice", seconds=-60),
    ):  # fmt: skip
        headers = {way: f"Bearer {token}" if way == "authorization" else token}
        answer = await api.nobody.post("/rest/v1/rpc/reclaim_stale_tasks", {}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "PGRST301"), token
        assert token not in answer.text


async def test_a_key_beside_a_token_gives_the_token_no_more_rights(api: Api) -> None:
    """A page sends its users' token with the key of the application."""
    for key in (KEY, mint(SECRET, role="anon")):
        answer = await api.user("alice").post("/rest/v1/rpc/reclaim_stale_tasks", {}, headers={"apikey": key})
        assert answer.status_code == 403


async def test_the_service_is_known_by_its_key_or_by_a_token(api: Api) -> None:
    minted = mint(SECRET, role="service_role")
    for headers in ({"apikey": KEY}, {"apikey": minted}, {"authorization": f"Bearer {minted}", "apikey": minted}):
        answer = await api.nobody.post("/rest/v1/rpc/reclaim_stale_tasks", {}, headers=headers)
        assert answer.status_code == 200, answer.text


async def test_what_another_role_was_is_gone_with_the_request(api: Api, service: Rest) -> None:
    """On one connection, which the pool hands out again."""
    for _ in range(5):
        assert (await service.ask.get("/rest/v1/job_tasks")).status_code == 200
        assert (await api.user("alice").post("/rest/v1/rpc/reclaim_stale_tasks", {})).status_code == 403
        assert (await api.nobody.get("/rest/v1/jobs")).status_code == 401

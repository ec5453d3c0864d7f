"""Calls of functions, as PostgREST takes and answers them."""

import pytest

from penstock.server.rest import routes
from tests.kit.fixtures import Connect
from tests.server.rest.conftest import Rest

REFUSED: list[tuple[str, object, int, str]] = [
    ("no_such_function", {}, 404, "PGRST202"),
    ("send", {"queue_name": "q"}, 404, "PGRST202"),  # of another schema
    ("claim_tasks", {}, 404, "PGRST202"),
    ("claim_tasks", {"p_worker_id": "w", "p_limit": 1}, 404, "PGRST202"),
    ("claim_tasks", {"p_worker_id": "w", "p_max_tasks": "many"}, 400, "22P02"),
    ("claim_tasks", {"p_worker_id": "w", "p_max_tasks": 101}, 400, "22023"),
    ("claim_tasks", {"p_worker_id": ""}, 400, "22023"),
    ("heartbeat_task", {"p_task_id": "no uuid", "p_worker_id": "w"}, 400, "22P02"),
    ("claim_tasks", [1], 400, "PGRST102"),
    ("claim_tasks", "text", 400, "PGRST102"),
]


async def test_what_does_not_fit_is_refused_in_postgrest_s_words(service: Rest) -> None:
    for name, body, status, code in REFUSED:
        answer = await service.ask.post(f"/rest/v1/rpc/{name}", body)
        told = answer.json()
        assert (answer.status_code, told["code"]) == (status, code), answer.text
        assert told.keys() == {"code", "message", "details", "hint"}
        assert told["message"]
        assert answer.headers["content-type"] == "application/json; charset=utf-8"


async def test_other_methods_schemas_and_parameters_are_refused(service: Rest) -> None:
    got = await service.ask.get("/rest/v1/rpc/reclaim_stale_tasks")
    assert (got.status_code, got.headers["allow"], got.json()["code"]) == (405, "POST", "25006")
    for schema in ("pg_catalog", "penstock", "auth", "information_schema", "pgmq", ""):
        answer = await service.ask.post("/rest/v1/rpc/version", {}, headers={"Content-Profile": schema})
        assert (answer.status_code, answer.json()["code"]) == (406, "PGRST106"), schema
    filtered = await service.ask.post("/rest/v1/rpc/claim_tasks?select=id", {"p_worker_id": "w"})
    assert (filtered.status_code, filtered.json()["code"]) == (400, "PGRST100")
    counting = {"Prefer": "count=exact"}
    counted = await service.ask.post("/rest/v1/rpc/claim_tasks", {"p_worker_id": "w"}, headers=counting)
    assert (counted.status_code, counted.json()["code"]) == (400, "PGRST100")


async def test_a_call_without_arguments_needs_no_body(service: Rest) -> None:
    answer = await service.ask.post("/rest/v1/rpc/reclaim_stale_tasks")
    assert (answer.status_code, answer.json()) == (200, 0)


async def test_a_statement_that_takes_too_long_is_cancelled(
    service: Rest, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await service.ask.post("/rest/v1/rpc/reclaim_stale_tasks")).status_code == 200
    monkeypatch.setattr(routes, "STATEMENT_TIMEOUT", 0.2)
    with connect() as held:
        held.execute("begin; lock table penstock.leases in access exclusive mode")
        answer = await service.ask.post("/rest/v1/rpc/claim_tasks", {"p_worker_id": "w"})
    assert (answer.status_code, answer.json()["code"]) == (500, "57014")
    assert (await service.ask.post("/rest/v1/rpc/reclaim_stale_tasks")).status_code == 200


async def test_a_body_may_not_be_large_or_of_countless_values(service: Rest) -> None:
    many = await service.ask.post("/rest/v1/rpc/complete_task", {"p_output": [[]] * 30_000})
    assert many.status_code == 413
    assert "values" in many.json()["message"]
    assert (await service.ask.post("/rest/v1/rpc/complete_task", {"p_output": "x" * 1_100_000})).status_code == 413

"""Somebody else's jobs over HTTP, by every route there is: what is not yours answers as what does not exist.

Routes are read from the OpenAPI document, so that what is added later is tried by itself.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from penstock import Penstock
from tests.server.api import Api, Asking
from tests.sql.neighbours import World, changed, rows_of, settle_in

PUBLIC = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/api/artifacts/{id}/file"),
    ("POST", "/api/callbacks/{token}"),  # the address is signed
}
FOR_USERS = {
    ("POST", "/api/jobs"),
    ("POST", "/api/jobs/batch"),
    ("GET", "/api/jobs"),
    ("GET", "/api/jobs/{id}"),
    ("DELETE", "/api/jobs/{id}"),
    ("POST", "/api/jobs/{id}/retry"),
    ("POST", "/api/jobs/{id}/approve"),
    ("GET", "/api/jobs/{id}/approval"),
    ("GET", "/api/jobs/{id}/download"),
    ("GET", "/api/jobs/{id}/stream"),
    ("GET", "/api/artifacts/{id}"),
    ("DELETE", "/api/artifacts/{id}"),
    ("GET", "/api/artifacts/{id}/download"),
    ("GET", "/api/kinds"),
    ("GET", "/api/usage"),
}
"""Every other route is the service's: to open one to users is a decision."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture
def world(url: str) -> World:
    return settle_in(url)


@pytest.fixture
def app(app: Penstock, world: World) -> Penstock:
    @app.job(users=True, queue="exports")
    def export(of: str = "") -> None: ...

    @app.job(users=True, unique=True)
    def once() -> None: ...

    @app.job
    def internal() -> None: ...

    return app


@pytest.fixture
def superuser(world: World) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(world.url, autocommit=True) as connection:
        yield connection


_DESCRIBED: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
"""The paths of a description by the routes of its server: to make one takes longer than to ask all of them."""


def operations(api: Api) -> list[tuple[str, str, dict[str, Any]]]:
    routes = tuple(str(getattr(route, "path", "")) for route in api.server.asgi.routes)
    if routes not in _DESCRIBED:
        _DESCRIBED[routes] = api.server.asgi.openapi()["paths"]
    paths = _DESCRIBED[routes]
    described = [(method.upper(), path, about) for path, methods in paths.items() for method, about in methods.items()]
    return described + [("HEAD", path, about) for method, path, about in described if method == "GET"]


def filled(path: str, id: object) -> str:
    return re.sub(r"{\w+}", str(id), path.replace("{lease}", "1"))


async def ask(asking: Asking, method: str, path: str, **options: Any) -> httpx.Response:
    """An answer in time: a stream that was opened to the wrong one would never end."""
    if method in ("POST", "PUT", "PATCH"):
        options = {"json": {}} | options
    async with asyncio.timeout(20):
        return await asking(method, path, **options)


def told(answer: httpx.Response) -> tuple[int, str, str | None]:
    """All that an answer says, ids aside."""
    text = answer.text if "zip" not in answer.headers.get("content-type", "") else "zip"
    return answer.status_code, _UUID.sub("<id>", text), answer.headers.get("content-type")


async def test_what_is_another_s_answers_as_what_does_not_exist(
    api: Api, world: World, superuser: psycopg.Connection[Any]
) -> None:
    alice = api.user("alice", org="alices")
    await alice.get("/api/kinds")
    before = rows_of(superuser)
    tried = 0
    for method, path, about in operations(api):
        if "{id}" not in path:
            continue
        variants = [{}, *({each["name"]: "true"} for each in about.get("parameters", ()) if each["in"] == "query")]
        for params in variants:
            nothing = told(await ask(alice, method, filled(path, uuid4()), params=params))
            for name, id in world.bobs.items():
                answer = await ask(alice, method, filled(path, id), params=params)
                assert told(answer) == nothing, f"{method} {path} of {name} with {params}"
                # 401 where a variant shows a token that is none
                assert answer.status_code in (401, 403, 404, 405, 422), f"{method} {path} of {name}"
                assert "bob" not in answer.text
                tried += 1
    assert tried > 100
    assert not changed(before, rows_of(superuser))


async def test_headers_do_not_tell_it_either(api: Api, world: World) -> None:
    alice = api.user("alice")
    for headers in (
        {"If-None-Match": "*"},
        {"Range": "bytes=0-"},
        {"Last-Event-ID": "1"},
        {"Idempotency-Key": "bobs key"},
    ):
        for method, path, _ in operations(api):
            if "{id}" in path:
                mine = await ask(alice, method, filled(path, uuid4()), headers=headers)
                bobs = await ask(alice, method, filled(path, world.bobs["succeeded"]), headers=headers)
                assert told(mine) == told(bobs), f"{method} {path} with {headers}"
                assert mine.headers.keys() == bobs.headers.keys()


async def test_queries_by_another_s_names_find_nothing(api: Api, world: World) -> None:
    alice = api.user("alice", org="alices")
    mine = await alice.start("export")
    for name, theirs, nobody_s in (
        ("parent", str(world.bobs["batch"]), str(uuid4())),
        ("org", "bobs", "nobs"),
        ("owner", "bob", "nob"),
    ):
        for path in ("/api/jobs", "/api/usage"):
            if path == "/api/usage" and name != "org":
                continue
            bobs, nobs = [await alice.get(path, params={name: value}) for value in (theirs, nobody_s)]
            assert told(bobs) == told(nobs), f"{path} by {name}"
    for cursor in (*world.bobs.values(), uuid4()):
        page = (await alice.get("/api/jobs", params={"cursor": str(cursor)})).json()
        assert {job["id"] for job in page["jobs"]} <= {mine}
    whole = await alice.get("/api/jobs", params={"limit": 200})
    assert [job["id"] for job in whole.json()["jobs"]] == [mine]
    assert (await alice.get("/api/usage")).json() == {"usage": []}


async def test_nobody_starts_for_another_or_with_their_keys(
    api: Api, world: World, superuser: psycopg.Connection[Any]
) -> None:
    alice = api.user("alice", org="alices")
    await alice.get("/api/kinds")
    before = rows_of(superuser)
    for extra in ({"owner": "bob"}, {"org": "bobs"}, {"owner": "bob", "org": "bobs"}):
        assert (await alice.post("/api/jobs", {"kind": "export", **extra})).status_code == 403
        assert (await alice.post("/api/jobs/batch", {"jobs": [{"kind": "export"}], **extra})).status_code == 403
    for more in (
        {"id": str(world.bobs["ready"])},
        {"parent": str(world.bobs["batch"])},
        {"priority": "1"},
    ):
        assert (await alice.post("/api/jobs", {"kind": "export", **more})).status_code == 422
    assert (await alice.post("/api/jobs", {"kind": "export", "queue": "q"})).status_code == 403
    for kind in ("internal", "batch", "nothing"):
        assert (await alice.post("/api/jobs", {"kind": kind})).status_code in (403, 422)
        assert (await alice.post("/api/jobs/batch", {"jobs": [{"kind": kind}]})).status_code in (403, 422)
    assert not changed(before, rows_of(superuser))
    for start in ({"kind": "once"}, {"kind": "export", "args": {"of": "bob"}}):
        answer = await alice.post("/api/jobs", start, headers={"Idempotency-Key": "bobs key"})
        if answer.status_code == 202:
            assert answer.json()["created"]
            assert answer.json()["id"] not in world.texts
    assert not changed(before, rows_of(superuser))


async def test_nobody_gets_in_without_a_token(api: Api, world: World, superuser: psycopg.Connection[Any]) -> None:
    await api.service.get("/api/kinds")
    before = rows_of(superuser)
    for method, path, about in operations(api):
        if method == "HEAD":
            continue
        for id in (world.bobs["succeeded"], world.bobs["artifact"], uuid4()):
            answer = await ask(api.nobody, method, filled(path, id))
            if (method, path) in PUBLIC:
                assert answer.status_code in (200, 403, 404, 422), f"{method} {path}"
                continue
            assert answer.status_code == 401, f"{method} {path}: {answer.text}"
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
            assert "401" in about["responses"], f"{method} {path}"
    assert not changed(before, rows_of(superuser))


async def test_what_is_the_service_s_is_closed_to_users(api: Api, superuser: psycopg.Connection[Any]) -> None:
    alice = api.user("alice")
    await alice.get("/api/kinds")
    before = rows_of(superuser)
    tried = 0
    for method, path, about in operations(api):
        if method != "HEAD" and (method, path) not in PUBLIC | FOR_USERS:
            answer = await ask(alice, method, filled(path, uuid4()))
            assert answer.status_code == 403, f"{method} {path}: {answer.text}"
            assert "403" in about["responses"], f"{method} {path}"
            tried += 1
    assert tried > 10
    assert not changed(before, rows_of(superuser))


async def test_no_route_is_missing_from_the_document(api: Api) -> None:
    """What is not described is not tried here."""
    described = {path for _, path, _ in operations(api)}

    def paths(routes: Iterable[Any]) -> Iterator[str]:
        for route in routes:
            included = getattr(route, "original_router", None)
            yield from paths(included.routes) if included else [route.path]

    known = set(paths(api.server.asgi.routes))
    assert len(known) > 20
    # a router's own paths may lack the prefix it is included under
    missing = {path for path in known if not any(each.endswith(path.replace(":path", "")) for each in described)}
    # tried by its own tests
    missing -= {route.path for route in api.server.dashboard.routes()} if api.server.dashboard else set()
    # Supabase's, tried by tests/server/rest
    missing -= {"/rest/v1/{name}", "/rest/v1/rpc/{name}", "/storage/v1/object/sign/{bucket}/{path:path}"}
    missing -= {
        "/storage/v1/object/job-artifacts/{path:path}",
        "/storage/v1/object/upload/sign/job-artifacts/{path:path}",
    }
    # what anybody may see: the description, the module for pages, and which pages there are
    public = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/api/pages"}
    assert {path for path in missing if not path.startswith("/penstock")} <= public


async def test_an_organisation_sees_what_is_shared_with_it_and_nothing_else(api: Api, world: World) -> None:
    carol, shared = (
        api.user("carol", org="bobs"),
        ("succeeded", "failed", "cancelled", "retried", "running", "large", "batch", "child"),
    )
    for name, id in world.bobs.items():
        if name == "artifact":
            assert (await carol.get(f"/api/artifacts/{id}")).status_code == 200
            continue
        answer = await carol.get(f"/api/jobs/{id}")
        assert answer.status_code == (200 if name in shared else 404), name
        assert "password" not in answer.text
        assert "/srv" not in answer.text
    listed = (await carol.get("/api/jobs", params={"org": "bobs", "limit": 200})).json()["jobs"]
    assert {job["org"] for job in listed} == {"bobs"}
    assert (await carol.get("/api/jobs")).json()["jobs"] == []
    assert {row["org"] for row in (await carol.get("/api/usage")).json()["usage"]} == {"bobs"}
    assert (await carol.delete(f"/api/jobs/{world.bobs['ready']}")).status_code == 404


async def test_the_service_sees_all(api: Api, world: World) -> None:
    for name, id in world.bobs.items():
        path = f"/api/artifacts/{id}" if name == "artifact" else f"/api/jobs/{id}"
        answer = await api.service.get(path)
        assert answer.status_code == 200, name
        assert answer.json()["owner"] == "bob"
    assert len((await api.service.get("/api/jobs", params={"limit": 200})).json()["jobs"]) > 10

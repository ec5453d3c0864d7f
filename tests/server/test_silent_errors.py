"""Errors of every kind are problems that say what to do, and neither they nor the logs tell what must not be told."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock import Penstock
from penstock.engine.postgres import pools
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api, Asking
from tests.server.test_strangers import filled, operations

_NEVER = re.compile(
    r"""select |insert |update |delete from|returning|penstock\.\w|Traceback|File "|\.py\b|/work|/usr|/home|/tmp|psycopg
        |sqlstate|postgresql://|relation "|column "|line \d|0x[0-9a-f]{6}|pydantic|<class""",
    re.IGNORECASE | re.VERBOSE,
)
"""SQL, names of tables, paths and traces."""

DEEP = b"[" * 50_000
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("bad JSON", {"content": b"{"}),
    ("no JSON at all", {"content": b"\xff\xfe\x00"}),
    ("invalid UTF-8", {"content": b'{"kind": "\xff\xfe"}'}),
    ("deep nesting", {"content": DEEP}),
    ("deep arguments", {"content": b'{"kind": "export", "args": {"of": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_002}),
    ("wrong content type", {"content": b"type=export", "headers": {"Content-Type": "text/plain"}}),
    ("a form", {"data": {"kind": "export"}}),
    ("an array", {"json": []}),
    ("null", {"json": None, "content": b"null"}),
    ("a number", {"content": b"5"}),
    ("wrong types", {"json": {"kind": 5, "args": "x", "jobs": 7, "lease": "x", "queue": {}, "limit": "many"}}),
    ("a zero byte", {"json": {"kind": "ex\0port", "args": {"of": "\0"}, "worker": "\0", "queue": "\0"}}),
    ("a zero byte in the arguments", {"json": {"kind": "export", "args": {"of": "\0"}}}),
    ("a zero byte in a name", {"json": {"kind": "export", "args": {"\0": 1}}}),
    ("a lone surrogate", {"content": rb'{"kind": "export", "args": {"of": "\ud800"}}'}),
    ("a lone surrogate as kind", {"content": rb'{"kind": "\ud800"}'}),
    ("a lone surrogate as a name", {"content": rb'{"kind": "export", "\udfff": 1, "args": {"\ud800": 1}}'}),
    ("a lone surrogate in a batch", {"content": rb'{"jobs": [{"kind": "any", "args": {"value": "\ud800"}}]}'}),
    ("huge numbers", {"content": b'{"kind": "any", "args": {"value": 1' + b"0" * 400 + b"}}"}),
    ("infinite numbers", {"content": b'{"kind": "any", "args": {"value": [1e999, NaN, -Infinity]}}'}),
    ("numbers beyond Python's digits", {"content": b'{"kind": "any", "args": {"value": ' + b"9" * 5000 + b"}}"}),
    ("huge numbers in a batch", {"content": b'{"jobs": [{"kind": "any", "args": {"value": 1' + b"0" * 400 + b"}}]}"}),
    ("no numbers in a batch", {"content": b'{"jobs": [{"kind": "any", "args": {"value": [1e999, NaN]}}]}'}),
    ("names of Python", {"json": {"kind": "any", "args": {"self": 1, "value": 1, "__class__": 1}}}),
    ("names of Python in a batch", {"json": {"jobs": [{"kind": "any", "args": {"self": 1}}]}}),
    ("an unknown field", {"json": {"kind": "export", "select * from": 1}}),
    ("an unknown kind", {"json": {"kind": "interna"}}),
    ("a closed kind", {"json": {"kind": "internal"}}),
    ("an organisation of others", {"json": {"kind": "export", "org": "others"}}),
    ("a long key", {"json": {"kind": "export"}, "headers": {"Idempotency-Key": "k" * 300}}),
    ("a key of odd bytes", {"json": {"kind": "export"}, "headers": {"Idempotency-Key": b"\xff\xfe'\";--"}}),
    ("a file in the arguments", {"json": {"kind": "any", "args": {"value": "A" * 40_000}}}),
    ("arguments of a megabyte", {"json": {"kind": "any", "args": {"value": "- " * 500_000}}}),
    ("a body over the limit", {"content": b" " * 1_100_000}),
]  # fmt: skip
QUERIES = [
    "limit=0", "limit=99999999999999999999", "limit=x", "cursor=x", "cursor=%00", "parent='", "state=queued",
    "state=%ff", "kind=%00", "kind=", "org=%00", "org=%ed%a0%80", "owner=bob", "created_after=0001-01-01T00:00:00Z",
    "created_before=9999-12-31T23:59:59Z", "created_after=x", "created_after=-99999999999999", "created_after=1e300",
    "created_after=0001-01-01T00:00:00%2B14:00", "created_before=9999-12-31T23:59:59-14:00", "unknown=1", "%00=1",
    "expires=99999999999999999999&signature=x", "expires=1&signature=%00", "lease=99999999999999999999&claims=-1",
    "slots=0", "most=-1", "partial=maybe", "format=xml", "last_event_id=%00", "access_token=x",
]  # fmt: skip
PATHS = [
    "%00",
    "x",
    "'",
    "..%2f..%2fetc%2fpasswd",
    "%ff",
    "00000000-0000-0000-0000-000000000000",
    "a" * 3000,
    "select 1",
]


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    def export(of: str = "") -> None: ...

    @app.job(users=True)
    def any(value: Any) -> None: ...

    @app.job
    def internal() -> None: ...

    return app


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture, url: str) -> Iterator[None]:
    """Of secrets, whatever the test does: the key, the secret, the password, and tokens."""
    caplog.set_level(logging.DEBUG)
    yield
    password = conninfo_to_dict(url)["password"]
    token = mint(SECRET, subject="alice").split(".")[0] + "."
    logged = "\n".join(logging.Formatter().format(record) for record in caplog.records)
    for secret in (KEY, SECRET, str(password), token):
        assert secret not in logged


def check(answer: httpx.Response, what: str) -> None:
    """A problem that tells nothing, or no problem at all."""
    assert answer.status_code != 500, f"{what}: {answer.text}"
    for secret in (KEY, SECRET):
        assert secret not in answer.text
    if answer.status_code < 400 or not answer.content:
        return
    assert answer.headers["content-type"] == "application/problem+json", f"{what}: {answer.text}"
    assert answer.json()["status"] == answer.status_code, what
    found = _NEVER.search(answer.text.replace("`penstock migrate`", ""))
    given = json.dumps(what)
    assert found is None or found[0] in given, f"{what} tells {found[0]!r}: {answer.text}"


def askers(api: Api) -> list[tuple[str, Asking]]:
    return [("a user", api.user("alice")), ("the service", api.service), ("nobody", api.nobody)]


@pytest.mark.parametrize(("what", "options"), BODIES, ids=[what for what, _ in BODIES])
async def test_a_bad_body(api: Api, what: str, options: dict[str, Any]) -> None:
    for who, asking in askers(api):
        for method, path, about in operations(api):
            if "requestBody" in about:
                headers = {"Content-Type": "application/json"} | options.get("headers", {})
                sent = options if "data" in options else {**options, "headers": headers}
                answer = await asking(method, filled(path, uuid4()), **sent)
                check(answer, f"{what} by {who} to {method} {path} {str(options)[:300]}")


def queries_for(about: dict[str, Any]) -> list[str]:
    """Those about its own parameters, and a few about none."""
    own = {each["name"] for each in about.get("parameters", ()) if each["in"] == "query"}
    about_none = ("unknown=1", "%00=1", "access_token=x")
    return [query for query in QUERIES if query in about_none or query.partition("=")[0] in own]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_bad_query_or_path(api: Api, every: bool) -> None:
    for who, asking in askers(api):
        for method, path, about in operations(api):
            if "requestBody" in about or path.endswith("/stream"):
                continue
            for query in (QUERIES if every else queries_for(about)) if path.startswith("/api") else ():
                answer = await asking(method, f"{filled(path, uuid4())}?{query}")
                check(answer, f"{query} by {who} to {method} {path}")
            for part in PATHS if "{" in path else ():
                check(await asking(method, filled(path, part)), f"{part} by {who} in {method} {path}")


async def test_what_is_not_there(api: Api) -> None:
    for path in (
        "/",
        "/api",
        "/api/",
        "/api/nothing",
        "//",
        "/api/jobs/",
        "/.env",
        "/docs/..%2f..%2fetc/passwd",
        "/a\\b",
    ):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
            check(await api.user()(method, path), f"{method} {path}")
    for method, path, _ in operations(api):
        check(await api.user()("PATCH", filled(path, uuid4())), f"PATCH {path} as well as {method}")


@pytest.mark.parametrize("token", ["", "x", "a.b.c", KEY + "x", KEY[:-1], "\x7f", "null", " ", f"{KEY} {KEY}", "é"])
async def test_a_bad_token_is_not_repeated(api: Api, token: str) -> None:
    answer = await api.nobody.get("/api/jobs", headers={"Authorization": f"Bearer {token}".encode("latin-1")})
    assert answer.status_code == 401
    check(answer, "a bad token")
    assert len(token) < 4 or token not in answer.text
    assert not token or len(token) < 4 or token not in str(answer.headers)


async def test_dates_before_any_job_leave_nothing_out(api: Api) -> None:
    alice = api.user("alice")
    job = await alice.start("export")
    for after in ("0001-01-01T00:00:00Z", "1950-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2000-01-01T00:00:00Z"):
        page = await alice.get("/api/jobs", params={"created_after": after})
        assert [each["id"] for each in page.json()["jobs"]] == [job], after


@pytest.mark.parametrize("first_request", [True, False])
async def test_a_database_that_is_down(url: str, monkeypatch: pytest.MonkeyPatch, first_request: bool) -> None:
    monkeypatch.setattr(pools, "RESTART", 0.1)
    password = "the-password-of-the-database"
    app = Penstock(url)
    if first_request:
        app.connect_to(make_conninfo("", host="127.0.0.1", port=1, user="penstock", password=password, dbname="of"))
    server = Server(app, ServerSettings(service_key=KEY, jwt_secret=SECRET))
    transport = httpx.ASGITransport(server.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        api = Api(client, server)
        if not first_request:
            assert (await api.user().get("/api/jobs")).status_code == 200
            _take_away(url)
        assert (await api.nobody.get("/healthz")).status_code == 200
        paths = ("/api/jobs", f"/api/jobs/{uuid4()}", f"/api/jobs/{uuid4()}/stream", "/api/usage", "/readyz")
        asked = [(asking, path) for asking in (api.user(), api.service) for path in paths]
        answers = await asyncio.gather(*(asking.get(path) for asking, path in asked))
        for (_, path), answer in zip(asked, answers, strict=True):
            check(answer, path)
            assert answer.status_code == 503, f"{path}: {answer.text}"
            assert password not in answer.text
    await server.aclose()
    await app.aclose()


def _take_away(url: str) -> None:
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as admin:
        admin.execute(f'alter database "{name}" allow_connections false'.encode())
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])

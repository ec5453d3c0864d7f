"""What a browser gets from the server: the module, the pages of an application, and a way in while developing."""

import re
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from penstock import InvalidInput, Penstock
from penstock.server import Server, ServerSettings
from penstock.server.auth.development import SignIn, settings_for_development, sign_in_for_development
from tests.kit.serving import KEY, SECRET

STATIC = files("penstock.server.web") / "static"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "page"
    below.mkdir()
    (below / "index.html").write_text("<!doctype html><title>Shop</title>")
    (below / "shop.js").write_text("export {};")
    (below / "secret.py").write_text("not for browsers")
    return below


@pytest.fixture
async def client(url: str, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with Penstock(url) as app:
        app.add_page("/shop", folder, title="Shop", about="What there is")
        settings = ServerSettings(service_key=KEY, jwt_secret=SECRET, cors_origins="https://shop.example.com")
        server = Server(app, settings, SignIn(settings))
        transport = httpx.ASGITransport(server.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://jobs.example.com") as client:
            yield client
        await server.aclose()


async def test_the_module_is_kept_and_asked_about(client: httpx.AsyncClient) -> None:
    first = await client.get("/penstock.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "public, no-cache"
    assert first.headers["x-content-type-options"] == "nosniff"
    again = await client.get("/penstock.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in re.findall(r'from "\./(.*?)"', first.text):
        assert (await client.get(f"/{name}")).status_code == 200, name
    assert (await client.get("/penstock.d.ts")).headers["content-type"].startswith("text/plain")


async def test_pages_of_others_may_import_it_if_they_may_ask(client: httpx.AsyncClient) -> None:
    theirs = await client.get("/penstock.js", headers={"Origin": "https://shop.example.com"})
    assert theirs.headers["access-control-allow-origin"] == "https://shop.example.com"
    strangers = await client.get("/penstock.js", headers={"Origin": "https://else.example.com"})
    assert "access-control-allow-origin" not in strangers.headers


def test_the_types_name_what_the_module_exports() -> None:
    named = re.findall(r"^export (?:class|function) (\w+)", (STATIC / "penstock.d.ts").read_text("utf-8"), re.MULTILINE)
    exported = re.findall(r"^export \{ (.*) \}", (STATIC / "penstock.js").read_text("utf-8"), re.MULTILINE)
    assert set(named) == {name for names in exported for name in names.split(", ")}


async def test_a_page_runs_nothing_but_what_came_with_it(client: httpx.AsyncClient) -> None:
    page = await client.get("/shop")
    assert page.text == "<!doctype html><title>Shop</title>"
    policy = dict(each.split(" ", 1) for each in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self' http://jobs.example.com"
    assert policy["frame-ancestors"] == "'none'"
    assert (await client.get("/shop/shop.js")).text == "export {};"
    assert (await client.get("/shop/secret.py")).status_code == 404
    assert (await client.get("/shop/../secret.py")).status_code == 404
    assert (await client.get("/api/pages")).json() == {
        "pages": [{"path": "/shop", "title": "Shop", "about": "What there is"}]
    }


async def test_a_page_shows_what_a_store_of_its_own_has(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "whose secret is only for tests")
    store = "s3://bucket?endpoint=http://store.example.com:8333&region=us-east-1"
    async with Penstock(url, artifacts=store) as app:
        app.add_page("/shop", folder, title="Shop")
        transport = httpx.ASGITransport(app.asgi(service_key=KEY))
        async with httpx.AsyncClient(transport=transport, base_url="http://jobs.example.com") as client:
            policy = (await client.get("/shop")).headers["content-security-policy"]
    assert "media-src 'self' http://jobs.example.com http://store.example.com:8333 blob:" in policy


def test_a_page_that_cannot_be_is_refused(folder: Path, tmp_path: Path) -> None:
    app = Penstock()
    with pytest.raises(InvalidInput, match=r"folder: must hold an index.html"):
        app.add_page("/shop", tmp_path, title="Shop")
    for path in ("shop", "/Shop", "/api/shop", "/shop/", "/../shop", "/"):
        with pytest.raises(InvalidInput, match="path: must be like /exports"):
            app.add_page(path, folder, title="Shop")
    app.add_page("/shop", folder, title="Shop")
    app.add_page("/shop", folder, title="Shop")
    assert len(app.pages) == 1
    with pytest.raises(InvalidInput, match="another page's"):
        app.add_page("/shop", folder, title="Another")


async def test_a_link_from_the_terminal_signs_in_while_developing(client: httpx.AsyncClient) -> None:
    sign_in = SignIn(ServerSettings(jwt_secret=SECRET))
    link = sign_in.link("http://jobs.example.com/shop")
    code = link.partition("#sign-in=")[2]
    token = (await client.post("/api/development/sign-in", json={"code": code})).json()["token"]
    mine = await client.get("/api/jobs", headers={"Authorization": f"Bearer {token}"})
    assert mine.json()["jobs"] == []
    way_in = (await client.post("/api/development/dashboard", json={"code": code})).json()["url"]
    assert (await client.get(way_in)).headers["location"] == "http://jobs.example.com/"
    for wrong in ("", code[:-1], "é" * 20):
        for where in ("sign-in", "dashboard"):
            answer = await client.post(f"/api/development/{where}", json={"code": wrong})
            assert (answer.status_code, "penstock up" in answer.json()["detail"]) == (401, True)


async def test_there_is_no_such_link_where_users_are_real(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = settings_for_development(tmp_path)
    assert sign_in_for_development(tmp_path, made) is not None
    monkeypatch.setenv("PENSTOCK_JWT_SECRET", SECRET)
    assert sign_in_for_development(tmp_path, settings_for_development(tmp_path)) is None
    assert sign_in_for_development(tmp_path / "elsewhere", made) is None
    async with Penstock(url) as app:
        transport = httpx.ASGITransport(app.asgi(service_key=KEY, jwt_secret=SECRET))
        async with httpx.AsyncClient(transport=transport, base_url="http://jobs.example.com") as client:
            assert (await client.post("/api/development/sign-in", json={"code": "x"})).status_code == 404

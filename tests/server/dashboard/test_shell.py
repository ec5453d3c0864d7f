"""What all pages have in common: headers, static files, where they are mounted, and that nothing in them is inline."""

import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.dashboard.assets import VERSION
from penstock.server.dashboard.headers import POLICY
from tests.kit.serving import KEY
from tests.server.dashboard.browsing import SAME, Browser


@pytest.mark.parametrize("path", ["/", "/login"])
async def test_a_page_lets_nothing_in_from_elsewhere_and_has_nothing_inline(operator: Browser, path: str) -> None:
    if path == "/login":
        operator.client.cookies.clear()
    page = await operator.get(path)
    assert page.status_code == 200
    assert page.headers["content-security-policy"] == POLICY
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "private, no-store"
    assert "unsafe" not in POLICY
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page.text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", page.text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page.text), "works offline"


async def test_static_files_are_kept_for_good_by_an_address_that_changes_with_them(stranger: Browser) -> None:
    login = (await stranger.get("/login")).text
    found = re.findall(r'"(/dashboard/static/[^"]+)"', login)
    assert found
    for path in found:
        assert f"/{VERSION}/" in path
        answer = await stranger.get(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].partition(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
    older = await stranger.get("/dashboard/static/0000/main.js")
    assert older.status_code == 200
    assert older.headers["cache-control"] == "no-cache"
    for path in ("none.js", "..%2Fassets.py", "%2e%2e/assets.py"):
        assert (await stranger.get(f"/dashboard/static/{VERSION}/{path}")).status_code == 404


async def test_scripts_import_files_that_are_there(stranger: Browser) -> None:
    seen, wanted = set(), ["main.js"]
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        script = await stranger.get(f"/dashboard/static/{VERSION}/{name}")
        assert script.status_code == 200, name
        wanted += re.findall(r'(?:import|from) "\./([a-z_]+\.js)"', script.text)
    assert {"live.js", "chart.js", "morph.js", "times.js"} <= seen


async def test_it_works_wherever_it_is_mounted(app: Penstock) -> None:
    outer = FastAPI()
    inner = app.asgi(service_key=KEY, database_timeout=30.0)
    outer.mount("/queue", inner)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://test") as client:
        refused = await client.get("/queue/")
        assert refused.headers["location"] == "http://test/queue/login"
        entered = await client.post("/queue/login", data={"credential": KEY}, headers=SAME)
        assert entered.headers["location"] == "http://test/queue/"
        assert "Path=/queue;" in entered.headers["set-cookie"]
        page = (await client.get("/queue/")).text
        links = re.findall(r'(?:href|src|action)="([^"#]*)"', page)
        assert links
        assert all(link.startswith("/queue") for link in links), links
        assert (await client.get(next(link for link in links if link.endswith(".css")))).status_code == 200
        proxied = await client.get("/queue/", headers={"X-Forwarded-Prefix": "/tools"})
        assert 'href="/tools/queue/jobs' in proxied.text
    await inner.state.services.hub.aclose()


async def test_pages_of_the_application_are_in_the_menu(app: Penstock, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html>")
    app.add_page("/exports", tmp_path, title="Exports <i>", about="PDFs")
    server = Server(app, ServerSettings(service_key=KEY, database_timeout=30.0))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(server.asgi), base_url="http://test") as client:
        await client.post("/login", data={"credential": KEY}, headers=SAME)
        page = (await client.get("/")).text
        assert 'href="/exports" title="PDFs"><span>Exports &lt;i&gt;</span>' in page
    await server.aclose()


async def test_the_api_takes_no_cookie(operator: Browser) -> None:
    assert (await operator.get("/api/workers")).status_code == 401
    assert (await operator.get("/metrics")).status_code == 401


async def test_a_page_that_is_not_there_is_not_found(operator: Browser) -> None:
    answer = await operator.get("/nothing")
    assert answer.status_code == 404

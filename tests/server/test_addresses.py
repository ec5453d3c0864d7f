"""Links and Location are absolute, and lead back to where the request came from: also mounted, also behind a proxy."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from penstock import Context, Penstock
from penstock.errors import InvalidInput, PenstockError
from penstock.server import Server, ServerSettings
from penstock.server.http.access_log import without_secrets
from penstock.testing import adrain
from tests.kit.serving import KEY, SECRET


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path) as app:

        @app.job
        async def make(ctx: Context, files: int = 1) -> None:
            for n in range(files):
                await ctx.artifacts.put(f"{n}.txt", b"made")

        yield app


@asynccontextmanager
async def asking(app: ASGIApp, **options: object) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, **options)  # type: ignore[arg-type]
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(transport=transport, base_url="https://shop.example", headers=headers) as client:
        yield client


def made(app: Penstock, **settings: object) -> Server:
    return Server(app, ServerSettings(service_key=KEY, jwt_secret=SECRET, **settings))  # type: ignore[arg-type]


async def every_link(client: httpx.AsyncClient, app: Penstock, base: str, expected: str) -> None:
    """Every link that the API gives begins with this, and works."""
    started = await client.post(f"{base}/api/jobs", json={"kind": "make", "args": {"files": 2}})
    here = started.headers["location"].partition("/api/")[0]
    assert started.headers["location"] == f"{here}/api/jobs/{started.json()['id']}"
    await adrain(app)
    job = (await client.get(f"{base}/api/jobs/{started.json()['id']}")).json()
    told = await client.get(f"{base}/api/jobs/{job['id']}/stream")
    event = json.loads(told.text.partition("data: ")[2].partition("\n")[0])
    links = [each["url"] for each in job["artifacts"] + event["artifacts"]]
    assert len(links) == 4
    assert event["result_url"] == f"{here}/api/jobs/{job['id']}/download"
    for link in [event["result_url"], *links]:
        assert link.startswith(f"{here}/api/"), link
        answer = await client.get(base + link.removeprefix(here))
        assert answer.status_code == 200, link
    redirect = await client.get(f"{base}/api/artifacts/{job['artifacts'][0]['id']}/download")
    assert redirect.headers["location"].startswith(f"{here}/api/")
    assert here == expected


async def test_a_request_says_where_the_server_is(app: Penstock) -> None:
    server = made(app)
    async with asking(server.asgi) as client:
        await every_link(client, app, "", "https://shop.example")
    await server.aclose()


async def test_mounted_links_lead_to_where_it_is_mounted(app: Penstock) -> None:
    server = made(app)
    outer = FastAPI()
    outer.mount("/queue", server.asgi)
    async with asking(outer) as client:
        await every_link(client, app, "/queue", "https://shop.example/queue")
    await server.aclose()


async def test_a_stream_tells_each_who_watches_their_own_address(app: Penstock) -> None:
    server = made(app)
    async with asking(server.asgi) as client:
        started = (await client.post("/api/jobs", json={"kind": "make"})).json()["id"]
        await adrain(app)
        for host in ("one.example", "two.example:8443"):
            told = await client.get(f"/api/jobs/{started}/stream", headers={"Host": host})
            assert f'"result_url":"https://{host}/api/artifacts/' in told.text
    await server.aclose()


async def test_the_setting_overrides_what_the_request_says(app: Penstock) -> None:
    server = made(app, public_url="https://jobs.example/all/")
    async with asking(server.asgi) as client:
        await every_link(client, app, "", "https://jobs.example/all")
    await server.aclose()


FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "front.example", "X-Forwarded-Prefix": "/jobs"}


@pytest.mark.parametrize(
    ("peer", "trusted", "seen"),
    [
        ("127.0.0.1", "127.0.0.1", "https://front.example/jobs"),
        ("10.1.2.3", "127.0.0.1,10.0.0.0/8", "https://front.example/jobs"),
        ("10.1.2.3", "*", "https://front.example/jobs"),
        ("10.1.2.3", "127.0.0.1", "http://back"),
        ("10.1.2.3", "", "http://back"),
    ],
)
async def test_a_proxy_is_believed_if_it_is_trusted(app: Penstock, peer: str, trusted: str, seen: str) -> None:
    server = made(app, trusted_proxies=trusted)
    async with asking(server.asgi, client=(peer, 4711)) as client:
        answer = await client.post("http://back/api/jobs", json={"kind": "make"}, headers=FORWARDED)
    assert answer.headers["location"].partition("/api/")[0] == seen
    await server.aclose()


@pytest.mark.parametrize("host", ['evil"}', "a b", "<x>", "x" * 300, "evil.example/path", "u:p@evil.example"])
async def test_what_is_no_host_does_not_get_into_links(app: Penstock, host: str) -> None:
    server = made(app)
    async with asking(server.asgi) as client:
        answer = await client.post("/api/jobs", json={"kind": "make"}, headers={"Host": host})
    assert answer.headers["location"].startswith("https://shop.example")
    await server.aclose()


async def test_a_job_without_a_public_address_is_told_so(app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SERVICE_KEY", KEY)
    monkeypatch.delenv("PENSTOCK_PUBLIC_URL", raising=False)
    file = await app.artifacts.aput("a.txt", b"a")
    with pytest.raises(PenstockError, match="PENSTOCK_PUBLIC_URL"):
        await app.artifacts.aurl(file.id)
    monkeypatch.setenv("PENSTOCK_PUBLIC_URL", "https://jobs.example")
    assert (await app.artifacts.aurl(file.id)).startswith("https://jobs.example/api/artifacts/")


def test_networks_that_are_none_are_refused(app: Penstock) -> None:
    server = made(app, trusted_proxies="everybody")
    with pytest.raises(InvalidInput, match="trusted_proxies"):
        server.asgi.build_middleware_stack()


def test_a_log_has_no_secret() -> None:
    assert without_secrets(b"last_event_id=1&access_token=abc.def&x=2") == b"last_event_id=1&access_token=...&x=2"
    for name in (b"access_token", b"access%5Ftoken", b"watch", b"wat%63h", b"once", b"token", b"signature", b"apikey"):
        assert without_secrets(name + b"=abc=def&" + name + b"=abc") == name + b"=...&" + name + b"=..."
    for said in (b"", b"watch", b"=", b"limit=5&state=ready", b"stopwatch=1", b"a=%ff&b", b"&&", b"page=/jobs%3Fq%3D1"):
        assert without_secrets(said) == said

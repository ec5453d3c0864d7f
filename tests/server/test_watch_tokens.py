"""A watch token opens one job's status and stream for a while, and nothing else."""

import time
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest

from penstock import InvalidInput, Penstock, PenstockError
from penstock.storage.links import make_watch_token, signing_secret_of
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, Served
from tests.server.streaming import path_of, serving, streaming


@pytest.fixture
async def api(url: str) -> AsyncIterator[Served]:
    async with serving(url, keep_alive=30) as running:
        yield running


@pytest.fixture
def job(connect: Connect) -> UUID:
    return Hand(connect()).add("export")


@pytest.fixture
def token(api: Served, job: UUID, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("PENSTOCK_SIGNING_SECRET", raising=False)
    monkeypatch.setenv("PENSTOCK_SERVICE_KEY", KEY)
    return api.app.watch_token(job, seconds=60)


async def test_it_opens_the_stream_and_the_status_of_its_job(api: Served, job: UUID, token: str) -> None:
    async with streaming(api.port, f"{path_of(job)}?watch={token}", {}) as client:
        assert client.status == 200
        first = await client.event()
        assert first is not None
        assert first.data["id"] == str(job)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{api.port}") as client_of_nobody:
        shown = await client_of_nobody.get(f"/api/jobs/{job}", params={"watch": token})
        assert (shown.status_code, shown.json()["id"]) == (200, str(job))
        assert "worker" not in shown.json()


async def test_it_opens_nothing_else(api: Served, job: UUID, token: str, connect: Connect) -> None:
    other = Hand(connect()).add("export")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{api.port}", params={"watch": token}) as client:
        assert (await client.get(f"/api/jobs/{other}")).status_code == 401
        assert (await client.get(f"/api/jobs/{other}/stream")).status_code == 401
        assert (await client.get(f"/api/jobs/{job}/download")).status_code == 401
        assert (await client.delete(f"/api/jobs/{job}")).status_code == 401
        assert (await client.post(f"/api/jobs/{job}/retry")).status_code == 401
        assert (await client.get("/api/jobs")).status_code == 401
        client.params = client.params.set("access_token", token).remove("watch")
        assert (await client.get(f"/api/jobs/{job}/stream")).status_code == 401


@pytest.mark.parametrize("wrong", ["over", "longer", "another secret", "garbage", "empty", "not ascii"])
async def test_what_is_not_as_it_was_made_opens_nothing(api: Served, job: UUID, token: str, wrong: str) -> None:
    expires, _, signature = token.partition(".")
    secret = signing_secret_of(KEY)
    shown = {
        "over": make_watch_token(secret, job, int(time.time()) - 1),
        "longer": f"{int(expires) + 1}.{signature}",
        "another secret": make_watch_token("x", job, int(expires)),
        "garbage": "garbage",
        "empty": "",
        "not ascii": f"{expires}.ü{signature[1:]}",
    }[wrong]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{api.port}", params={"watch": shown}) as client:
        for path in (f"/api/jobs/{job}", f"/api/jobs/{job}/stream"):
            answer = await client.get(path)
            assert (answer.status_code, "watch" in answer.text) == (401, True)


async def test_a_stream_ends_with_its_token(api: Served, job: UUID) -> None:
    short = make_watch_token(signing_secret_of(KEY), job, int(time.time()) + 1)
    async with streaming(api.port, f"{path_of(job)}?watch={short}", {}) as client:
        if client.status == 200:  # the second may have ended by now
            assert (await client.events())[-1].name == "timeout"


def test_without_a_secret_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_SIGNING_SECRET", "PENSTOCK_SERVICE_KEY"):
        monkeypatch.delenv(name, raising=False)
    app = Penstock("postgresql://nowhere/")
    with pytest.raises(PenstockError, match="PENSTOCK_SIGNING_SECRET"):
        app.watch_token(uuid4())
    with pytest.raises(InvalidInput, match="seconds"):
        app.watch_token(uuid4(), seconds=0)
    app.asgi(service_key=KEY)
    assert app.watch_token(uuid4())

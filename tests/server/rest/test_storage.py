"""Signed links to artifacts, as supabase-js asks for them."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from penstock import Context, Penstock
from penstock.server import ServerSettings
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api, Asking

SIGN = "/storage/v1/object/sign/job-artifacts"


@pytest.fixture
def settings() -> ServerSettings:
    return ServerSettings(service_key=KEY, jwt_secret=SECRET, database_timeout=30.0, public_url="http://test")


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path / "files") as app:
        yield app


@pytest.fixture
async def path(app: Penstock) -> str:
    """Of a file of Alice's."""

    @app.job
    async def record(ctx: Context) -> str:
        return (await ctx.artifacts.put("chapter 1.mp3", b"ID3")).path

    job = await record.using(owner="alice").aenqueue()
    [result] = await app.atick(limit=1)
    assert result.error is None
    done = await job.arefresh()
    return str(done.output)


async def link(asking: Asking, path: str, seconds: object = 3600, bucket: str = SIGN) -> httpx.Response:
    return await asking.post(f"{bucket}/{quote(path)}", {"expiresIn": seconds})


async def test_whoever_may_see_a_file_gets_a_link_that_needs_no_token(api: Api, path: str) -> None:
    for asking in (api.service, api.user("alice")):
        told = (await link(asking, path)).json()["signedURL"]
        found = await api.nobody.get(f"/storage/v1{told}", follow_redirects=True)
        assert (found.status_code, found.content, found.headers["content-type"]) == (200, b"ID3", "audio/mpeg")


async def test_nobody_else_gets_one(api: Api, path: str) -> None:
    nothing = await link(api.user("bob"), "alice/none.mp3")
    bobs = await link(api.user("bob"), path)
    assert (nothing.status_code, nothing.json()) == (bobs.status_code, bobs.json())
    assert bobs.json() == {"statusCode": "404", "error": "NoSuchKey", "message": "Object not found"}
    assert (await link(api.nobody, path)).status_code == 401
    assert (await link(api.service, path, bucket="/storage/v1/object/sign/others")).status_code == 404
    for seconds in (0, -1, 3601, "x", None, 1e300):
        assert (await link(api.service, path, seconds)).status_code == 400, seconds


async def test_an_upload_is_told_where_files_go_instead(api: Api) -> None:
    for method, where in (
        ("POST", "job-artifacts"), ("PUT", "job-artifacts"), ("POST", "upload/sign/job-artifacts"),
    ):  # fmt: skip
        answer = await api.service(method, f"/storage/v1/object/{where}/a/chapter 1.mp3", content=b"ID3")
        told = answer.json()
        assert (answer.status_code, told["error"]) == (405, "MethodNotAllowed"), where
        assert "insert into job_artifacts" in told["message"]


async def test_a_link_that_was_changed_or_is_over_leads_nowhere(
    api: Api, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (await link(api.service, path)).json()["signedURL"]
    where, token = told.split("?token=")
    id, expires, signature = token.split(".")
    for other in (
        f"{uuid4()}.{expires}.{signature}", f"{id}.{int(expires) + 1}.{signature}", f"{id}.{expires}.{'0' * 64}",
        f"{id}.1.{signature}", "", "x", token + "x",
    ):  # fmt: skip
        answer = await api.nobody.get(f"/storage/v1{where}", params={"token": other})
        assert (answer.status_code, answer.json()["error"]) == (400, "InvalidJWT"), other
    for other in (
        f"{'a' * 36}.1.{'0' * 64}", f"{'-' * 36}.{expires}.{signature}",
        f"{id.replace('-', '')}----.{expires}.{signature}", f"{id.upper()}.1.{signature}",
        f"{id}.{'9' * 12}.{signature}", f"{id}.٣.{signature}", f"{id}.{expires}.{signature}\n",
    ):  # fmt: skip
        answer = await api.nobody.get(f"{SIGN}/x", params={"token": other})
        assert (answer.status_code, answer.json()["error"]) == (400, "InvalidJWT"), other
    assert re.fullmatch(r"[0-9a-f]{64}", signature)
    assert json.dumps(KEY) not in told

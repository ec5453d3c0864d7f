"""Names that are not written in ASCII, all the way through."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from penstock import Context, Penstock
from penstock.server import ServerSettings
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api
from tests.server.rest.conftest import Rest

QUEUE, USER, TITLE = "书签-队列", "用户-王芳", "三体 — 第一章 🎧"


@pytest.fixture
def settings() -> ServerSettings:
    return ServerSettings(service_key=KEY, jwt_secret=SECRET, database_timeout=30.0, public_url="http://test")


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path / "文件") as app:
        yield app


async def test_queues_and_messages(service: Rest, connect: Connect) -> None:
    connection = connect()
    connection.execute("select pgmq.create(%s)", [QUEUE])
    sent: Any = await service.rpc("send", "pgmq_public", queue_name=QUEUE, message={"标题": TITLE})
    read: Any = await service.rpc("read", "pgmq_public", queue_name=QUEUE, n=10)
    [id], [message] = sent, read
    assert (message["msg_id"], message["message"]) == (id, {"标题": TITLE})
    assert await service.rpc("archive", "pgmq_public", queue_name=QUEUE, message_id=id) is True
    found = connection.execute(f'select message from pgmq."a_{QUEUE}"').fetchall()
    assert found == [({"标题": TITLE},)]


async def test_rows_and_what_they_are_chosen_by(service: Rest) -> None:
    headers = {"Prefer": "return=representation"}
    made = await service.ask.post(
        "/rest/v1/jobs", {"user_id": USER, "type": "导出", "params": {"标题": TITLE}}, headers=headers
    )
    assert made.status_code == 201, made.text
    answer = await service.ask.get("/rest/v1/jobs", params={"user_id": f"eq.{USER}", "type": "eq.导出"})
    assert [(row["user_id"], row["type"], row["params"]) for row in answer.json()] == [(USER, "导出", {"标题": TITLE})]
    refused = await service.ask.get("/rest/v1/书签")
    assert (refused.status_code, "书签" in refused.json()["message"]) == (404, True)


async def test_files(api: Api, app: Penstock) -> None:
    @app.job
    async def record(ctx: Context) -> str:
        return (await ctx.artifacts.put(f"{TITLE}.mp3", b"ID3")).path

    job = await record.using(owner=USER).aenqueue()
    [result] = await app.atick(limit=1)
    assert result.error is None
    path = str((await job.arefresh()).output)
    for asking in (api.service, api.user(USER)):
        told = await asking.post(f"/storage/v1/object/sign/job-artifacts/{quote(path)}", {"expiresIn": 60})
        assert told.status_code == 200, told.text
        found = await api.nobody.get(f"/storage/v1{told.json()['signedURL']}", follow_redirects=True)
        assert (found.status_code, found.content) == (200, b"ID3")
    theirs = await api.user("李雷").post(f"/storage/v1/object/sign/job-artifacts/{quote(path)}", {"expiresIn": 60})
    assert theirs.status_code == 404

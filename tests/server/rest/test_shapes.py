"""What is refused before a route sees it has the shape that Supabase's clients read all the same."""

import httpx
import pytest

from penstock import Penstock
from penstock.server import ServerSettings
from tests.kit.serving import KEY, SECRET
from tests.server.api import Api, asking

REST, STORAGE = "/rest/v1/rpc/claim_tasks", "/storage/v1/object/sign/job-artifacts/a.mp3"


def said(answer: httpx.Response) -> tuple[object, ...]:
    """Status, code and message, from a body that has nothing else."""
    assert answer.headers["content-type"].startswith("application/json"), answer.text
    body = answer.json()
    if answer.request.url.path.startswith("/rest"):
        assert body.keys() == {"code", "message", "details", "hint"}
        return answer.status_code, body["code"], body["message"]
    assert body.keys() == {"statusCode", "error", "message"}
    assert body["statusCode"] == str(answer.status_code)
    return answer.status_code, body["error"], body["message"]


@pytest.mark.parametrize("path", [REST, STORAGE], ids=["rest", "storage"])
async def test_a_body_over_the_limit(api: Api, path: str) -> None:
    most = api.server.services.settings.max_body
    told = f"the body is over the limit of {most:,} bytes"

    async def pieces() -> object:
        for _ in range(most // 100_000 + 1):
            yield b" " * 100_000

    announced = await api.service.post(path, content=b" " * (most + 1))
    assert said(announced) == (413, "54000", told)
    assert announced.headers["connection"] == "close"
    assert said(await api.service.post(path, content=pieces())) == (413, "54000", told)


async def test_a_path_that_is_none(api: Api) -> None:
    assert said(await api.service.get("/rest/v1/jobs/1"))[:2] == (404, "PGRST125")
    assert said(await api.service.delete(STORAGE))[:2] == (405, "PGRST117")
    assert (await api.service.get("/api/none")).headers["content-type"] == "application/problem+json"


async def test_a_database_that_is_away_from_the_beginning() -> None:
    settings = ServerSettings(service_key=KEY, jwt_secret=SECRET, database_timeout=0.5)
    async with Penstock("postgresql://127.0.0.1:1/x") as app, asking(app, settings) as api:
        for path in (REST, STORAGE):
            answer = await api.service.post(path, {})
            assert said(answer)[:2] == (503, "PGRST001")
            assert answer.headers["retry-after"] == "2"

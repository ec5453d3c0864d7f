"""The page at /docs: every operation, nothing from elsewhere, nothing that runs."""

import re
from copy import deepcopy

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.http.docs_page import page
from tests.server.api import Api


async def test_the_page_shows_every_operation(api: Api) -> None:
    shown = (await api.nobody.get("/docs")).text
    described = (await api.nobody.get("/openapi.json")).json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert shown.count(f'id="{operation["operationId"]}"') == 1, (method, path)
    assert "export_pdf" in shown
    assert "curl -X POST http://test/api/jobs" in shown


async def test_a_browser_may_run_and_load_nothing(api: Api) -> None:
    answer = await api.nobody.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in policy
    assert not re.search(r"<script|<link|<img|<iframe|\son\w+=|\sstyle=|javascript:", answer.text)
    assert re.findall(r'href="([^#"][^"]*)"', answer.text) == ["openapi.json"]


async def test_a_host_that_is_no_host_is_escaped(api: Api) -> None:
    answer = await api.nobody.get("/docs", headers={"Host": "test'\"><script>alert(1)</script>"})
    assert "<script" not in answer.text


def test_everything_described_is_escaped() -> None:
    described = deepcopy(Server(Penstock("postgresql://nowhere"), ServerSettings()).asgi.openapi())
    evil = "<script>alert('`x`')</script>\"&"

    def poison(value: object) -> object:
        if isinstance(value, dict):
            return {name: poison(each) for name, each in value.items()}
        if isinstance(value, list):
            return [poison(each) for each in value]
        return value + evil if isinstance(value, str) and not value.startswith("#/") else value

    for methods in described["paths"].values():
        for operation in methods.values():
            operation |= {name: poison(value) for name, value in operation.items() if name != "responses"}
            operation["responses"] = {status + evil: poison(told) for status, told in operation["responses"].items()}
    described["info"] = poison(described["info"])
    shown = page(described, "http://test" + evil)
    assert "<script" not in shown
    assert not re.search(r'="[^"]*"[^ >]', shown.partition("</style>")[2])


async def test_without_docs_there_is_no_page(app: Penstock) -> None:
    paths = [getattr(route, "path", None) for route in Server(app, ServerSettings(docs=False)).asgi.routes]
    assert "/docs" not in paths
    assert "/openapi.json" not in paths

"""Asking the API, and shorthand for who asks."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from tests.kit.serving import AS_SERVICE, SECRET


class Api:
    """`api.user("alice")`, `api.service` and `api.nobody` ask in turn."""

    def __init__(self, client: httpx.AsyncClient, server: Server) -> None:
        self.server = server
        self.nobody = Asking(client, {})
        self.service = Asking(client, AS_SERVICE)
        self._client = client

    def user(self, subject: str = "alice", *, org: str | None = None) -> "Asking":
        token = mint(SECRET, subject=subject, org=org)
        return Asking(self._client, {"Authorization": f"Bearer {token}"})


@asynccontextmanager
async def asking(app: Penstock, settings: ServerSettings) -> AsyncIterator[Api]:
    server = Server(app, settings)
    transport = httpx.ASGITransport(server.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield Api(client, server)
    await server.aclose()


class Asking:
    def __init__(self, client: httpx.AsyncClient, headers: Mapping[str, str]) -> None:
        self._client = client
        self._headers = dict(headers)

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self._headers | options.pop("headers", {})
        return await self._client.request(method, path, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self("GET", path, **options)

    async def post(self, path: str, json: object = None, **options: Any) -> httpx.Response:
        return await self("POST", path, **({} if json is None else {"json": json}), **options)

    async def delete(self, path: str, **options: Any) -> httpx.Response:
        return await self("DELETE", path, **options)

    async def start(self, kind: str, **params: Any) -> str:
        """The id of a job that must have been started."""
        answer = await self.post("/api/jobs", {"kind": kind, "args": params})
        assert answer.status_code == 202, answer.text
        id: str = answer.json()["id"]
        return id

"""Asking a recipe's API over real HTTP, as anybody."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
import uvicorn

from penstock import Penstock
from penstock.server import Server, ServerSettings

KEY = "a-service-key-of-the-tests"
SECRET = "a-secret-of-the-tests-with-32-bytes"
AS_SERVICE = {"Authorization": f"Bearer {KEY}"}


class Asking:
    """One who asks, with a token of their own or the service key."""

    prefix: ClassVar[str]

    def __init__(self, client: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self.client = client
        self.headers = headers

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self.headers | options.pop("headers", {})
        url = path if path.startswith(("/api/", "http")) else f"{self.prefix}{path}"
        return await self.client.request(method, url, headers=headers, **options)

    async def get(self, path: str = "", **options: Any) -> httpx.Response:
        return await self("GET", path, **options)

    async def post(self, path: str, json: object = None, **options: Any) -> httpx.Response:
        return await self("POST", path, **({} if json is None else {"json": json}), **options)

    async def put(self, path: str, json: object) -> httpx.Response:
        return await self("PUT", path, json=json)

    async def delete(self, path: str) -> httpx.Response:
        return await self("DELETE", path)


@asynccontextmanager
async def served(app: Penstock, **settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Server]]:
    """A server of the application on a loopback port, its database migrated; and a client of it."""
    await asyncio.to_thread(app.migrate)
    server = Server(app, ServerSettings(service_key=KEY, jwt_secret=SECRET, **settings))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(server.asgi, http="httptools", ws="none", log_level="warning", lifespan="off")
        running = uvicorn.Server(config)
        task = asyncio.create_task(running.serve([listening]))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=base, timeout=90) as client:
                yield client, server
        finally:
            server.services.hub.leave()
            running.should_exit = True
            await task
            await server.aclose()


def names_in(folder: Path) -> list[str]:
    """Every file that is stored there, by its path."""
    # not rglob, which fails when a folder is removed before its eyes
    return sorted(str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names)

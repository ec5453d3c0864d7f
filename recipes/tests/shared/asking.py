"""Asking a recipe's API over real HTTP, as anybody."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx

from penstock import Penstock
from tests.kit.serving import Served, served


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
async def migrated(app: Penstock, **settings: Any) -> AsyncIterator[Served]:
    """A server of the application, whose database has the recipe's tables."""
    await asyncio.to_thread(app.migrate)
    async with served(app, **settings) as server:
        yield server


def names_in(folder: Path) -> list[str]:
    """Every file that is stored there, by its path."""
    # not rglob, which fails when a folder is removed before its eyes
    return sorted(str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names)

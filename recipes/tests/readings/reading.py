"""A server and a worker of an application of readings, and the reading that is asked of them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from penstock import Penstock
from penstock.server.auth import mint
from tests.kit.serving import SECRET, served
from tests.kit.until import until
from tests.kit.working import working

QUEUES = {"readings": 2, "readings_text": 4, "readings_pdf": 2, "readings_audio": 2}


@dataclass
class Reader:
    """A user of the API."""

    client: httpx.AsyncClient
    name: str

    def _as(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {mint(SECRET, subject=self.name)}"}

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, headers=self._as() | options.pop("headers", {}), **options)

    async def start(self, params: Mapping[str, Any]) -> str:
        answer = await self.ask("POST", "/api/jobs/start", json={"type": "nuclear_v2", "params": params})
        assert answer.status_code == 202, answer.text
        id: str = answer.json()["id"]
        return id

    async def look(self, id: str) -> dict[str, Any]:
        answer = await self.ask("GET", f"/api/jobs/{id}")
        assert answer.status_code == 200, answer.text
        job: dict[str, Any] = answer.json()
        return job

    async def ended(self, id: str, within: float = 60) -> dict[str, Any]:
        return await self.until(id, lambda job: job["status"] not in ("queued", "processing"), within)

    async def until(self, id: str, so: Callable[[dict[str, Any]], bool], within: float = 30) -> dict[str, Any]:
        return await until(lambda: self.look(id), within, so=so, every=0.03)

    async def events(self, id: str, within: float = 120) -> list[dict[str, Any]]:
        """What the stream tells, to its end."""
        told: list[dict[str, Any]] = []
        async with asyncio.timeout(within):
            path = f"/api/jobs/{id}/stream"
            async with self.client.stream("GET", path, headers=self._as(), timeout=None) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        told.append(json.loads(line.removeprefix("data: ")))
        return told

    async def file(self, artifact: Mapping[str, Any]) -> bytes:
        """By the link in the status, which needs no token."""
        answer = await self.client.get(artifact["url"], follow_redirects=True)
        assert answer.status_code == 200, answer.text
        return answer.content


@asynccontextmanager
async def reading(app: Penstock, *, worker: bool = True) -> AsyncIterator[Reader]:
    async with served(app) as server:
        if not worker:
            yield Reader(server.client, "ada")
            return
        async with working(app, QUEUES):
            yield Reader(server.client, "ada")

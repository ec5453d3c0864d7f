"""A server and a worker of an application of readings, and the reading that is asked of them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from tests.kit.until import until
from tests.worker.running import working

SECRET = "a-secret-of-the-tests-with-32-bytes"
QUEUES = {"readings": 2, "readings_text": 4, "readings_pdf": 2, "readings_audio": 2}


@dataclass
class Reader:
    """A user of the API."""

    client: httpx.AsyncClient
    name: str

    def _as(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {mint(SECRET, subject=self.name)}"}

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, headers=self._as(), **options)

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
async def serving(app: Penstock) -> AsyncIterator[httpx.AsyncClient]:
    """The API on a loopback port, as streams need it."""
    import socket

    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = ServerSettings(service_key="a-service-key-of-the-tests", jwt_secret=SECRET, public_url=address)
    api = Server(app, settings)
    server = uvicorn.Server(uvicorn.Config(api.asgi, ws="none", log_level="warning", lifespan="off"))
    task = asyncio.create_task(server.serve([listening]))
    try:
        async with httpx.AsyncClient(base_url=address) as client:
            yield client
    finally:
        api.services.hub.leave()
        server.should_exit = True
        await task
        await api.aclose()
        listening.close()


@asynccontextmanager
async def reading(app: Penstock, *, worker: bool = True) -> AsyncIterator[Reader]:
    async with serving(app) as client:
        if not worker:
            yield Reader(client, "ada")
            return
        async with working(app, QUEUES):
            yield Reader(client, "ada")

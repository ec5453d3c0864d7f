"""Asking the recipe's API over real HTTP, as anybody."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from penstock import Penstock, Worker
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from tests.recipes.exports.resumes import SHORT
from tests.worker.running import working

KEY = "a-service-key-of-the-tests"
SECRET = "a-secret-of-the-tests-with-32-bytes"
WITHIN = 40.0


class Person:
    """One who asks, with a token of their own or the service key."""

    def __init__(self, client: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = self._headers | options.pop("headers", {})
        url = path if path.startswith("/api/") else f"/api/v1{path}"
        return await self._client.request(method, url, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self("GET", path, **options)

    async def post(self, path: str, json: object = None, **options: Any) -> httpx.Response:
        return await self("POST", path, **({} if json is None else {"json": json}), **options)

    async def put(self, path: str, json: object) -> httpx.Response:
        return await self("PUT", path, json=json)

    async def delete(self, path: str) -> httpx.Response:
        return await self("DELETE", path)

    async def document(self, title: str = "Ada's résumé", data: dict[str, Any] = SHORT) -> str:
        """The id of a document that is stored now."""
        answer = await self.post("/documents", {"title": title, "data": data})
        assert answer.status_code == 201, answer.text
        id: str = answer.json()["data"]["id"]
        return id

    async def export(self, document: str, template: str | None = None, **options: Any) -> str:
        """The id of an export that is under way now."""
        body: dict[str, Any] = {"documentId": document, "options": options}
        answer = await self.post("/export/pdf", body | ({"templateSlug": template} if template else {}))
        assert answer.status_code == 202, answer.text
        id: str = answer.json()["data"]["jobId"]
        return id

    async def batch(self, *documents: str, **options: Any) -> dict[str, Any]:
        answer = await self.post("/export/batch", {"documentIds": documents, "options": options})
        assert answer.status_code == 202, answer.text
        started: dict[str, Any] = answer.json()["data"]
        return started

    async def job(self, id: str) -> dict[str, Any]:
        answer = await self.get(f"/export/job/{id}")
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()["data"]
        return told

    async def until(self, id: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The job, when it is as wanted."""
        async with asyncio.timeout(WITHIN):
            while True:
                if wanted(job := await self.job(id)):
                    return job
                await asyncio.sleep(0.02)

    async def ended(self, id: str) -> dict[str, Any]:
        return await self.until(id, lambda job: job["status"] in ("completed", "failed", "cancelled"))

    async def completed(self, id: str) -> dict[str, Any]:
        job = await self.ended(id)
        assert job["status"] == "completed", job
        return job

    async def pdf(self, id: str) -> bytes:
        """The file that an export makes."""
        job = await self.completed(id)
        answer = await self._client.get(job["resultUrl"])
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf")
        return answer.content

    async def history(self, **params: Any) -> list[dict[str, Any]]:
        answer = await self.get("/export/history", params=params)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["data"]["exports"]
        return found

    async def events(self, id: str, *, by_address: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """Everything that the stream of an export tells, to its end."""
        path = f"/api/v1/export/job/{id}/stream"
        token = self._headers["Authorization"].partition(" ")[2]
        given: dict[str, Any] = {"params": {"access_token": token}} if by_address else {"headers": self._headers}
        found = []
        async with asyncio.timeout(WITHIN), self._client.stream("GET", path, **given) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            name = ""
            async for line in answer.aiter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    found.append((name, json.loads(value)))
        return found


def stored_in(folder: Path) -> list[Path]:
    """Every PDF that is there."""
    return sorted(folder.rglob("*.pdf"))


class Exports:
    """`exports.user("ada")`, `exports.service` and `exports.nobody` ask in turn."""

    def __init__(self, app: Penstock, client: httpx.AsyncClient, server: Server) -> None:
        self.app = app
        self.server = server
        self.nobody = Person(client, {})
        self.service = Person(client, {"Authorization": f"Bearer {KEY}"})
        self._client = client

    def worker(self, slots: int = 5, **options: Any) -> AbstractAsyncContextManager[Worker]:
        """A worker with more slots than the queue lets run."""
        return working(self.app, {"exports": slots}, **options)

    def user(self, subject: str = "ada") -> Person:
        return Person(self._client, {"Authorization": f"Bearer {mint(SECRET, subject=subject)}"})


@asynccontextmanager
async def serving(app: Penstock, **settings: Any) -> AsyncIterator[Exports]:
    """A server of the application on a loopback port, its database migrated."""
    await asyncio.to_thread(app.migrate)
    server = Server(app, ServerSettings(service_key=KEY, jwt_secret=SECRET, **settings))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(server.asgi, http="httptools", ws="none", log_level="warning", lifespan="off")
        running = uvicorn.Server(config)
        task = asyncio.create_task(running.serve([listening]))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with httpx.AsyncClient(base_url=base, timeout=30) as client:
                yield Exports(app, client, server)
        finally:
            server.services.hub.leave()
            running.should_exit = True
            await task
            await server.aclose()

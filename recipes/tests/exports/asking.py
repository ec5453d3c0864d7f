"""Asking the recipe's API over real HTTP, as anybody."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from exports.resumes import SHORT
from penstock import Penstock, Worker
from penstock.server import Server
from penstock.server.auth import mint
from shared.asking import Asking, migrated
from tests.kit.serving import AS_SERVICE, SECRET
from tests.kit.until import until
from tests.kit.working import working

WITHIN = 40.0


class Person(Asking):
    prefix = "/api/v1"

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
        return await until(lambda: self.job(id), WITHIN, so=wanted, every=0.02)

    async def ended(self, id: str) -> dict[str, Any]:
        return await self.until(id, lambda job: job["status"] in ("completed", "failed", "cancelled"))

    async def completed(self, id: str) -> dict[str, Any]:
        job = await self.ended(id)
        assert job["status"] == "completed", job
        return job

    async def pdf(self, id: str) -> bytes:
        """The file that an export makes."""
        job = await self.completed(id)
        answer = await self.client.get(job["resultUrl"])
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf")
        return answer.content

    async def history(self, **params: Any) -> list[dict[str, Any]]:
        answer = await self.get("/export/history", params=params)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["data"]["exports"]
        return found

    async def events(self, id: str, of: str = "job", *, by_address: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """Everything that the stream of an export, or of a batch, tells, to its end."""
        async with asyncio.timeout(WITHIN):
            return [each async for each in self.live_events(id, of, by_address=by_address)]

    async def live_events(
        self, id: str, of: str = "job", *, by_address: bool = False
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        path = f"/api/v1/export/{of}/{id}/stream"
        token = self.headers["Authorization"].partition(" ")[2]
        given: dict[str, Any] = {"params": {"access_token": token}} if by_address else {"headers": self.headers}
        async with self.client.stream("GET", path, **given) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            name = ""
            async for line in answer.aiter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)


def stored_in(folder: Path) -> list[Path]:
    """Every PDF that is there."""
    return sorted(folder.rglob("*.pdf"))


class Exports:
    """`exports.user("ada")`, `exports.service` and `exports.nobody` ask in turn."""

    def __init__(self, app: Penstock, client: httpx.AsyncClient, server: Server) -> None:
        self.app = app
        self.server = server
        self.nobody = Person(client, {})
        self.service = Person(client, AS_SERVICE)
        self._client = client

    def worker(self, slots: int = 5, **options: Any) -> AbstractAsyncContextManager[Worker]:
        """A worker with more slots than the queue lets run."""
        return working(self.app, {"exports": slots}, **options)

    def user(self, subject: str = "ada") -> Person:
        return Person(self._client, {"Authorization": f"Bearer {mint(SECRET, subject=subject)}"})


@asynccontextmanager
async def serving(app: Penstock, **settings: Any) -> AsyncIterator[Exports]:
    async with migrated(app, **settings) as served:
        yield Exports(app, served.client, served.server)

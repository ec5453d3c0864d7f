"""Asking the recipe's API over real HTTP, as anybody."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from uuid import UUID

import httpx

from calls.providers import recording
from penstock import Penstock, Worker
from penstock.server import Server
from penstock.server.auth import mint
from shared.asking import Asking, migrated
from tests.kit.serving import AS_SERVICE, SECRET
from tests.kit.until import until
from tests.kit.working import working

WITHIN = 60.0
ACME = UUID("0198c5a0-0000-7000-8000-00000000000a")
GLOBEX = UUID("0198c5a0-0000-7000-8000-00000000000b")
SOUND = recording()


class Person(Asking):
    prefix = "/api/v1/calls"

    async def send(
        self, data: Any = SOUND, org: object = ACME, name: str = "call.wav", **headers: str
    ) -> httpx.Response:
        """The answer to an upload."""
        params = {"orgId": str(org), "fileName": name}
        return await self("POST", "", params=params, content=data, headers={"Content-Type": "audio/wav"} | headers)

    async def upload(self, data: Any = SOUND, org: object = ACME) -> str:
        """The id of a call that waits to be worked on now."""
        answer = await self.send(data, org)
        assert answer.status_code == 201, answer.text
        id: str = answer.json()["id"]
        return id

    async def call(self, id: str) -> dict[str, Any]:
        answer = await self.get(f"/{id}")
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def until(self, id: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return await until(lambda: self.call(id), WITHIN, so=wanted, every=0.05)

    async def ended(self, id: str) -> dict[str, Any]:
        return await self.until(id, lambda call: call["status"] in ("done", "failed"))

    async def done(self, id: str) -> dict[str, Any]:
        call = await self.ended(id)
        assert call["status"] == "done", call
        return call

    async def file(self, call: dict[str, Any], type: str) -> bytes:
        """By the link in the status, which needs no token."""
        answer = await self.client.get(call["files"][type]["url"])
        assert answer.status_code == 200, answer.text
        return answer.content


class Calls:
    """`calls.user("ada")`, `calls.service` and `calls.nobody` ask in turn."""

    def __init__(self, app: Penstock, client: httpx.AsyncClient, server: Server) -> None:
        self.app = app
        self.server = server
        self.nobody = Person(client, {})
        self.service = Person(client, AS_SERVICE)
        self._client = client

    def worker(self, slots: int = 4, **options: Any) -> AbstractAsyncContextManager[Worker]:
        return working(self.app, dict.fromkeys(self.app.queue_names, slots), **options)

    def user(self, subject: str = "ada", org: UUID = ACME) -> Person:
        token = mint(SECRET, subject=subject, org=str(org))
        return Person(self._client, {"Authorization": f"Bearer {token}"})


@asynccontextmanager
async def serving(app: Penstock, **settings: Any) -> AsyncIterator[Calls]:
    async with migrated(app, **settings) as served:
        yield Calls(app, served.client, served.server)

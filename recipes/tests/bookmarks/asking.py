"""Asking the recipe's API over real HTTP, as anybody. Every answer is held against the API's description."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any

import httpx

from bookmarks.described import Description
from penstock import Penstock, Worker
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from penstock_recipes.bookmarks import QUEUE, install
from shared.asking import Asking, migrated
from tests.kit.serving import AS_SERVICE, SECRET
from tests.kit.until import until
from tests.kit.working import working

WITHIN = 40.0


@cache
def described() -> Description:
    """The API's, with the recipe's routes: made once, for it takes a quarter of a second."""
    app = Penstock("postgresql://nowhere")
    install(app)
    return Description(Server(app, ServerSettings()).asgi.openapi())


class Person(Asking):
    prefix = "/api/v1/bookmarks"

    async def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = await super().__call__(method, path, **options)
        described().check(answer)
        return answer

    async def add(self, url: str, **more: Any) -> int:
        """The id of a bookmark that is stored now."""
        answer = await self.post("/add/data", {"url": url} | more)
        assert answer.status_code == 200, answer.text
        id: int = answer.json()["data"]["id"]
        return id

    async def bookmark(self, id: int) -> dict[str, Any]:
        answer = await self.get(f"/{id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["data"]
        return found

    async def until(self, id: int, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The bookmark, when it is as wanted."""
        return await until(lambda: self.bookmark(id), WITHIN, so=wanted, every=0.05)

    async def file(self, link: str) -> httpx.Response:
        """What is behind a link; it needs no token."""
        answer = await self.client.get(link)
        assert answer.status_code == 200, answer.text
        return answer

    async def consume(self, method: str = "POST") -> dict[str, Any]:
        answer = await self(method, "/add/tasks/queue-consumer")
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told


class Bookmarks:
    """`bookmarks.user("ada")`, `bookmarks.service` and `bookmarks.nobody` ask in turn."""

    def __init__(self, app: Penstock, client: httpx.AsyncClient) -> None:
        self.app = app
        self.address = str(client.base_url)
        self._client = client
        self.nobody = Person(client, {})
        self.service = Person(client, AS_SERVICE)

    def user(self, subject: str = "ada") -> Person:
        headers = {"Authorization": f"Bearer {mint(SECRET, subject=subject)}"}
        return Person(self._client, headers)

    def worker(self, slots: int = 5, **options: Any) -> AbstractAsyncContextManager[Worker]:
        return working(self.app, {QUEUE: slots}, **options)

    async def try_again_at_once(self) -> None:
        """From now on, what fails waits for nothing before it is read again; and so does what has failed before."""
        async with self.app.atransaction() as connection:
            await connection.execute(
                """select penstock.set_queue(%s, '{"backoff": {"base": 0.001, "cap": 0.001, "jitter": 0}}')""", [QUEUE]
            )
            await connection.execute(
                "update penstock.jobs set run_at = now() where queue = %s and state = 'scheduled'", [QUEUE]
            )


@asynccontextmanager
async def serving(app: Penstock, **settings: Any) -> AsyncIterator[Bookmarks]:
    async with migrated(app, **settings) as served:
        yield Bookmarks(app, served.client)

"""A Penstock server on a port of its own, in this process, that can be stopped and started again."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock import Penstock
from penstock.server.asgi import Server
from penstock.server.http.uvicorn import HttpServer, open_socket
from penstock.server.settings import ServerSettings
from penstock.server.work import routes
from penstock.server.work.waiting import WaitingWorkers
from penstock.worker import Worker
from tests.kit.until import until

KEY = "a service key for the tests"


class _Counted:
    """Counts requests by their path, numbers and ids left out."""

    def __init__(self, app: ASGIApp, counted: "Counter[str]") -> None:
        self._app = app
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = "/".join("_" if any(map(str.isdigit, part)) else part for part in scope["path"].split("/"))
            self._counted[f"{scope['method']} {path}"] += 1
        await self._app(scope, receive, send)


class Api:
    """The server of an application."""

    def __init__(self, url: str, artifacts: Path, **settings: Any) -> None:
        self.requests: Counter[str] = Counter()
        self._url = url
        self._artifacts = artifacts
        self._settings = ServerSettings(service_key=KEY, docs=False, **settings)
        self._port = 0
        self._http: HttpServer | None = None
        self._running: asyncio.Task[None] | None = None
        self.app: Penstock
        self.workers: WaitingWorkers

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """On the port it had before."""
        self.app = Penstock(self._url, artifacts=self._artifacts)
        server = Server(self.app, self._settings)
        if not any(getattr(route, "path", "").startswith("/api/work") for route in server.asgi.routes):
            server.asgi.include_router(routes.router)
        server.asgi.add_middleware(_Counted, counted=self.requests)
        workers = server.services.workers
        assert workers is not None
        self.workers = workers
        listening = open_socket("127.0.0.1", self._port)
        self._port = listening.getsockname()[1]
        self._http = HttpServer(server, listening)
        self._running = asyncio.create_task(self._http.run())
        async with self.client() as client:
            await until(lambda: _answers(client))

    async def stop(self) -> None:
        http, running = self._http, self._running
        self._http = self._running = None
        if http is not None and running is not None:
            http.stop()
            await asyncio.wait_for(running, 20)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def client(self, key: str = KEY) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.address, headers={"authorization": f"Bearer {key}"}, timeout=40)


async def _answers(client: httpx.AsyncClient) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return (await client.get("/healthz")).status_code == 200
    return False


@asynccontextmanager
async def working(
    app: Penstock, api: Api, queues: Mapping[str, int] | None = None, **options: Any
) -> AsyncIterator[Worker]:
    """A worker over the API for as long as the block lasts."""
    worker = app.worker(queues, api=api.address, key=KEY, **options)
    running = asyncio.create_task(worker.run())
    ready = asyncio.create_task(worker.ready.wait())
    await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        ready.cancel()
        await running
    try:
        yield worker
    finally:
        worker.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, 30)

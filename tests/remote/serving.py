"""A Penstock server on a port of its own, in this process, that can be stopped and started again."""

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock import Penstock
from penstock.server.asgi import Server
from penstock.server.settings import ServerSettings
from penstock.server.work.waiting import WaitingWorkers
from penstock.worker import Worker
from tests.kit import working as in_process
from tests.kit.serving import KEY, open_port, running


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
        self._running = AsyncExitStack()
        self.app: Penstock
        self.workers: WaitingWorkers

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """On the port it had before."""
        self.app = Penstock(self._url, artifacts=self._artifacts)
        server = Server(self.app, self._settings)
        server.asgi.add_middleware(_Counted, counted=self.requests)
        workers = server.services.workers
        assert workers is not None
        self.workers = workers
        listening = open_port(self._port)
        self._port = listening.getsockname()[1]
        await self._running.enter_async_context(running(server, listening))

    async def stop(self) -> None:
        await self._running.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def client(self, key: str = KEY) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.address, headers={"authorization": f"Bearer {key}"}, timeout=40)


def working(
    app: Penstock, api: Api, queues: Mapping[str, int] | None = None, **options: Any
) -> AbstractAsyncContextManager[Worker]:
    """A worker over the API for as long as the block lasts."""
    return in_process.working(app, queues, api=api.address, key=KEY, **options)

"""A server on a loopback port with jobs in every state, whose ids and leases stand in for made-up ones in requests."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from penstock import Context, Flow, Penstock
from penstock.engine import commands
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from penstock.server.files.links import link_to
from tests.kit.serving import KEY, SECRET, open_port, running

T = TypeVar("T")

HEADERS: dict[str, dict[str, str]] = {
    "anonymous": {},
    "user": {"Authorization": f"Bearer {mint(SECRET, subject='alice', org='acme')}"},
    "service": {"Authorization": f"Bearer {KEY}"},
}


def new_app(url: str, folder: Path) -> Penstock:
    app = Penstock(url, folder=folder)

    @app.job(users=True, max_attempts=1)
    async def export_pdf(ctx: Context, document_id: str, pages: int = 1) -> dict[str, int]:
        """Exports a document as PDF."""
        if document_id == "missing":
            raise LookupError("there is no such document")
        await ctx.progress(50, "half of the pages", done=pages / 2, total=pages, phase="text")
        await ctx.artifacts.put("resume.pdf", b"%PDF-1.7 " * pages)
        await ctx.artifacts.put("old.txt", b"old", expires_in=1e-6)
        return {"pages": pages}

    @app.job(users=True, queue="renders")
    def render(document_id: str) -> None: ...

    @app.job
    def internal(number: int) -> None: ...

    @app.flow(users=True)
    def book(chapters: int) -> Flow:
        flow = Flow(then=internal.prepare(number=0))
        for number in range(min(chapters, 5)):
            flow.add(internal.prepare(number=number))
        return flow

    return app


@dataclass(frozen=True)
class Seeds:
    """What a request may name."""

    jobs: list[UUID]
    artifacts: list[UUID]
    links: list[tuple[UUID, dict[str, str]]]
    """The query of a signed link, and the artifact it leads to."""
    held: UUID
    """A running job, in the hands of `lease` by `claims`."""
    lease: int
    claims: int


class SeededServer:
    def __init__(self, url: str, folder: Path) -> None:
        self._app = new_app(url, folder)
        self._loop = asyncio.new_event_loop()
        self._listening = open_port()
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        settings = ServerSettings(
            service_key=KEY, jwt_secret=SECRET, public_url=self.address, stream_seconds=0.2, max_upload=1_048_576
        )
        self._server = Server(self._app, settings)
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        async with running(self._server, self._listening):
            await self._stop.wait()

    def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        async def whole() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result(60)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def seed(self) -> Seeds:
        """A fresh set, so that what one test cancels and deletes is there for the next."""
        return self._do(self._seed)

    async def _seed(self) -> Seeds:
        app, services = self._app, self._server.services
        await self._server.get_ready()
        jobs = [await self._start(self._app, "render", owner, document_id="d1") for owner in ("alice", "bob")]
        cancelled = await self._start(app, "render", "alice", document_id="d2")
        await app.engine.arun(commands.Cancel([cancelled], "not wanted"))
        exports = [await self._start(app, "export_pdf", who, document_id=name)
                   for who, name in (("alice", "d1"), ("alice", "missing"), ("bob", "d3"))]  # fmt: skip
        flow = Flow(policy="continue")
        for name in ("d1", "missing"):
            flow.add(app.handler("export_pdf").using(owner="alice").prepare(document_id=name))
        batch = (await app.aenqueue(flow)).id
        while await app.atick(queues={"default": 10}):
            pass
        unfinished = Flow(policy="continue")
        unfinished.add(app.handler("render").using(owner="alice").prepare(document_id="d1"))
        started = (await app.aenqueue(unfinished)).id
        lease = await app.engine.arun(commands.OpenLease("a worker of the tests"))
        [held] = await app.engine.arun(commands.Claim(lease, "renders", 1))
        artifacts = await app.engine.arun(commands.ArtifactsOfJobs([*exports, batch]))
        links = [
            (each.id, dict(parse_qsl(urlsplit((await link_to(services, each))[0]).query)))
            for each in artifacts
            if not each.expired
        ]
        return Seeds(
            [*jobs, cancelled, *exports, batch, started, held.id],
            [each.id for each in artifacts],
            links,
            held.id,
            int(lease),
            held.claims,
        )

    async def _start(self, app: Penstock, kind: str, owner: str, **args: Any) -> UUID:
        return (await app.handler(kind).using(owner=owner).aenqueue(**args)).id


@contextmanager
def seeded_server(url: str, folder: Path) -> Iterator[SeededServer]:
    server = SeededServer(url, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()

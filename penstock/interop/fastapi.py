"""FastAPI: Penstock opened and closed with the web application, a dependency, and a worker inside for small services.

    web = FastAPI(lifespan=lifespan(jobs))
    web.mount("/queue", jobs.asgi())

Needs penstock[server], which brings FastAPI.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Annotated, Any
from uuid import UUID

from penstock.app import Penstock
from penstock.errors import PenstockError
from penstock.extras import needs
from penstock.handle import JobHandle

with needs("server", "penstock.interop.fastapi"):
    from fastapi import Depends, FastAPI, Request
    from starlette.requests import HTTPConnection
    from starlette.routing import Mount

    from penstock.server import Server
    from penstock.server.http.address import address_of

__all__ = ["PenstockDep", "get_penstock", "lifespan", "stream_url"]

log = logging.getLogger("penstock.worker")

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[Any]]


def lifespan(
    jobs: Penstock,
    own: Lifespan | None = None,
    *,
    worker: bool | Mapping[str, int] = False,
    grace: float = 5.0,
) -> Lifespan:
    """A lifespan for FastAPI: closes `jobs`, and what was mounted of it, when the web application ends.

    `own` is the application's own lifespan, which runs inside this one: what it opens is there for the worker, and what
    it yields is the state of requests, as usual. With `worker` the web process also runs jobs: True is for all queues
    of the application, a mapping says how many of each at once. At the end they have `grace` seconds to finish.

    ```python
    from fastapi import FastAPI

    from penstock.interop.fastapi import lifespan

    web = FastAPI(lifespan=lifespan(app, worker={"default": 5}))
    ```
    """

    @asynccontextmanager
    async def around(web: FastAPI) -> AsyncIterator[Any]:
        web.state.penstock = jobs
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(jobs)
            state = None if own is None else await stack.enter_async_context(own(web))
            for _, server in _mounted(web, jobs):
                stack.push_async_callback(server.aclose)
            if worker:
                slots = {queue: jobs.slots(queue) for queue in jobs.queue_names} if worker is True else worker
                await stack.enter_async_context(_working(jobs, slots, grace))
            yield state

    return around


@asynccontextmanager
async def _working(jobs: Penstock, slots: Mapping[str, int], grace: float) -> AsyncIterator[None]:
    worker = jobs.worker(slots or None, grace=grace)
    running = asyncio.create_task(worker.run())
    ready = asyncio.create_task(worker.ready.wait())
    await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        ready.cancel()
        await running  # what kept it from starting keeps the web application from it too
    running.add_done_callback(_tell)
    try:
        yield
    finally:
        worker.stop()
        await asyncio.wait([running])


def _tell(running: "asyncio.Task[None]") -> None:
    if not running.cancelled() and (error := running.exception()) is not None:
        log.error("the worker inside this process has ended: %s", " ".join(str(error).split()), exc_info=error)


def get_penstock(connection: HTTPConnection) -> Penstock:
    """A dependency: the Penstock whose `lifespan` the application has. Tests put another in its place by
    `web.dependency_overrides`."""
    found = getattr(connection.app.state, "penstock", None)
    if not isinstance(found, Penstock):
        raise PenstockError("this application has no Penstock: FastAPI(lifespan=lifespan(app))")
    return found


PenstockDep = Annotated[Penstock, Depends(get_penstock)]
"""In the parameters of a route: `async def order(jobs: PenstockDep)`."""


def stream_url(request: Request, job: UUID | JobHandle[Any], seconds: float = 600.0) -> str:
    """Where a browser may watch this one job for a while, by EventSource and without a token of its own: for users whom
    your session knows. Look whether the job is theirs before you hand it out."""
    jobs = get_penstock(request)
    for path, server in _mounted(request.app, jobs):
        id = job if isinstance(job, UUID) else job.id
        where = address_of(request.scope, server.services.settings, path)
        return f"{where}/api/jobs/{id}/stream?watch={jobs.watch_token(id, seconds)}"
    raise PenstockError('streams are of the API, which is not mounted: web.mount("/queue", app.asgi())')


def _mounted(web: FastAPI, jobs: Penstock) -> Iterator[tuple[str, Server]]:
    """Where the application has its API, and the server behind it."""
    for route in web.routes:
        server = getattr(getattr(getattr(route, "app", None), "state", None), "server", None)
        if isinstance(route, Mount) and isinstance(server, Server) and server.services.app is jobs:
            yield route.path, server

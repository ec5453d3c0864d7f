"""The server as an ASGI application: to be run by itself, or mounted into another."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.app import Penstock
from penstock.artifact import Artifact
from penstock.engine.faults import answering_within
from penstock.errors import PenstockError
from penstock.server import operations
from penstock.server.auth.authenticate import Authenticator
from penstock.server.auth.development import SignIn
from penstock.server.dashboard import Dashboard
from penstock.server.dependencies import Services
from penstock.server.events import approvals, callbacks
from penstock.server.events import routes as events
from penstock.server.files import routes as files
from penstock.server.files.links import artifact_links
from penstock.server.files.signing import refuse_short_secret
from penstock.server.http import docs_page, errors
from penstock.server.http.access_log import KeptFromLogs
from penstock.server.http.address import Address
from penstock.server.http.body import BodyLimits
from penstock.server.http.exit import Exit
from penstock.server.http.openapi import described
from penstock.server.http.traffic import CountTraffic, Traffic
from penstock.server.jobs import elsewhere
from penstock.server.jobs import routes as jobs
from penstock.server.jobs.compose import starting_at_most
from penstock.server.live import sse
from penstock.server.live.hub import Hub
from penstock.server.live.states import HERE, Link
from penstock.server.rest import routes as rest
from penstock.server.rest import storage
from penstock.server.rest.shapes import ClientShapes
from penstock.server.settings import ServerSettings
from penstock.server.web import module
from penstock.server.web.pages import page_routes
from penstock.server.web.sign_in import sign_in_routes
from penstock.server.work import routes as work
from penstock.server.work.upkeep import Upkeep
from penstock.server.work.waiting import WaitingWorkers
from penstock.storage.links import address

READY_WITHIN = 0.9
"""Seconds in which /readyz finds out: probes give up after one."""

_ABOUT = """Jobs on Postgres: start them, follow their progress, fetch what they made.

Send `Authorization: Bearer <token>`: a user's JWT, or the service key."""


_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID")
_SUPABASE_HEADERS = ("apikey", "Prefer", "Accept-Profile", "Content-Profile", "X-Client-Info", "X-Supabase-Api-Version")
"""What Supabase's clients send from a browser."""

_ROOMS = [
    room.router for room in (jobs, events, approvals, callbacks, sse, files, operations, work, module, rest, storage)
]
_ROOMS_BESIDE = [elsewhere.router, sse.router, files.router, operations.health, module.router]
"""Where jobs are not in the database: what knows of that."""


class Server:
    """`server.asgi` answers requests. It gets ready with the first one, so it needs no lifespan: that of a mounted
    application is never run. `sign_in` is for development."""

    def __init__(self, app: Penstock, settings: ServerSettings, sign_in: SignIn | None = None) -> None:
        refuse_short_secret(settings)
        app.check_needs()
        self.sign_in = sign_in
        jobs_here = app.engine.capabilities.database
        self._upkeep = Upkeep(app)
        self.services = Services(
            app=app,
            settings=settings,
            authenticator=Authenticator(settings),
            hub=Hub(app.engine, app.database if jobs_here else None, keep_alive=settings.keep_alive, links=self._links),
            traffic=Traffic(),
            upkeep=self._upkeep,
            workers=WaitingWorkers(app.database),
        )
        self.dashboard = Dashboard(self.services) if settings.dashboard and jobs_here else None
        self._exit = Exit(self.leave)
        self._ready = False
        self._readying: asyncio.Task[None] | None = None
        self.asgi = self._build()

    def _build(self) -> FastAPI:
        settings = self.services.settings
        api = FastAPI(
            title="Penstock",
            version=version("penstock"),
            description=_ABOUT,
            lifespan=self._lifespan,
            docs_url=None,
            redoc_url=None,
            generate_unique_id_function=lambda route: route.name,
            openapi_url="/openapi.json" if settings.docs else None,
            redirect_slashes=False,
        )
        api.state.services = self.services
        api.state.server = self
        errors.install(api)
        # an application's own come first: it may answer in words of its own where the server has a route too
        built_in = len(api.routes)
        for router in self.services.app.routers:
            api.include_router(router if isinstance(router, APIRouter) else router())
        own = api.routes[built_in:]
        for router in _ROOMS if self.services.app.engine.capabilities.database else _ROOMS_BESIDE:
            api.include_router(router)
        api.include_router(page_routes(self.services.app))
        if self.sign_in is not None:
            way_in = self.dashboard.sign_in.once if self.dashboard is not None else None
            api.include_router(sign_in_routes(self.sign_in, way_in))
        api.openapi = lambda: described(api, own)  # type: ignore[method-assign]
        if settings.docs:
            api.add_api_route("/docs", docs_page.show, include_in_schema=False, response_class=Response)
        if self.dashboard is not None:
            api.router.routes.extend(self.dashboard.routes())
        if not self.services.app.engine.capabilities.database:
            api.include_router(elsewhere.refused)
        api.add_middleware(BodyLimits, settings=settings, uploads=self.services.app.upload_paths)
        api.add_middleware(_GetReady, server=self)
        api.add_middleware(ClientShapes)
        api.add_middleware(Address, settings=settings)
        api.add_middleware(CountTraffic, traffic=self.services.traffic)
        origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
        if origins:
            # tokens are sent in a header, never as cookies, so no credentials
            api.add_middleware(
                CORSMiddleware,
                allow_origins=origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=[*_HEADERS, *_SUPABASE_HEADERS],
                expose_headers=["ETag", "Location", "Retry-After", "Content-Range"],
            )
        api.add_middleware(KeptFromLogs)
        return api

    async def _links(self, artifacts: Sequence[Artifact]) -> Sequence[Link]:
        # for whoever watches, each at an address of their own
        token = address.set(HERE)
        try:
            return await artifact_links(self.services, artifacts)
        finally:
            address.reset(token)

    async def get_ready(self) -> None:
        """Tells the database what users may start, and goes on with what operators began. Once."""
        if self._ready:
            return
        # one attempt for all who wait for it: while the database is away each of their own would wait for the others'
        if self._readying is None or self._readying.done():
            self._readying = asyncio.get_running_loop().create_task(self._declare())
        await asyncio.shield(self._readying)

    async def _declare(self) -> None:
        await self.services.app.declare()
        if self.services.app.engine.capabilities.database:
            await self._upkeep.take_up()
        self._ready = True

    def leave(self) -> None:
        """Lets every stream and long poll end: a server that is stopped waits for them."""
        self.services.hub.leave()
        if self.dashboard is not None:
            self.dashboard.leave()
        if self.services.workers is not None:
            self.services.workers.leave()

    def watch_for_exit(self) -> None:
        """Sees to it that streams end when the process is told to stop."""
        self._exit.ensure()

    async def aclose(self) -> None:
        """Ends what goes on in the background."""
        await self._exit.stop()
        await self.services.hub.aclose()
        if self.dashboard is not None:
            await self.dashboard.aclose()
        if self.services.workers is not None:
            await self.services.workers.aclose()
        await self._upkeep.aclose()
        await self.services.authenticator.aclose()

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        await self.get_ready()
        yield
        await self.aclose()
        await self.services.app.aclose()


def _saying_why(send: Send) -> Send:
    """Of a start that failed for a reason of ours, only that is told: Starlette would tell it under a traceback."""

    async def tell(message: Message) -> None:
        error = sys.exception()
        if message["type"] == "lifespan.startup.failed" and isinstance(error, PenstockError):
            message = {**message, "message": str(error)}
        await send(message)

    return tell


class _GetReady:
    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, _saying_why(send))
            return
        if scope["type"] != "http" or scope["path"].endswith("/healthz"):
            await self._app(scope, receive, send)
            return
        self._server.watch_for_exit()
        seconds = self._server.services.settings.database_timeout
        if scope["path"].endswith("/readyz"):
            seconds = min(seconds, READY_WITHIN)
        with answering_within(seconds), starting_at_most(self._server.services.settings.max_jobs):
            try:
                async with asyncio.timeout(seconds):
                    await self._server.get_ready()
            except Exception as error:
                await errors.problem_of(error).response()(scope, receive, send)
                return
            await self._app(scope, receive, send)

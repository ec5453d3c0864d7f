"""Penstock: the application object that handlers belong to and jobs are enqueued through."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID

from penstock.artifacts import Artifacts, Storage
from penstock.context import Context, SyncContext
from penstock.cron import CatchUp, Schedule
from penstock.engine import PostgresEngine, calls
from penstock.engine.migrate import Migrated, migrate
from penstock.errors import InvalidInput, UnknownKind
from penstock.flow import BATCH, Flow
from penstock.flow_maker import FlowMaker
from penstock.handle import JobHandle, JobHandles
from penstock.handler import Choices, Handler, Options, Stamp
from penstock.job import NewJob
from penstock.jobs import Jobs
from penstock.middleware import Middleware
from penstock.payload import MAX_PAYLOAD
from penstock.push import MAX_SNOOZES, TIMEOUT, push_to
from penstock.queues import Queues
from penstock.registry import Registry
from penstock.remote import RemoteEngine
from penstock.remote.errors import no_database
from penstock.schedules import CronDecorator, Schedules
from penstock.sql import Migration, quote_schema, read_migrations
from penstock.storage import Store
from penstock.usage import Meter
from penstock.worker import Worker
from penstock.worker.tick import TickResult, tick

if TYPE_CHECKING:
    from fastapi import APIRouter, FastAPI

    from penstock.embedded import EmbeddedPostgres

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Middleware)


class Penstock:
    """Where the jobs live: `url`, else the environment's DATABASE_URL, else an embedded Postgres under `folder`.

    The embedded one is migrated by itself; for any other run `penstock migrate`, or pass migrate=True.
    Files of jobs go to `artifacts`, a folder or s3://bucket…, else PENSTOCK_ARTIFACTS, else a folder under `folder`;
    `artifacts_kept` seconds, unless a job says otherwise.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        schema: str = "penstock",
        folder: str | Path = ".penstock",
        migrate: bool = False,
        pool_size: int = 10,
        max_payload: int = MAX_PAYLOAD,
        artifacts: str | Path | Store | None = None,
        artifacts_kept: float | None = None,
    ) -> None:
        quote_schema(schema)
        self.max_payload = max_payload
        self.engine = PostgresEngine(self.url, schema=schema, pool_size=pool_size)
        self.jobs = Jobs(self.engine)
        self.queues = Queues(self.engine)
        self.usage = Meter(self.engine)
        address = artifacts or os.environ.get("PENSTOCK_ARTIFACTS") or Path(folder) / "artifacts"
        self.artifacts = Artifacts(self.engine, Storage(address, artifacts_kept))
        self._url = url or os.environ.get("DATABASE_URL") or None
        self._folder = Path(folder)
        self._migrates = migrate
        self._migrate_first = migrate
        self._only_api = False
        self._embedded: EmbeddedPostgres | None = None
        self._starting = threading.Lock()
        self._handlers: dict[str, Handler[..., Any]] = {}
        self._flows: dict[str, FlowMaker[...]] = {}
        self._quotas: dict[str, dict[str, int | None]] = {}
        self.migrations: dict[str, Sequence[Migration]] = {}
        self.routers: list[APIRouter] = []
        self._middleware: list[Middleware] = []
        self._stamps: list[Stamp] = []
        self.schedules = Schedules(self.engine, self._handlers, max_payload)

    def url(self) -> str:
        """The database's address; starts the embedded Postgres when there is no other."""
        with self._starting:
            if self._url is None:
                if self._only_api:
                    raise no_database("this")
                from penstock import embedded

                self._embedded = embedded.start(self._folder)
                self._url = self._embedded.url
                self._migrate_first = True
            if self._migrate_first:
                migrate(self._url, self.engine.schema, self.migrations)
                self._migrate_first = False
            return self._url

    @property
    def folder(self) -> Path:
        """Where the embedded Postgres and whatever else belongs to this machine is kept."""
        return self._folder

    def connect_to(self, url: str | None) -> str | None:
        """Leaves its database for the one at `url`, with None for the embedded one; returns where it was, to go back.

        Handlers and handles go along. Not while a worker of this app runs in this program.
        """
        before = None if self._embedded is not None else self._url
        self.engine.pools.leave()
        self._let_go()
        with self._starting:
            self._url = url
            self._migrate_first = self._migrates
        return before

    def migrate(self) -> Migrated:
        """Brings the database to this version's schema."""
        return migrate(self.url(), self.engine.schema, self.migrations)

    def add_migrations(self, application: str, folder: Traversable) -> None:
        """Tables of the application's own: the SQL files of a folder, named like 0001_tables.sql, are applied once each
        when the database is migrated. files(__package__) / "migrations" is such a folder."""
        self.migrations[application] = read_migrations(folder)

    def add_routes(self, router: "APIRouter") -> None:
        """Routes of the application's own, served beside the API; penstock.server has what they may need."""
        self.routers.append(router)

    # Handlers.

    @overload
    def job(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Handler[P, R]: ...
    @overload
    def job(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Handler[P, R]: ...
    @overload
    def job(self, function: Callable[P, Awaitable[R]], /) -> Handler[P, R]: ...
    @overload
    def job(self, function: Callable[P, R], /) -> Handler[P, R]: ...
    @overload
    def job(self, *, kind: str | None = None, **options: Unpack[Choices]) -> "JobDecorator": ...
    def job(self, *function: Callable[..., Any], kind: str | None = None, **options: Unpack[Choices]) -> Any:
        """Makes a function a handler. Options: queue, priority, max_attempts, max_snoozes, backoff, timeout, unique…

        Its first parameter may be a Context; the others are its jobs' arguments. The kind is the function's name.
        """
        decorator = JobDecorator(self, kind, options)
        return decorator(*function) if function else decorator

    def cron(
        self,
        cron: str,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[Choices],
    ) -> CronDecorator:
        """Enqueues a job at each tick: @app.cron("0 2 * * *", tz="Europe/Berlin"), on a function or above @app.job.

        `catch_up` is for ticks that no worker was there for: "none", "one" (the latest) or "all". The name of the
        schedule is the job's kind; give a second schedule of the same kind one of its own.
        """
        schedule = partial(Schedule.of, cron=cron, tz=tz, catch_up=catch_up, name=name)
        return CronDecorator(self.schedules, self.job(**options), options, schedule, args or {})

    @overload
    def flow(self, function: Callable[P, Flow], /) -> FlowMaker[P]: ...
    @overload
    def flow(
        self, *, kind: str | None = None, users: bool = False, quota: str | None = None
    ) -> Callable[[Callable[P, Flow]], FlowMaker[P]]: ...
    def flow(
        self, *function: Callable[..., Flow], kind: str | None = None, users: bool = False, quota: str | None = None
    ) -> Any:
        """Makes a function that composes a Flow startable by its name, as a handler is: its arguments are checked, and
        with users=True users may start it over the API. Its last step may have the same kind, which is then shown."""

        def make(function: Callable[..., Flow]) -> FlowMaker[...]:
            name = kind or function.__name__
            maker: FlowMaker[...] = FlowMaker(
                self.engine, function, name, Options(users=users, quota=quota), self.max_payload
            )
            self._refuse_taken(name, self._flows)
            self._flows[name] = maker
            return maker

        return make(*function) if function else make

    def flow_maker(self, kind: str) -> FlowMaker[...] | None:
        return self._flows.get(kind)

    @property
    def startable(self) -> list[Handler[..., Any] | FlowMaker[...]]:
        """Everything that can be started by the name of its kind, in the order of the names."""
        known: dict[str, Handler[..., Any] | FlowMaker[...]] = {**self._handlers, **self._flows}
        return [known[kind] for kind in sorted(known)]

    def push(
        self,
        kind: str,
        url: str,
        *,
        secret: str | Sequence[str],
        allow: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
        follow_redirects: bool = False,
        args: Callable[..., object] | None = None,
        **options: Unpack[Choices],
    ) -> Handler[..., object]:
        """A kind whose handler is a URL: its jobs are POSTed there as JSON with Standard Webhooks signatures.

        `secret` is whsec_…, or several while it is changed. Private addresses are refused unless `allow` or
        PENSTOCK_PUSH_ALLOW has their network. `args`: a function or dataclass with the arguments that jobs must have.
        `timeout` (30 s) is for the whole exchange; the other options are those of @app.job.
        """
        timeout = options.get("timeout") or TIMEOUT
        function = push_to(
            kind,
            url,
            secret=secret,
            timeout=timeout,
            allow=allow,
            headers=headers,
            follow_redirects=follow_redirects,
            args=args,
        )
        if options.get("isolate") or options.get("batch") is not None:
            raise InvalidInput("isolate" if options.get("isolate") else "batch", "is not for a kind that is pushed")
        # the worker's own limit is behind that of the exchange, which says better what happened
        chosen: Choices = {"max_snoozes": MAX_SNOOZES, **options, "timeout": timeout + 10}
        return JobDecorator(self, kind, chosen)(function)

    def handler(self, kind: str) -> Handler[..., Any]:
        try:
            return self._handlers[kind]
        except KeyError:
            raise UnknownKind(kind, self._handlers) from None

    @property
    def kinds(self) -> list[str]:
        return sorted(self._handlers)

    @property
    def queue_names(self) -> list[str]:
        """The queues that its handlers put their jobs into."""
        return sorted({handler.options.queue for handler in self._handlers.values()}) or ["default"]

    def _register(self, handler: Handler[..., Any]) -> None:
        self._refuse_taken(handler.kind, self._handlers)
        self._handlers[handler.kind] = handler

    def _refuse_taken(self, kind: str, known: Mapping[str, object]) -> None:
        if kind == BATCH or kind in known:
            raise InvalidInput("kind", f"{kind!r} is taken; give this handler another: @app.job(kind=…)")

    # What users may start themselves, over the API or in SQL.

    def quota(
        self,
        name: str,
        *,
        per_day: int | None = None,
        running: int | None = None,
        unfinished: int | None = None,
        storage: int | None = None,
    ) -> None:
        """How much each user may do of the kinds with this quota: operations a day, jobs running and unfinished at the
        same time, and bytes of artifacts. It takes effect when a server of this application starts."""
        self._quotas[name] = {"per_day": per_day, "running": running, "unfinished": unfinished, "storage": storage}

    async def declare(self) -> None:
        """Tells the database which kinds users may start, and within which quotas. A server does so when it starts."""
        for each in self.startable:
            if each.options.quota is not None and each.options.quota not in self._quotas:
                raise InvalidInput("quota", f"{each.options.quota!r} of {each.kind} is not set: app.quota(…)")
        for name, limits in self._quotas.items():
            await self.engine.arun(calls.set_quota(name, limits))
        open_to_users = [handler.declaration() for handler in self._handlers.values() if handler.options.users]
        await self.engine.arun(calls.declare_kinds(open_to_users, self.kinds))

    # Enqueueing what was prepared; a handler's own enqueue is the usual way.

    def prepare(self, kind: str, args: Mapping[str, Any], **options: Unpack[Choices]) -> NewJob:
        """A job by the name of its kind, checked like handler.prepare: for callers that have names, not functions."""
        return self.handler(kind).using(**options).prepare(**args)

    def enqueue(self, work: NewJob | Flow, *, connection: object = None) -> JobHandle[Any]:
        """Enqueues a prepared job, or a flow; the handle of a flow is that of its last step."""
        [first, *_] = self.engine.enqueue(self._known(work), connection)
        return JobHandle(self.engine, first.id, first.created)

    async def aenqueue(self, work: NewJob | Flow, *, connection: object = None) -> JobHandle[Any]:
        [first, *_] = await self.engine.aenqueue(self._known(work), connection)
        return JobHandle(self.engine, first.id, first.created)

    def enqueue_many(self, jobs: Iterable[NewJob], *, connection: object = None) -> JobHandles[Any]:
        """Enqueues prepared jobs of any kinds, all or none; by COPY where it can."""
        known = [job for each in jobs for job in self._known(each)]
        return JobHandles(self.engine, self.engine.enqueue(known, connection))

    async def aenqueue_many(self, jobs: Iterable[NewJob], *, connection: object = None) -> JobHandles[Any]:
        known = [job for each in jobs for job in self._known(each)]
        return JobHandles(self.engine, await self.engine.aenqueue(known, connection))

    def handle(self, id: UUID) -> JobHandle[Any]:
        """A handle on a job by its id."""
        return JobHandle(self.engine, id)

    def _known(self, work: NewJob | Flow) -> list[NewJob]:
        jobs = work.jobs() if isinstance(work, Flow) else [work]
        for job in jobs:
            if job.kind not in self._handlers and job.kind != BATCH:
                raise UnknownKind(job.kind, self._handlers)
        return jobs

    # Running jobs.

    def middleware(self, middleware: M) -> M:
        """Wraps every call of a handler: @app.middleware on `async def f(ctx, call_next): return await call_next()`."""
        self._middleware.append(middleware)
        stamp = getattr(middleware, "stamp", None)
        if stamp is not None:
            self._stamps.append(stamp)
        return middleware

    def worker(
        self,
        queues: Mapping[str, int] | None = None,
        *,
        name: str | None = None,
        grace: float = 30.0,
        lease: float | None = None,
        api: str | None = None,
        key: str | None = None,
    ) -> Worker:
        """A worker for these queues: how many jobs of each may run at once. `lease` in seconds: how long a worker that
        is not heard of keeps its jobs. `grace`: how long running jobs may go on when it stops.

        With `api`, the address of a Penstock server, it needs no database: see `remote_engine`.
        """
        engine = self.engine if api is None else self.remote_engine(api, key)
        return Worker(engine, self._registry(), queues=queues, name=name, grace=grace, lease=lease)

    def remote_engine(self, api: str, key: str | None = None) -> RemoteEngine:
        """The engine behind a server's API, for workers. The service key is `key`, else PENSTOCK_SERVICE_KEY.

        From here on the application starts no embedded Postgres: what a handler does with it goes through the API."""
        self._only_api = True
        return RemoteEngine(api, key or os.environ.get("PENSTOCK_SERVICE_KEY", ""))

    async def run_worker(
        self,
        queues: Mapping[str, int] | None = None,
        *,
        name: str | None = None,
        grace: float = 30.0,
        lease: float | None = None,
        api: str | None = None,
        key: str | None = None,
    ) -> None:
        """Runs a worker inside this program. Cancel the task to stop it: running jobs get their time of grace."""
        await self.worker(queues, name=name, grace=grace, lease=lease, api=api, key=key).run()

    def tick(self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None) -> list[TickResult]:
        """Claims and runs jobs here and now: at most `limit`, for about `budget` seconds. For serverless functions."""
        return asyncio.run(self.atick(limit, budget, queues))

    async def atick(
        self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None
    ) -> list[TickResult]:
        return await tick(self.engine, self._registry(), limit=limit, budget=budget, queues=queues)

    def asgi(self, **settings: Any) -> "FastAPI":
        """The HTTP API as an ASGI application, to run or to mount: FastAPI().mount("/jobs", app.asgi()).

        Settings are those of penstock.server.ServerSettings; what is not given comes from the environment.
        """
        from penstock.server import Server, ServerSettings

        return Server(self, ServerSettings.from_environment(**settings)).asgi

    def _registry(self) -> Registry:
        return Registry(self._handlers, self._middleware, self.schedules.code, self.artifacts.storage)

    # Leaving.

    def close(self) -> None:
        """Closes the connections and lets go of the embedded Postgres, which stops when its last user has."""
        self.engine.close()
        self._let_go()

    async def aclose(self) -> None:
        await self.engine.aclose()
        self._let_go()

    def _let_go(self) -> None:
        if self._embedded is not None:
            self._embedded.close()
            self._embedded = None
            self._url = None

    def __enter__(self) -> "Penstock":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "Penstock":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


class JobDecorator:
    """What @app.job(…) returns: turns the function below it into a handler."""

    def __init__(self, app: Penstock, kind: str | None, options: Choices) -> None:
        self._app = app
        self._kind = kind
        self._options = options

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Handler[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[SyncContext, P], R], /) -> Handler[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Handler[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Handler[P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        chosen = self._options
        fixed = Options(
            isolate=chosen.get("isolate", False), batch=chosen.get("batch"), users=chosen.get("users", False),
            quota=chosen.get("quota"),
        )  # fmt: skip
        handler: Handler[..., Any] = Handler(
            self._app.engine, function, self._kind or function.__name__, fixed, self._app.max_payload, self._app._stamps
        ).using(**self._options)
        self._app._register(handler)
        return handler

"""Penstock: the application object that handlers belong to and jobs are enqueued through."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID

from penstock.context import Context, SyncContext
from penstock.cron import CatchUp, Schedule
from penstock.engine import PostgresEngine
from penstock.engine.migrate import Migrated, migrate
from penstock.errors import InvalidInput, UnknownKind
from penstock.flow import BATCH, Flow
from penstock.handle import JobHandle, JobHandles
from penstock.handler import Choices, Handler, Options, Stamp
from penstock.job import NewJob
from penstock.jobs import Jobs
from penstock.middleware import Middleware
from penstock.payload import MAX_PAYLOAD
from penstock.queues import Queues
from penstock.registry import Registry
from penstock.schedules import CronDecorator, Schedules
from penstock.sql import quote_schema
from penstock.usage import Meter
from penstock.worker import Worker
from penstock.worker.tick import TickResult, tick

if TYPE_CHECKING:
    from penstock.embedded import EmbeddedPostgres

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Middleware)


class Penstock:
    """Where the jobs live: `url`, else the environment's DATABASE_URL, else an embedded Postgres under `folder`.

    The embedded one is migrated by itself; for any other run `penstock migrate`, or pass migrate=True.
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
    ) -> None:
        quote_schema(schema)
        self.max_payload = max_payload
        self.engine = PostgresEngine(self.url, schema=schema, pool_size=pool_size)
        self.jobs = Jobs(self.engine)
        self.queues = Queues(self.engine)
        self.usage = Meter(self.engine)
        self._url = url or os.environ.get("DATABASE_URL") or None
        self._folder = Path(folder)
        self._migrates = migrate
        self._migrate_first = migrate
        self._embedded: EmbeddedPostgres | None = None
        self._starting = threading.Lock()
        self._handlers: dict[str, Handler[..., Any]] = {}
        self._middleware: list[Middleware] = []
        self._stamps: list[Stamp] = []
        self.schedules = Schedules(self.engine, self._handlers, max_payload)

    def url(self) -> str:
        """The database's address; starts the embedded Postgres when there is no other."""
        with self._starting:
            if self._url is None:
                from penstock import embedded

                self._embedded = embedded.start(self._folder)
                self._url = self._embedded.url
                self._migrate_first = True
            if self._migrate_first:
                migrate(self._url, self.engine.schema)
                self._migrate_first = False
            return self._url

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
        return migrate(self.url(), self.engine.schema)

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
        if handler.kind == BATCH or handler.kind in self._handlers:
            raise InvalidInput("kind", f"{handler.kind!r} is taken; give this handler another: @app.job(kind=…)")
        self._handlers[handler.kind] = handler

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
    ) -> Worker:
        """A worker for these queues: how many jobs of each may run at once. `lease` in seconds: how long a worker that
        is not heard of keeps its jobs. `grace`: how long running jobs may go on when it stops."""
        return Worker(self.engine, self._registry(), queues=queues, name=name, grace=grace, lease=lease)

    async def run_worker(
        self,
        queues: Mapping[str, int] | None = None,
        *,
        name: str | None = None,
        grace: float = 30.0,
        lease: float | None = None,
    ) -> None:
        """Runs a worker inside this program. Cancel the task to stop it: running jobs get their time of grace."""
        await self.worker(queues, name=name, grace=grace, lease=lease).run()

    def tick(self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None) -> list[TickResult]:
        """Claims and runs jobs here and now: at most `limit`, for about `budget` seconds. For serverless functions."""
        return asyncio.run(self.atick(limit, budget, queues))

    async def atick(
        self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None
    ) -> list[TickResult]:
        return await tick(self.engine, self._registry(), limit=limit, budget=budget, queues=queues)

    def _registry(self) -> Registry:
        return Registry(self._handlers, self._middleware, self.schedules.code)

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
        fixed = Options(isolate=self._options.get("isolate", False), batch=self._options.get("batch"))
        handler: Handler[..., Any] = Handler(
            self._app.engine, function, self._kind or function.__name__, fixed, self._app.max_payload, self._app._stamps
        ).using(**self._options)
        self._app._register(handler)
        return handler

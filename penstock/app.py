"""Penstock: the application object that handlers belong to and jobs are enqueued through."""

import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack
from uuid import UUID

from msgspec import Raw

from penstock.database import Home
from penstock.declarations import Declarations
from penstock.engine import commands
from penstock.engine.beside import EngineBeside
from penstock.engine.faults import checked_timeout
from penstock.engine.protocol import Engine
from penstock.engine.scheme import is_redis
from penstock.errors import EngineCannot, InvalidInput, PenstockError
from penstock.event import Key, checked_event, checked_key, checked_seconds
from penstock.flow import Flow
from penstock.handle import JobHandle, JobHandles
from penstock.handler import elsewhere
from penstock.job import NewJob
from penstock.job_options import Choices
from penstock.jobs import Jobs
from penstock.json import MAX_PAYLOAD, encode_output
from penstock.kinds import Kinds, Registry
from penstock.middleware import Middleware
from penstock.operations import Audit, Operations, Operator
from penstock.outcome import EndHook, FailureHook
from penstock.queue import Queues
from penstock.schedule import Schedules
from penstock.sql import quote_schema
from penstock.statistics import Errors, Statistics
from penstock.storage import Artifacts, Storage, Store
from penstock.storage.links import make_watch_token, signing_secret
from penstock.usage import Meter
from penstock.worker import Worker
from penstock.worker.needs import check_needs, checked_needs
from penstock.worker.own_loop import run_here
from penstock.worker.tick import TickResult, tick
from penstock.workers import Workers

if TYPE_CHECKING:
    import psycopg
    from fastapi import FastAPI

    from penstock.engine.http import HttpEngine
    from penstock.engine.postgres.engine import PostgresEngine
    from penstock.engine.postgres.migrate import Migrated
    from penstock.worker.waker import Waker

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Middleware)
H = TypeVar("H", bound=FailureHook)
E = TypeVar("E", bound=EndHook)

EVENT_KEPT = 7 * 24 * 3600.0
"""Seconds that an event is kept which nobody waits for yet."""


class Penstock(Declarations):
    """An application: its handlers, and the place where their jobs are.

    `url` is the database; without it DATABASE_URL is, and without that an embedded Postgres under `folder`. The
    embedded one is migrated by itself. For any other run `penstock migrate`, or pass migrate=True.

    `jobs`, else PENSTOCK_JOBS_URL, is the address of a Redis when the jobs are to be in queues of BullMQ. The database
    then has the application's own tables and the records of its files; when none is named, an embedded one is started
    only for such tables. With a Redis as `url` there is a database only if DATABASE_URL names one.

    Files of jobs are kept in `artifacts`, a folder or s3://bucket…, else in PENSTOCK_ARTIFACTS, else in a folder under
    `folder`. `artifacts_kept` says for how many seconds, unless a job says otherwise.

    When the database cannot be reached, or answers nobody, DatabaseUnavailable is raised after `database_timeout`
    seconds, else PENSTOCK_DATABASE_TIMEOUT, else 5. Workers, and the handlers that they run, wait for it instead.

    `needs` names what the handlers ask of the engine, such as "durable_waits" or "transactions": see
    `engine.capabilities`; so does `app.need(…)`. Workers and servers refuse to start when the jobs' engine lacks one of
    them.

    ```python
    app = Penstock()

    @app.job(max_attempts=3)
    def send_welcome(address: str) -> str:
        return f"sent to {address}"

    send_welcome.enqueue("ada@example.com")
    app.tick()  # runs what is ready, here; `penstock worker tasks:app` does so until it is stopped
    ```
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        jobs: str | None = None,
        schema: str = "penstock",
        folder: str | Path = ".penstock",
        migrate: bool = False,
        pool_size: int = 10,
        database_timeout: float | None = None,
        max_payload: int = MAX_PAYLOAD,
        artifacts: str | Path | Store | None = None,
        artifacts_kept: float | None = None,
        needs: Iterable[str] = (),
    ) -> None:
        from penstock.engine.postgres.engine import PostgresEngine  # only now: it loads a driver

        quote_schema(schema)
        self.max_payload = max_payload
        only_jobs = is_redis(url)
        if only_jobs:
            url, jobs = None, url
        timeout = checked_timeout(database_timeout)
        self.home = Home(url, Path(folder), schema, migrates=migrate)
        self._database = PostgresEngine(self.url, schema=schema, pool_size=pool_size, timeout=timeout)
        self._only_jobs = only_jobs and not self.home.named
        self.engine = self._engine_of(jobs or os.environ.get("PENSTOCK_JOBS_URL"), timeout)
        """Where its jobs are."""
        self.jobs = Jobs(self.engine)
        self.queues = Queues(self.engine)
        self.usage = Meter(self.engine)
        self.workers = Workers(self.engine)
        self.operations = Operations(self.engine)
        self.audit = Audit(self.engine)
        self.statistics = Statistics(self.engine)
        self.errors = Errors(self.engine)
        address = artifacts or os.environ.get("PENSTOCK_ARTIFACTS") or Path(folder) / "artifacts"
        self.artifacts = Artifacts(self.engine, Storage(address, artifacts_kept))
        self._signing_secret: str | None = None
        """That of the server which this process has made of it."""
        super().__init__(Kinds(self.engine, max_payload))
        self._needs += checked_needs(needs)
        self.schedules = Schedules(self.engine, self._kinds.handlers, max_payload)

    def operator(self, who: str) -> Operator:
        """What somebody does by hand: each of its methods leaves a line in `app.audit` that says who it was."""
        return Operator(self.engine, self.schedules, self.artifacts, who)

    @property
    def database(self) -> "PostgresEngine":
        """The engine on Postgres, for what only a database can do: users' rights, tables of the application's own."""
        self._need_database()
        return self._database

    @property
    def has_database(self) -> bool:
        """Whether there is a database: the jobs may be in Redis. An embedded one is started only when it has the jobs,
        or tables of the application's own."""
        here = self.engine is self._database
        return here or self.home.named or (not self._only_jobs and bool(self.home.migrations))

    def _need_database(self) -> None:
        if not self.has_database:
            raise EngineCannot(
                "database",
                "this needs a database, and the application has only jobs in Redis: set DATABASE_URL, or write "
                "Penstock('postgresql://…', jobs='redis://…')",
            )

    def _engine_of(self, jobs: str | None, timeout: float) -> Engine:
        if not jobs:
            return self._database
        if not is_redis(jobs):
            raise InvalidInput("jobs", "takes redis://…, rediss://… or redis+cluster://…; Postgres is the url itself")
        from penstock.engine.bullmq.engine import BullmqEngine  # only now: it loads a driver

        engine = BullmqEngine(jobs, timeout=timeout)
        return engine if self._only_jobs else EngineBeside(engine, self._database, lambda: self.has_database)

    def url(self) -> str:
        """The database's address; starts the embedded Postgres when there is no other."""
        self._need_database()
        return self.home.url()

    @property
    def folder(self) -> Path:
        """Where the embedded Postgres and whatever else belongs to this machine is kept."""
        return self.home.folder

    def connect_to(self, url: str | None) -> str | None:
        """Leaves its database for the one at `url`, with None for the embedded one; returns where it was, to go back.

        Handlers and handles go along. Not while a worker of this app runs in this program.
        """
        self.database.pools.leave()
        return self.home.move_to(url)

    def migrate(
        self,
        progress: Callable[[int, int, str], None] | None = None,
        *,
        with_: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> "Migrated":
        """Brings the database to this version's schema, and its queues to what the code says of them. `progress` is
        told how many steps are done, of how many, and which is next.

        `with_` adds SQL adapters, as `with_=["pgmq"]`, which every later migration keeps up to date; `without` removes
        them."""
        self._need_database()
        migrated = self.home.migrate(progress, with_=with_, without=without)
        if self._kinds.queues:
            self.engine.run(commands.DeclareQueues(self._kinds.queues))
        return migrated

    # Enqueueing what was prepared; a handler's own enqueue is the usual way.

    def prepare(self, kind: str, args: Mapping[str, Any], **options: Unpack[Choices]) -> NewJob:
        """A job by the name of its kind, checked like handler.prepare: for callers that have names, not functions."""
        return self.handler(kind).using(**options).prepare(**args)

    def prepare_unchecked(self, kind: str, args: Mapping[str, Any], **options: Unpack[Choices]) -> NewJob:
        """The same for a kind whose handler is in another program: nobody here knows which arguments it takes."""
        return elsewhere(self.engine, kind, self.max_payload).using(**options).prepare(**args)

    def enqueue(self, work: NewJob | Flow, *, connection: object = None) -> JobHandle[Any]:
        """Enqueues a prepared job, or a flow; the handle of a flow is that of its last step."""
        [first, *_] = self.engine.enqueue(self._kinds.jobs_of(work), connection)
        return JobHandle(self.engine, first.id, first.created)

    async def aenqueue(self, work: NewJob | Flow, *, connection: object = None) -> JobHandle[Any]:
        [first, *_] = await self.engine.aenqueue(self._kinds.jobs_of(work), connection)
        return JobHandle(self.engine, first.id, first.created)

    def enqueue_many(self, jobs: Iterable[NewJob], *, connection: object = None) -> JobHandles[Any]:
        """Enqueues prepared jobs of any kinds, all or none; by COPY where it can."""
        known = [job for each in jobs for job in self._kinds.jobs_of(each)]
        return JobHandles(self.engine, self.engine.enqueue(known, connection))

    async def aenqueue_many(self, jobs: Iterable[NewJob], *, connection: object = None) -> JobHandles[Any]:
        known = [job for each in jobs for job in self._kinds.jobs_of(each)]
        return JobHandles(self.engine, await self.engine.aenqueue(known, connection))

    def emit(
        self, event: str, *, key: Key = "", payload: object = None, keep: float = EVENT_KEPT, connection: object = None
    ) -> UUID | None:
        """Sends an event to the job that waits for it, by `ctx.wait_for(event, key=…)`. When none does, it is kept for
        `keep` seconds, for the first that will. Each event goes to one job. With `connection` it is part of the
        caller's transaction. Returns the id of the job that received it, None when it is kept.

        ```python
        app.emit("paid", key="order-7", payload={"amount": 12})
        ```
        """
        emitted = _emitted(event, key, payload, keep, alone=connection is None)
        # an engine whose jobs cannot wait says so: in the database nobody would ever look for it
        if connection is None or not self.engine.capabilities.durable_waits:
            return self.engine.run(emitted)
        return self.database.run_on(connection, emitted)

    async def aemit(
        self, event: str, *, key: Key = "", payload: object = None, keep: float = EVENT_KEPT, connection: object = None
    ) -> UUID | None:
        emitted = _emitted(event, key, payload, keep, alone=connection is None)
        # an engine whose jobs cannot wait says so: in the database nobody would ever look for it
        if connection is None or not self.engine.capabilities.durable_waits:
            return await self.engine.arun(emitted)
        return await self.database.arun_on(connection, emitted)

    def handle(self, id: UUID) -> JobHandle[Any]:
        """A handle on a job by its id."""
        return JobHandle(self.engine, id)

    def watch_token(self, job: UUID | JobHandle[Any], seconds: float = 3600.0) -> str:
        """Lets whoever has it watch this one job for a while: new EventSource(`/api/jobs/${id}/stream?watch=${token}`).

        For users that your own session knows, and who have no token of ours. It opens the job's status and stream, with
        links to its files, and nothing else; check that the job is theirs before you hand it out. It is signed with
        PENSTOCK_SIGNING_SECRET, else with PENSTOCK_SERVICE_KEY, which must be the server's.
        """
        if not 0 < seconds <= 604_800:
            raise InvalidInput("seconds", f"must be more than 0 and at most a week, not {seconds!r}")
        named = (os.environ.get(f"PENSTOCK_{name}") for name in ("SIGNING_SECRET", "SERVICE_KEY"))
        secret = self._signing_secret or signing_secret(*named)
        if not secret:
            raise PenstockError(
                "watch tokens are signed: set PENSTOCK_SIGNING_SECRET (or PENSTOCK_SERVICE_KEY) here as for the server"
            )
        return make_watch_token(secret, job if isinstance(job, UUID) else job.id, math.ceil(time.time() + seconds))

    # Running jobs.

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
        """A worker. `queues` says how many jobs of each queue may run at once. When it is not heard of for `lease`
        seconds it loses its jobs. When it stops, running jobs have `grace` seconds to finish.

        With `api`, the address of a Penstock server, it needs no database: see `remote_engine`.
        """
        engine = self.engine if api is None else self.remote_engine(api, key)
        return Worker(engine, self._registry(), queues=queues, name=name, grace=grace, lease=lease)

    def remote_engine(self, api: str, key: str | None = None) -> "HttpEngine":
        """The engine behind a server's API, for workers. The service key is `key`, else PENSTOCK_SERVICE_KEY.

        From here on the application starts no embedded Postgres: what a handler does with it goes through the API."""
        from penstock.engine.http import HttpEngine

        self.home.only_api = True
        return HttpEngine(api, key or os.environ.get("PENSTOCK_SERVICE_KEY", ""))

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

    # by hand: it has an event loop of its own
    def tick(self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None) -> list[TickResult]:
        """Claims and runs jobs here and now: at most `limit`, for about `budget` seconds. For serverless functions."""

        async def in_a_loop() -> list[TickResult]:
            try:
                return await self.atick(limit, budget, queues)
            finally:
                await self.engine.leave_loop()

        return run_here(in_a_loop, "app.tick() cannot run inside an event loop: write `await app.atick()` there")

    async def atick(
        self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None
    ) -> list[TickResult]:
        if queues is None:
            queues = self.slots_of_tick()
        return await tick(self.engine, self._registry(), limit=limit, budget=budget, queues=queues)

    def waker(
        self,
        url: str,
        queues: Sequence[str],
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 300.0,
        processed: str = "processed",
    ) -> "Waker":
        """Calls a URL whenever there is work in one of these queues: `await app.waker(…).run()`, as `penstock wake`.

        `processed` is the field of the consumer's answer that says how many jobs it ran."""
        from penstock.worker.waker import Waker  # it needs httpx

        return Waker(self.engine, url, queues, headers=headers, timeout=timeout, processed=processed)

    def asgi(self, **settings: Any) -> "FastAPI":
        """The HTTP API as an ASGI application, to run or to mount: FastAPI().mount("/jobs", app.asgi()).

        Settings are those of penstock.server.ServerSettings; what is not given comes from the environment.
        """
        self._need_database()
        from penstock.server import Server, ServerSettings

        chosen = ServerSettings.from_environment(**settings)
        self._signing_secret = signing_secret(chosen.signing_secret, chosen.service_key)
        return Server(self, chosen).asgi

    def check_needs(self) -> None:
        """Raises EngineCannot when the application needs something that its jobs' engine cannot do. Workers and servers
        check this when they start."""
        check_needs(self.engine, self._registry())

    def _registry(self) -> Registry:
        return Registry(
            self._kinds.handlers,
            self._middleware,
            self.schedules.code,
            self.artifacts.storage,
            self.failure_hooks,
            self._kinds.queues,
            self._end_hooks,
            self._needs,
            self._kinds.flows,
        )

    # Tables of the application's own.

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator["psycopg.AsyncConnection[Any]"]:
        """A connection of the application's pool in a transaction, which is committed when the block ends. It has the
        application's own rights; in a handler, `ctx.transaction()` commits together with the job instead."""
        async with (await self.database.pools.of_this_loop()).connection() as connection, connection.transaction():
            yield connection

    # Leaving.

    def close(self) -> None:
        """Closes the connections and lets go of the embedded Postgres, which stops when its last user has."""
        self.engine.close()
        self._database.close()
        self.home.let_go()

    async def aclose(self) -> None:
        await self.engine.aclose()
        await self._database.aclose()
        self.home.let_go()

    def __enter__(self) -> "Penstock":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "Penstock":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


def _emitted(event: str, key: Key, payload: object, keep: float, *, alone: bool) -> commands.Emit:
    encoded = Raw(encode_output(payload, "payload"))
    return commands.Emit(checked_event(event), checked_key(key), encoded, checked_seconds("keep", keep), hand=alone)

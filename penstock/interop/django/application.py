"""The application that a project's settings describe."""

import contextvars
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import django
import psycopg
from asgiref.sync import ThreadSensitiveContext, async_to_sync, sync_to_async
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.db import close_old_connections, connections
from django.db.transaction import atomic, set_rollback

from penstock.app import Penstock
from penstock.database import Home
from penstock.engine.commands import CompleteAndEnqueue
from penstock.engine.faults import checked_timeout
from penstock.engine.postgres.drivers import Psycopg, run_script
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.enqueue import complete_and_enqueue
from penstock.engine.postgres.pools import AsyncPool, Pools, SyncPool
from penstock.engine.postgres.transaction import PostgresTransaction
from penstock.errors import PenstockError
from penstock.handler import Handler
from penstock.interop.django.discovery import add_tasks, declared_queues
from penstock.interop.django.settings import PenstockSettings, read_settings
from penstock.kinds import Registry
from penstock.outcome import Failure
from penstock.worker.tick import TickResult

if TYPE_CHECKING:
    from penstock.engine.postgres.migrate import Progress


class DjangoPenstock(Penstock):
    """A Penstock whose database is one of DATABASES. Workers of it know the project's tasks.

    ```python
    from penstock.interop.django import app

    @app.job(max_attempts=3)
    def send_welcome(address: str) -> str:
        return f"sent to {address}"
    ```
    """

    def __init__(self, settings: PenstockSettings) -> None:
        super().__init__(
            "postgresql://",  # its home knows better
            schema=settings.schema,
            folder=settings.folder,
            pool_size=settings.pool_size,
            database_timeout=settings.database_timeout,
            max_payload=settings.max_payload,
            artifacts=settings.artifacts,
            artifacts_kept=settings.artifacts_kept,
        )
        self.settings = settings
        self.database.pools = _FollowingPools(self)
        self.home = _Home(self)
        self.handlers_of_tasks: dict[str, Handler[..., Any]] = {}

    def _engine_of(self, jobs: str | None, timeout: float) -> PostgresEngine:
        """Whatever PENSTOCK_JOBS_URL says: tasks are enqueued in the project's own database."""
        del jobs, timeout
        return self._database

    @property
    def queue_names(self) -> list[str]:
        """Those of its handlers, and the QUEUES of its backends in TASKS."""
        add_tasks(self)
        return sorted({*super().queue_names, *declared_queues()})

    def add_tasks(self) -> None:
        """Makes a handler of every task that the project has: a worker begins with that."""
        add_tasks(self)

    def slots(self, queue: str, usual: int | None = None) -> int:
        """What `set_slots` has said of the queue, else PENSTOCK['SLOTS']."""
        return super().slots(queue, self.settings.slots if usual is None else usual)

    def on(self, alias: str) -> PostgresEngine:
        """An engine that does everything on Django's own connection, and in its transaction."""
        return _OnConnection(self, alias)

    def tell_of_failure(self, failure: Failure) -> None:
        """As a worker does of a job that it gives up."""
        for hook in self.failure_hooks:
            called: Callable[[Failure], object] = async_to_sync(hook) if _is_async(hook) else hook  # type: ignore[arg-type]
            called(failure)

    async def atick(
        self, limit: int = 100, budget: float = 25.0, queues: Mapping[str, int] | None = None
    ) -> list[TickResult]:
        add_tasks(self)
        token = _leaves_soon.set(True)
        try:
            return await super().atick(limit, budget, queues)
        finally:
            _leaves_soon.reset(token)

    def _registry(self) -> Registry:
        add_tasks(self)
        registry = super()._registry()
        handlers = {kind: _with_fresh_connections(handler) for kind, handler in registry.handlers.items()}
        hooks = [_with_fresh(hook) for hook in registry.failure_hooks]
        return replace(registry, handlers=handlers, failure_hooks=hooks)


class _Home(Home):
    """One of DATABASES; under the test runner the database that it has made."""

    def __init__(self, app: DjangoPenstock) -> None:
        super().__init__("postgresql://", Path(app.settings.folder), app.settings.schema, migrates=False)
        self._app = app
        self._address: str | None = None

    def url(self, progress: "Progress | None" = None, *, with_: Sequence[str] = (), without: Sequence[str] = ()) -> str:
        if (address := self._app.settings.address()) != self._address:
            self.move_to(address)
            self._address = address
        return super().url(progress, with_=with_, without=without)


class _FollowingPools(Pools):
    """Which never hand out a connection to the project's own database while its tests run in another."""

    def __init__(self, app: DjangoPenstock) -> None:
        settings, outage = app.settings, app.database.outage
        timeout = checked_timeout(settings.database_timeout)
        super().__init__(app.url, settings.schema, settings.pool_size, timeout=timeout, outage=outage)
        self._app = app
        self._followed = settings.named

    def sync(self) -> SyncPool:
        self._follow()
        return super().sync()

    async def of_this_loop(self) -> AsyncPool:
        self._follow()
        return await super().of_this_loop()

    def _follow(self) -> None:
        if (named := self._app.settings.named) != self._followed:
            self.leave()
            self._followed = named


class _OnConnection(PostgresEngine):
    def __init__(self, app: DjangoPenstock, alias: str) -> None:
        self._alias = alias
        super().__init__(app.url, schema=app.database.schema)

    # by hand: this one is what the other calls
    def run(self, asked: Any, /) -> Any:
        if isinstance(asked, CompleteAndEnqueue):
            with self.transaction() as opened:
                return opened.complete(asked)
        return self.run_on(self._connection(), asked)

    async def arun(self, asked: Any, /) -> Any:
        # in the thread that has the connection, as asgiref knows
        return await sync_to_async(self.run)(asked)

    def enqueue(self, work: Any, connection: object = None) -> Any:
        return super().enqueue(work, connection or self._connection())

    # by hand: Django has no async connection
    @contextmanager
    def transaction(self) -> Iterator["_OpenTransaction"]:
        """Of Django's connection, or a savepoint where it is in one: what is not committed in there is undone."""
        with atomic(using=self._alias):
            connection = self._connection()
            if not isinstance(connection, psycopg.Connection):
                raise PenstockError("ctx.enqueue() and ctx.transaction() in run_tasks() need psycopg 3: use drain(app)")
            connection.execute("select")  # else the driver took the first block of the handler for all of it
            opened = _OpenTransaction(cast(Any, connection), self.schema)
            try:
                yield opened
            finally:
                if not opened.committed:
                    set_rollback(True, using=self._alias)

    def atransaction(self) -> NoReturn:
        raise PenstockError(
            "Django has no async connection for ctx.transaction() in run_tasks(): "
            "use drain(app) in a TransactionTestCase"
        )

    def _connection(self) -> object:
        """Its driver's, where that is ours too: Django's own cursors take no binary parameters."""
        wrapper = connections[self._alias]
        wrapper.ensure_connection()
        wrapper.validate_no_broken_transaction()
        return wrapper.connection if isinstance(wrapper.connection, psycopg.Connection) else wrapper


class _OpenTransaction(PostgresTransaction):
    committed = False

    def commit(self) -> None:
        self.committed = True

    def complete(self, command: CompleteAndEnqueue, /) -> bool:
        runner = Psycopg(self.connection, self._schema)
        self.committed = run_script(runner, complete_and_enqueue(command), self._schema)
        return self.committed


# Connections of Django in handlers.

_leaves_soon: contextvars.ContextVar[bool] = contextvars.ContextVar("penstock leaves its threads soon", default=False)


@contextmanager
def fresh_connections() -> Iterator[None]:
    """As around a request: none that is broken or too old, and what this leaves behind is looked at, too. The threads
    of a tick are gone afterwards, and their connections with them."""
    close_old_connections()
    try:
        yield
    finally:
        connections.close_all() if _leaves_soon.get() else close_old_connections()


def _with_fresh_connections(handler: Handler[..., Any]) -> Handler[..., Any]:
    if handler.options.isolate:
        return handler  # a process of its own finds the function by its name, and ends with its connections
    changed = copy(handler)
    changed.function = _with_fresh(handler.function)
    return changed


def _with_fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    return _async_call(function) if _is_async(function) else _call(function)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function)


def _call(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with fresh_connections():
            return function(*args, **kwargs)

    return call


def _async_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Django's ORM is called in a thread from there. Without a context of its own all async handlers would share one
    thread, and wait for each other; this one's ends with the handler, so its connections are closed."""

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        async with ThreadSensitiveContext():
            try:
                return await function(*args, **kwargs)
            finally:
                await sync_to_async(connections.close_all)()

    return call


# The one of this process.

_making = threading.RLock()
_app: DjangoPenstock | None = None


def the_app() -> DjangoPenstock:
    """Made when it is first asked for. Also where nobody has set Django up, as the `penstock` command has not."""
    global _app
    with _making:
        if _app is None:
            if not apps.ready and not apps.loading:
                django.setup()
            _app = DjangoPenstock(read_settings())
        return _app


def _read_again(*, setting: str, **_: object) -> None:
    """The tests of a project may change where the jobs are; handlers stay with the application they belong to."""
    if setting == "PENSTOCK" and _app is not None:
        _app.database.pools.leave()
        with suppress(ImproperlyConfigured):  # which the checks say
            _app.settings = read_settings()


setting_changed.connect(_read_again, dispatch_uid="penstock settings")

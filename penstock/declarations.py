"""What an application declares: its handlers and schedules, its queues and quotas, its own tables, routes and pages.
Nothing here touches the database before it is migrated, or a worker or server starts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from penstock.context import Context, SyncContext
from penstock.cron import CatchUp, Schedule
from penstock.database import Home
from penstock.errors import InvalidInput
from penstock.flow import Flow
from penstock.flow_maker import FlowMaker
from penstock.handler import Handler
from penstock.job_options import Choices, ChoicesOfOne, Options
from penstock.kinds import JobDecorator, Kinds
from penstock.middleware import Middleware
from penstock.outcome import EndHook, FailureHook, Outcome
from penstock.push import MAX_SNOOZES, TIMEOUT, push_to
from penstock.queue import Settings, as_json
from penstock.schedule import CronDecorator, Schedules
from penstock.sql import read_migrations
from penstock.web_page import WebPage
from penstock.worker.needs import checked_needs
from penstock.worker.run import check_slots
from penstock.worker.tick import SLOTS as SLOTS_OF_TICK
from penstock.worker.worker import SLOTS

if TYPE_CHECKING:
    from fastapi import APIRouter

    from penstock.handler import AsyncContextHandler, AsyncHandler, SyncContextHandler, SyncHandler
    from penstock.kinds import BatchDecorator

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=Middleware)
H = TypeVar("H", bound=FailureHook)
E = TypeVar("E", bound=EndHook)


class Declarations:
    """The part of an application that is said once, when its modules are loaded."""

    home: Home
    schedules: Schedules

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self.routers: list[APIRouter | Callable[[], APIRouter]] = []
        self.upload_paths: set[str] = set()
        self.pages: list[WebPage] = []
        self.examples: list[str] = []
        self._middleware: list[Middleware] = []
        self.failure_hooks: list[FailureHook] = []
        self._end_hooks: list[EndHook] = []
        self._slots: dict[str, int] = {}
        self._needs: list[str] = []

    def add_migrations(self, application: str, folder: Traversable) -> None:
        """Tables of the application's own: the SQL files of a folder, named like 0001_tables.sql, are applied once each
        when the database is migrated. files(__package__) / "migrations" is such a folder."""
        self.home.migrations[application] = read_migrations(folder)

    def add_routes(self, router: "APIRouter | Callable[[], APIRouter]", *, uploads: Iterable[str] = ()) -> None:
        """Routes of the application's own, served beside the API; penstock.server has what they may need. Given as a
        function they are made when there is a server: workers do without FastAPI.

        `uploads` are the paths of those that take files: what is sent there may be as large as PENSTOCK_MAX_UPLOAD.
        """
        self.routers.append(router)
        self.upload_paths.update(uploads)

    def add_page(self, path: str, folder: Traversable, *, title: str, about: str = "") -> None:
        """A page of the application's own: the folder's index.html at `path`, its other files below, none of them with
        a script or style inside. `/penstock.js` has what they may need; docs/guides/web.md says how."""
        page = WebPage(path, folder, title, about)
        if page in self.pages:
            return
        if any(path == other.path for other in self.pages):
            raise InvalidInput("path", f"{path!r} is another page's already")
        self.pages.append(page)

    def example(self, command: str) -> None:
        """A shell command that shows what the application does: `penstock up` proposes it, with the server's address
        for `{api}`. Say who asks by `penstock token --sub ada --header | curl -H @- {api}/…`: so no key is in `ps`."""
        self.examples.append(command)

    # Handlers.

    @overload
    def job(  # type: ignore[overload-overlap]
        self, function: Callable[Concatenate[Context, P], Awaitable[R | Outcome]], /
    ) -> "AsyncContextHandler[P, R]": ...
    @overload
    def job(self, function: Callable[Concatenate[SyncContext, P], R | Outcome], /) -> "SyncContextHandler[P, R]": ...
    @overload
    def job(  # type: ignore[overload-overlap]
        self, function: Callable[P, Awaitable[R | Outcome]], /
    ) -> "AsyncHandler[P, R]": ...
    @overload
    def job(self, function: Callable[P, R | Outcome], /) -> "SyncHandler[P, R]": ...
    @overload
    def job(  # type: ignore[overload-overlap]
        self, *, batch: int, kind: str | None = None, **options: Unpack[ChoicesOfOne]
    ) -> "BatchDecorator": ...
    @overload
    def job(self, *, kind: str | None = None, **options: Unpack[Choices]) -> "JobDecorator": ...
    def job(self, *function: Callable[..., Any], kind: str | None = None, **options: Unpack[Choices]) -> Any:
        """Makes a function a handler. Options: queue, priority, max_attempts, max_snoozes, backoff, timeout, unique…

        Its first parameter may be a Context; the others are its jobs' arguments. The kind is the function's name. Of
        ready jobs those of a higher priority go first.
        """
        decorator = JobDecorator(self._kinds, kind, **options)
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
            return self._kinds.add_flow(function, kind, Options(users=users, quota=quota))

        return make(*function) if function else make

    def flow_maker(self, kind: str) -> FlowMaker[...] | None:
        """The function that composes flows of this kind, if there is one."""
        return self._kinds.flows.get(kind)

    @property
    def startable(self) -> list[Handler[..., Any] | FlowMaker[...]]:
        """Everything that can be started by the name of its kind, in the order of the names."""
        return self._kinds.startable

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
        return self._kinds.add(function, kind, chosen)

    def handler(self, kind: str) -> Handler[..., Any]:
        """The handler of a kind; UnknownKind when there is none here."""
        return self._kinds.handler(kind)

    @property
    def kinds(self) -> list[str]:
        """The kinds that have a handler here."""
        return sorted(self._kinds.handlers)

    def set_slots(self, queue: str, slots: int) -> None:
        """How many jobs of a queue one worker runs at once, unless it is given another number: for handlers that fill a
        core, as many as there are. More would keep jobs from workers on other machines."""
        check_slots({queue: slots})
        self._slots[queue] = slots

    def slots(self, queue: str, usual: int = SLOTS) -> int:
        """What `set_slots` has said of the queue, else `usual`."""
        return self._slots.get(queue, usual)

    def slots_of_tick(self, queues: Iterable[str] | None = None) -> dict[str, int]:
        """How many jobs of each queue a tick runs at once: of these queues, else of all its handlers'."""
        return {queue: self.slots(queue, SLOTS_OF_TICK) for queue in queues or self.queue_names}

    @property
    def queue_names(self) -> list[str]:
        """The queues that its handlers put their jobs into."""
        return self._kinds.queue_names

    @property
    def declared_queues(self) -> list[str]:
        """The queues that `app.queue(…)` has said something of."""
        return sorted(self._kinds.queues)

    @property
    def known_queues(self) -> list[str]:
        """Both: what is measured of them is there from the beginning."""
        return sorted({*self.queue_names, *self.declared_queues})

    def queue(self, name: str, **settings: Unpack[Settings]) -> None:
        """What a queue is to be: app.queue("mail", max_running_per_key=1, rate=100, rate_period=60).

        It takes effect when the database is migrated, or a worker or server of this application starts. A setting
        changes when the code says something else than the last time; what an operator sets in between stays.
        """
        if "paused" in settings:
            raise InvalidInput("paused", "is the operator's: `penstock queues pause`")
        if not isinstance(name, str) or not name or name in self._kinds.queues:
            raise InvalidInput("name", f"must be a queue that was not declared before, not {name!r}")
        self._kinds.queues[name] = as_json(settings)

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
        self._kinds.quotas[name] = {
            "per_day": per_day,
            "running": running,
            "unfinished": unfinished,
            "storage": storage,
        }

    async def declare(self) -> None:
        """Tells the database which kinds users may start, and within which quotas. A server does so when it starts."""
        await self._kinds.declare()

    def need(self, *capabilities: str) -> None:
        """Names what the application asks of the engine that has its jobs, as needs= of Penstock does: for a function
        that adds jobs to an application which others have made. Nothing is refused before it starts.

        ```python
        app.need("transactions", "durable_waits")
        ```
        """
        self._needs += checked_needs(capabilities)

    # Around every run.

    def middleware(self, middleware: M) -> M:
        """Wraps every call of a handler: @app.middleware on `async def f(ctx, call_next): return await call_next()`."""
        self._middleware.append(middleware)
        stamp = getattr(middleware, "stamp", None)
        if stamp is not None:
            self._kinds.stamps.append(stamp)
        return middleware

    def on_failure(self, hook: H) -> H:
        """Calls a function, sync or async, with the Failure of each job that a worker of this application gives up.

        What it raises is logged and has no other effect. When a job was given up because its worker was lost
        (`error_type` "WorkerLost"), another worker or a tick calls the function; so it is when a flow failed because of
        its jobs ("FlowFailed").
        """
        self.failure_hooks.append(hook)
        return hook

    def on_end(self, hook: E) -> E:
        """Calls a function with the EndedRun of each run that a worker of this application has reported: for metrics.

        It is called on the event loop, thousands of times a second on a busy worker: it must be quick. What it raises
        is logged and has no other effect.
        """
        self._end_hooks.append(hook)
        return hook

"""The kinds of an application: its handlers and flows by name, what users may start of them, and all that its workers
need to know."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from penstock.context import Context, SyncContext
from penstock.cron import Schedule
from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput, UnknownKind
from penstock.flow import BATCH, Flow
from penstock.flow_maker import FlowMaker
from penstock.handler import Handler, Stamp
from penstock.job import NewJob
from penstock.job_options import Choices, Options
from penstock.middleware import Middleware
from penstock.outcome import EndHook, FailureHook, Outcome
from penstock.storage import Storage

if TYPE_CHECKING:
    from penstock.handler import (
        AsyncBatchHandler,
        AsyncContextHandler,
        AsyncHandler,
        SyncBatchHandler,
        SyncContextHandler,
        SyncHandler,
    )

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Kinds:
    def __init__(self, engine: Engine, max_payload: int) -> None:
        self.handlers: dict[str, Handler[..., Any]] = {}
        self.flows: dict[str, FlowMaker[...]] = {}
        self.quotas: dict[str, dict[str, int | None]] = {}
        self.queues: dict[str, dict[str, Any]] = {}
        """What the code says of them: the settings as JSON, by the queue's name."""
        self.stamps: list[Stamp] = []
        """What middleware adds to every job of these handlers."""
        self._engine = engine
        self._max_payload = max_payload

    def add(self, function: Callable[..., Any], kind: str | None, chosen: Choices) -> Handler[..., Any]:
        fixed = Options(
            isolate=chosen.get("isolate", False), batch=chosen.get("batch"), users=chosen.get("users", False),
            quota=chosen.get("quota"), retry_on=chosen.get("retry_on"), no_retry_on=chosen.get("no_retry_on", ()),
            version=chosen.get("version"),
        )  # fmt: skip
        handler: Handler[..., Any] = Handler(
            self._engine, function, kind or function.__name__, fixed, self._max_payload, self.stamps
        ).using(**chosen)
        _refuse_taken(handler.kind, self.handlers)
        self.handlers[handler.kind] = handler
        return handler

    def add_flow(self, function: Callable[..., Flow], kind: str | None, options: Options) -> FlowMaker[...]:
        name = kind or function.__name__
        maker: FlowMaker[...] = FlowMaker(self._engine, function, name, options, self._max_payload)
        _refuse_taken(name, self.flows)
        self.flows[name] = maker
        return maker

    def handler(self, kind: str) -> Handler[..., Any]:
        try:
            return self.handlers[kind]
        except KeyError:
            raise UnknownKind(kind, {*self.handlers, *self.flows} - {kind}) from None

    def jobs_of(self, work: NewJob | Flow) -> list[NewJob]:
        """Each of which has a handler here."""
        jobs = work.jobs() if isinstance(work, Flow) else [work]
        for job in jobs:
            if job.kind not in self.handlers and job.kind != BATCH:
                raise UnknownKind(job.kind, self.handlers)
        return jobs

    @property
    def startable(self) -> list[Handler[..., Any] | FlowMaker[...]]:
        known: dict[str, Handler[..., Any] | FlowMaker[...]] = {**self.handlers, **self.flows}
        return [known[kind] for kind in sorted(known)]

    @property
    def queue_names(self) -> list[str]:
        return sorted({handler.options.queue for handler in self.handlers.values()}) or ["default"]

    async def declare(self) -> None:
        """Tells the database which of them users may start, within which quotas, and what their queues are to be."""
        for each in self.startable:
            if each.options.quota and each.options.quota not in self.quotas:
                raise InvalidInput("quota", f"{each.options.quota!r} of {each.kind} is not set: app.quota(…)")
        if self.queues:
            await self._engine.arun(commands.DeclareQueues(self.queues))
        for name, limits in self.quotas.items():
            await self._engine.arun(commands.SetQuota(name, limits))
        open_to_users = [handler.declaration() for handler in self.handlers.values() if handler.options.users]
        await self._engine.arun(commands.DeclareKinds(open_to_users, sorted(self.handlers)))


def _refuse_taken(kind: str, known: Mapping[str, object]) -> None:
    if kind == BATCH or kind in known:
        raise InvalidInput("kind", f"{kind!r} is taken; give this handler another: @app.job(kind=…)")


class JobDecorator:
    """What @app.job(…) returns: turns the function below it into a handler."""

    def __init__(self, kinds: Kinds, kind: str | None, **options: Unpack[Choices]) -> None:
        self._kinds = kinds
        self._kind = kind
        self._options = options

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[Concatenate[Context, P], Awaitable[R | Outcome]], /
    ) -> "AsyncContextHandler[P, R]": ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncContext, P], R | Outcome], /
    ) -> "SyncContextHandler[P, R]": ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: Callable[P, Awaitable[R | Outcome]], /
    ) -> "AsyncHandler[P, R]": ...
    @overload
    def __call__(self, function: Callable[P, R | Outcome], /) -> "SyncHandler[P, R]": ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        return self._kinds.add(function, self._kind, self._options)


if TYPE_CHECKING:

    class BatchDecorator:
        """What @app.job(batch=…) returns, for type checkers: the function takes a list of what its jobs were given."""

        @overload
        def __call__(
            self, function: Callable[[list[T]], Awaitable[Sequence[R | Outcome | Exception]]], /
        ) -> AsyncBatchHandler[T, R]: ...
        @overload
        def __call__(self, function: Callable[[list[T]], Awaitable[None]], /) -> AsyncBatchHandler[T, None]: ...
        @overload
        def __call__(
            self, function: Callable[[list[T]], Sequence[R | Outcome | Exception]], /
        ) -> SyncBatchHandler[T, R]: ...
        @overload
        def __call__(self, function: Callable[[list[T]], None], /) -> SyncBatchHandler[T, None]: ...
        def __call__(self, function: Callable[..., Any], /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Registry:
    """What a worker needs to know of its application."""

    handlers: Mapping[str, Handler[..., Any]]
    middleware: Sequence[Middleware]
    schedules: Sequence[Schedule]
    storage: Storage | None = None
    failure_hooks: Sequence[FailureHook] = ()
    queues: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the code says of its queues."""
    end_hooks: Sequence[EndHook] = ()
    needs: Sequence[str] = ()
    """What the application says that it needs of the engine, beside what can be seen of its kinds."""
    flows: Mapping[str, FlowMaker[...]] = field(default_factory=dict)

    @property
    def startable(self) -> Iterator[tuple[str, Options]]:
        """Each kind with its options: a flow and its last step may share one, and each has options of its own."""
        for kinds in (self.handlers, self.flows):
            yield from ((kind, each.options) for kind, each in kinds.items())

    def batch_size(self, queue: str) -> int:
        """How many jobs a slot of the queue may take at once."""
        sizes = [handler.options.batch or 1 for handler in self.handlers.values() if handler.options.queue == queue]
        return max(sizes, default=1)

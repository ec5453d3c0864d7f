"""Schedules: those of the code, made by @app.cron, and those of the database, which can change while workers run."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, overload
from uuid import UUID

from penstock.context import Context, SyncContext
from penstock.cron import CatchUp, RecordedSchedule, Schedule, Source, next_tick, next_ticks
from penstock.engine import commands
from penstock.engine.commands import RecordedSchedules
from penstock.engine.protocol import Engine
from penstock.engine.script import Script, arun, run
from penstock.errors import InvalidInput
from penstock.handle import JobHandle
from penstock.handler import Handler, elsewhere
from penstock.job import NewJob
from penstock.job_options import Choices
from penstock.outcome import Outcome

if TYPE_CHECKING:
    from penstock.handler import AsyncContextHandler, AsyncHandler, SyncContextHandler, SyncHandler

H = TypeVar("H", bound=Handler[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Listed = list[RecordedSchedule]
Moments = list[datetime]


class Schedules:
    """`app.schedules`: every method has an async twin whose name begins with a.

    ```python
    app.schedules.set("morning", "0 8 * * MON", "greet", {"name": "Ada"}, tz="Europe/Berlin")
    app.schedules.pause("morning")
    ```
    """

    def __init__(self, engine: Engine, handlers: Mapping[str, Handler[..., Any]], max_payload: int) -> None:
        self._engine = engine
        self._handlers = handlers
        self._max_payload = max_payload
        self._code: dict[str, Schedule] = {}

    @property
    def code(self) -> tuple[Schedule, ...]:
        """Those that @app.cron has made here. A worker records them in the database when it starts."""
        return tuple(self._code.values())

    def define(self, schedule: Schedule) -> None:
        """Adds a schedule of the code; @app.cron is the usual way."""
        if schedule.name in self._code:
            raise InvalidInput("name", f"{schedule.name!r} is taken; give this schedule another: @app.cron(…, name=…)")
        self._code[schedule.name] = schedule

    def set(
        self,
        name: str,
        cron: str,
        kind: str,
        args: Mapping[str, Any] | None = None,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        **options: Unpack[Choices],
    ) -> None:
        """Sets up a schedule in the database, or changes it: app.schedules.set("digest", "0 8 * * MON", "send_digest").

        The kind may be one that another program handles; the arguments of one that is known here are checked.
        """
        schedule = self.prepare(name, cron, kind, args, tz=tz, catch_up=catch_up, **options)
        run(self._engine.run, set_script(schedule))

    async def aset(
        self,
        name: str,
        cron: str,
        kind: str,
        args: Mapping[str, Any] | None = None,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        **options: Unpack[Choices],
    ) -> None:
        schedule = self.prepare(name, cron, kind, args, tz=tz, catch_up=catch_up, **options)
        await arun(self._engine.arun, set_script(schedule))

    def list(self) -> Listed:
        """Every schedule of the database, by name."""
        return run(self._engine.run, _list())

    async def alist(self) -> Listed:
        return await arun(self._engine.arun, _list())

    def next_runs(self, name: str, count: int = 5) -> Moments:
        """The next `count` times of a schedule; none while it is paused."""
        return run(self._engine.run, _next_runs(name, count, self._code))

    async def anext_runs(self, name: str, count: int = 5) -> Moments:
        return await arun(self._engine.arun, _next_runs(name, count, self._code))

    def pause(self, name: str) -> None:
        """Nothing of the schedule is fired until `resume`; what it has enqueued goes on."""
        run(self._engine.run, pause_script(name, self._code))

    async def apause(self, name: str) -> None:
        await arun(self._engine.arun, pause_script(name, self._code))

    def resume(self, name: str) -> None:
        """Goes on with the next tick from now; those of the pause are not caught up."""
        run(self._engine.run, resume_script(name, self._code))

    async def aresume(self, name: str) -> None:
        await arun(self._engine.arun, resume_script(name, self._code))

    def run_now(self, name: str) -> JobHandle[Any]:
        """Enqueues a job of the schedule at once, paused or not; its ticks come as they would."""
        return JobHandle(self._engine, run(self._engine.run, run_script(name, self._code)))

    async def arun_now(self, name: str) -> JobHandle[Any]:
        return JobHandle(self._engine, await arun(self._engine.arun, run_script(name, self._code)))

    def remove(self, name: str) -> bool:
        """Removes a schedule; False when there was none. One of the code comes back with the next worker of it."""
        return self._engine.run(commands.RemoveSchedule(name))

    async def aremove(self, name: str) -> bool:
        return await self._engine.arun(commands.RemoveSchedule(name))

    def prepare(
        self,
        name: str,
        cron: str,
        kind: str,
        args: Mapping[str, Any] | None = None,
        *,
        tz: str = "UTC",
        catch_up: CatchUp = "one",
        **options: Unpack[Choices],
    ) -> Schedule:
        """The schedule that `set` would record, checked."""
        handler = self._handlers.get(kind) or elsewhere(self._engine, kind, self._max_payload)
        job = handler.using(**options).prepare(**args or {})
        return Schedule.of(job, cron=cron, tz=tz, catch_up=catch_up, name=name)


def set_script(schedule: Schedule, source: Source = "database") -> Script[None]:
    recorded = yield commands.ListSchedules([])
    yield commands.SetSchedule.of(schedule, source, next_tick(schedule.cron, schedule.tz, recorded.now))


def _list() -> Script[Listed]:
    recorded = yield commands.ListSchedules()
    return cast(Listed, recorded.schedules)


def _next_runs(name: str, count: int, code: Mapping[str, Schedule]) -> Script[Moments]:
    schedule, now = yield from _find(name, code)
    paused = isinstance(schedule, RecordedSchedule) and schedule.paused
    return [] if paused else next_ticks(schedule.cron, schedule.tz, now, count)


def pause_script(name: str, code: Mapping[str, Schedule]) -> Script[None]:
    yield from _find(name, code)
    yield commands.PauseSchedule(name)


def resume_script(name: str, code: Mapping[str, Schedule]) -> Script[None]:
    schedule, now = yield from _find(name, code)
    yield commands.ResumeSchedule(name, next_tick(schedule.cron, schedule.tz, now))


def run_script(name: str, code: Mapping[str, Schedule]) -> Script[UUID]:
    yield from _find(name, code)
    return cast(UUID, (yield commands.RunSchedule(name)))


def _find(name: str, code: Mapping[str, Schedule]) -> Script[tuple[Schedule, datetime]]:
    """A schedule by its name, and the engine's time. One of the code that no worker has recorded yet is recorded."""
    recorded: RecordedSchedules = yield commands.ListSchedules([name])
    if recorded.schedules:
        return recorded.schedules[0], recorded.now
    if name not in code:
        raise InvalidInput("name", f"there is no schedule {name!r}")
    yield from set_script(code[name], "code")
    return code[name], recorded.now


class CronDecorator:
    """What @app.cron(…) returns: schedules the handler below it, or the function that it makes one."""

    def __init__(
        self,
        schedules: Schedules,
        make_handler: Callable[[Callable[..., Any]], Handler[..., Any]],
        options: Choices,
        schedule: Callable[[NewJob], Schedule],
        args: Mapping[str, Any],
    ) -> None:
        self._schedules = schedules
        self._make_handler = make_handler
        self._options = options
        self._schedule = schedule
        self._args = args

    # those of JobDecorator in kinds.py once more: callers' types need them, and overloads cannot be shared
    @overload
    def __call__(self, handler: H, /) -> H: ...  # type: ignore[overload-overlap]
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
        handler = function if isinstance(function, Handler) else self._make_handler(function)
        self._schedules.define(self._schedule(handler.using(**self._options).prepare(**self._args)))
        return handler

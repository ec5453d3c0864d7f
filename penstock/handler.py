"""A handler: a function made enqueueable by @app.job."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, Unpack
from uuid import UUID

from penstock.arguments import Arguments, as_of_one_job
from penstock.backoff import RetryRule
from penstock.context import Context, SyncContext
from penstock.dedupe import PLACEHOLDER, dedupe_key, fill_key
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput
from penstock.handle import JobHandle, JobHandles
from penstock.job import Bulk, NewJob, PreparedJob, Work, new_job_id
from penstock.job_options import Choices, Options
from penstock.json import loads
from penstock.outcome import Outcome

Stamp = Callable[[], Mapping[str, str]]
"""Gives what a job carries from where it is enqueued to where it runs, such as a trace."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_FIELDS = tuple(each.name for each in fields(NewJob))


class Handler(Generic[P, R]):
    """What @app.job makes of a function. Call it to run the function here and now; `enqueue` or `aenqueue` it to have a
    worker run it.

    ```python
    greet.enqueue("Ada")
    greet.using(delay=60, owner="ada", max_attempts=3).enqueue(name="Ada")
    assert greet("Ada") == "hello Ada"
    ```
    """

    def __init__(
        self,
        engine: Engine,
        function: Callable[..., Any],
        kind: str,
        options: Options,
        max_payload: int,
        stamps: Sequence[Stamp] = (),
    ) -> None:
        if options.batch is not None and (not isinstance(options.batch, int) or options.batch < 1 or options.isolate):
            raise InvalidInput("batch", f"must be how many jobs at most, and not isolated, not {options.batch!r}")
        version = options.version
        if version is not None and (type(version) is not int or not 1 <= version < 2**31):
            raise InvalidInput("version", f"must be a whole number from 1 to {2**31 - 1}, not {version!r}")
        self.kind = kind
        self.function = function
        self.options = options
        self.retry_rule = RetryRule.of(options.retry_on, options.no_retry_on)
        self.arguments = Arguments(function, batch=options.batch is not None)
        self._of_one_job = function if options.batch is None else as_of_one_job(function)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.engine = engine
        self._max_payload = max_payload
        self._stamps = stamps
        self._connection: object = None
        self._template: NewJob | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Handler {self.kind}>"

    def using(self, *, connection: object = None, **options: Unpack[Choices]) -> Self:
        """The same handler with other options, or on the caller's own connection, for the calls made through it."""
        try:
            changed = replace(self.options, **options)
        except TypeError:
            unknown = sorted(options.keys() - set(Options.__slots__))
            raise InvalidInput(
                unknown[0], f"is no option; there are {', '.join(Options.__slots__)}, connection"
            ) from None
        handler = copy(self)
        handler.options = changed
        handler._template = None  # noqa: SLF001 - one of its own
        handler._connection = connection if connection is not None else self._connection  # noqa: SLF001
        timeout = changed.timeout
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < 1e10):
            raise InvalidInput("timeout", f"must be a positive number of seconds, not {timeout!r}")
        for name in ("isolate", "batch", "users", "quota", "retry_on", "no_retry_on", "version"):
            free = name == "quota" and changed.quota is False
            if getattr(changed, name) != getattr(self.options, name) and not free:
                raise InvalidInput(name, "is a choice of @app.job, not of a single call")
        self.arguments.refuse_unknown("limit_key", PLACEHOLDER.findall(changed.limit_key or ""))
        handler._as_template()  # noqa: SLF001
        return handler

    def prepare(self, /, *args: P.args, **kwargs: P.kwargs) -> PreparedJob[R]:
        """The job as a value, checked but not enqueued: for flows, batches, app.enqueue_many and ctx.gather."""
        encoded = self.arguments.encode(args, kwargs, self._max_payload)
        job = self._with_keys(replace(self._stamped(), id=new_job_id(), args=encoded))
        return PreparedJob(**{name: getattr(job, name) for name in _FIELDS}, function=self._of_one_job)

    def encode(self, args: Mapping[str, object]) -> bytes:
        """Arguments by name as JSON that the handler will accept."""
        return self.arguments.encode((), args, self._max_payload)

    def declaration(self) -> dict[str, Any]:
        """What the database must know to let users start such jobs: all that they do not choose themselves."""
        template = self._as_template().to_json()
        chosen = {name: value for name, value in template.items() if name not in ("id", "kind", "args")}
        unique = self.options.unique
        if isinstance(unique, str):
            chosen["unique_key"] = unique
        return {"kind": self.kind, "template": chosen, "unique": unique is True, "quota": self.options.quota or None}

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Enqueues a job; commits at once, or with the caller's transaction when `using(connection=…)`."""
        [enqueued] = self.engine.enqueue(self._single(args, kwargs), self._connection)
        return JobHandle(self.engine, enqueued.id, enqueued.created, self._of_one_job)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        [enqueued] = await self.engine.aenqueue(self._single(args, kwargs), self._connection)
        return JobHandle(self.engine, enqueued.id, enqueued.created, self._of_one_job)

    def enqueue_many(self, calls: Iterable[Mapping[str, Any]] | Iterable[NewJob]) -> JobHandles[R]:
        """Enqueues a job for each mapping of arguments, all or none. By COPY: 10,000 take a fraction of a second.

        Or for each of those that `prepare` made, whose arguments a type checker sees:
        send.enqueue_many(send.prepare(to=each) for each in addresses).
        """
        enqueued = self.engine.enqueue(self._bulk(calls), self._connection)
        return JobHandles(self.engine, enqueued, self._of_one_job)

    async def aenqueue_many(self, calls: Iterable[Mapping[str, Any]] | Iterable[NewJob]) -> JobHandles[R]:
        enqueued = await self.engine.aenqueue(self._bulk(calls), self._connection)
        return JobHandles(self.engine, enqueued, self._of_one_job)

    def _single(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Work:
        return self._work([self.arguments.encode(args, kwargs, self._max_payload)])

    def _bulk(self, calls: Iterable[Mapping[str, Any]] | Iterable[NewJob]) -> Work:
        encode, limit = self.arguments.encode, self._max_payload
        encoded: list[bytes] = []
        prepared: list[NewJob] = []
        for each in calls:
            if isinstance(each, NewJob):
                prepared.append(each)
            else:
                encoded.append(encode((), each, limit))
        if not prepared:
            return self._work(encoded)
        if encoded or any(job.kind != self.kind for job in prepared):
            raise InvalidInput("calls", f"takes either mappings of arguments or jobs that {self.kind} has prepared")
        return prepared

    def _work(self, encoded: list[bytes]) -> Work:
        bulk = Bulk.of(self._stamped(), encoded)
        return [self._with_keys(job) for job in bulk.jobs()] if self._makes_keys else bulk

    def _stamped(self) -> NewJob:
        template = self._as_template()
        carried = {name: value for stamp in self._stamps for name, value in stamp().items()}
        return replace(template, options={**(template.options or {}), "carried": carried}) if carried else template

    def _as_template(self) -> NewJob:
        if self._template is None:
            options = self.options
            delay = options.delay.total_seconds() if isinstance(options.delay, timedelta) else options.delay
            self._template = NewJob(
                kind=self.kind, queue=options.queue, priority=options.priority, run_at=options.run_at, delay=delay,
                max_attempts=options.max_attempts, max_snoozes=options.max_snoozes, owner=options.owner,
                org=options.org, limit_key=options.limit_key, idempotency_key=options.idempotency_key,
                after=tuple(_id_of(job) for job in options.after),
                options=options.for_engine(),
                quota=options.quota if options.owner is not None else None,
            )  # fmt: skip
        return self._template

    @property
    def _makes_keys(self) -> bool:
        """Whether a key of each job follows from its arguments."""
        return self.options.unique is not False or PLACEHOLDER.search(self.options.limit_key or "") is not None

    def _with_keys(self, job: NewJob) -> NewJob:
        if job.limit_key is not None and PLACEHOLDER.search(job.limit_key):
            job = replace(job, limit_key=fill_key(job.limit_key, loads(job.args)))
        unique = self.options.unique
        if unique is False:
            return job
        key = dedupe_key(self.kind, job.org, job.args) if unique is True else unique
        return replace(job, unique_key=key)


if TYPE_CHECKING:
    # What calling a handler is like, for type checkers: they all are Handlers.

    class AsyncHandler(Handler[P, R]):
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]: ...

    class SyncHandler(Handler[P, R]):
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    class AsyncContextHandler(Handler[P, R]):
        def __call__(self, ctx: Context, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]: ...

    class SyncContextHandler(Handler[P, R]):
        def __call__(self, ctx: SyncContext, /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    class AsyncBatchHandler(Handler[[T], R]):
        def __call__(self, many: list[T], /) -> Coroutine[Any, Any, Sequence[R | Outcome | Exception] | None]: ...

    class SyncBatchHandler(Handler[[T], R]):
        def __call__(self, many: list[T], /) -> Sequence[R | Outcome | Exception] | None: ...


def elsewhere(engine: Engine, kind: str, max_payload: int) -> Handler[..., Any]:
    """Stands for the handler of a kind that another program has: it takes any arguments."""

    def anything(**args: object) -> None: ...

    return Handler(engine, anything, kind, Options(), max_payload)


def _id_of(job: object) -> UUID:
    if isinstance(job, UUID):
        return job
    if isinstance(job, JobHandle):
        return job.id
    raise InvalidInput("after", f"takes handles and ids of jobs, not {job!r}")

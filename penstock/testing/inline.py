"""Running a handler here and now, without a queue."""

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

from penstock.context import Earlier, JobContext, Report
from penstock.errors import InvalidArguments, InvalidInput
from penstock.event import Key, checked_key
from penstock.handler import Handler
from penstock.job import ClaimedJob, JobState, NewJob, PreparedJob, new_job_id
from penstock.job_options import Options
from penstock.json import MAX_PAYLOAD, encode_output, from_builtin, loads, return_type
from penstock.outcome import OUTCOMES, Cancel, Fail, Outcome
from penstock.testing.contexts import InlineContext, Notes, SyncInlineContext
from penstock.wait_results import Approval
from penstock.worker.calling import one_for_each
from penstock.worker.ending import outcome_raised
from penstock.worker.own_loop import run_here

R = TypeVar("R")


def use_twin(twin: str) -> str:
    return f"an event loop is running here: use `await {twin}(…)`"


@dataclass(frozen=True, slots=True)
class InlineRun(Generic[R]):
    """What a handler did. With an `outcome` there is no output, and nothing that it enqueued counts."""

    output: R | None
    outcome: Outcome | None
    progress: list[Report]
    enqueued: list[NewJob]
    steps: dict[str, Any]
    artifacts: dict[str, bytes]
    ended_at: datetime
    """By the clock of the run, which its sleeps have moved."""


Events = Mapping[str | tuple[str, Key], Sequence[object]]


@dataclass(frozen=True, slots=True)
class Script:
    """What happens around a run."""

    events: dict[str | tuple[str, str], list[Any]]
    answers: dict[str, bool | Approval]
    results: Mapping[str, object]
    now: datetime
    given: Mapping[str, bool]

    @classmethod
    def of(
        cls,
        events: Events | None,
        answers: Mapping[str, bool | Approval] | None,
        results: Mapping[str, object] | None,
        now: datetime | None,
    ) -> "Script":
        if now is not None and now.tzinfo is None:
            raise InvalidInput("now", "needs a time zone, e.g. datetime(2026, 1, 31, tzinfo=UTC)")
        for question, answer in (answers or {}).items():
            if not isinstance(answer, bool | Approval):
                raise InvalidInput("answers", f"{question!r} must be True, False or an Approval, not {answer!r}")
            if isinstance(answer, Approval) and answer.at.tzinfo is None:
                raise InvalidInput("answers", "at: needs a time zone, e.g. datetime(2026, 1, 31, tzinfo=UTC)")
        all_given = {"events": events, "answers": answers, "results": results, "now": now}
        return cls(
            {_named(name): _payloads(name, given) for name, given in (events or {}).items()},
            dict(answers or {}),
            results or {},
            now or datetime.now(UTC),
            {name: value is not None for name, value in all_given.items()},
        )


# by hand: it has an event loop of its own, if it needs one; callers' types need the arguments of arun_inline again
def run_inline(
    handler: Handler[..., R],
    /,
    *args: object,
    outputs: Iterable[object] = (),
    steps: dict[str, Any] | None = None,
    attempt: int = 1,
    events: Events | None = None,
    answers: Mapping[str, bool | Approval] | None = None,
    results: Mapping[str, object] | None = None,
    now: datetime | None = None,
    **kwargs: object,
) -> InlineRun[R]:
    """Runs the handler as a worker would: its arguments and its result are checked and pass through JSON.

    `outputs` is what ctx.outputs() finds: results, or Earlier values. `steps` is what ctx.step remembers, by name; the
    dict is written to, so that a run after a failed one can be given the same. What the handler raises is raised.

    Sleeps take no time: `ctx.now()` and the run's `ended_at` are as late as they would be, from `now` on. `events` has
    a list of payloads for each event, or for (event, key), and `answers` what people say to each question; what waits
    for anything else times out, or ends the run as Suspended. Handlers that it calls are run here too, but those whose
    kind is in `results`: what that says they return, or an exception, a Cancel or a Fail that they raise.

    ```python
    from penstock.testing import run_inline

    run = run_inline(greet, "Ada")
    assert (run.output, run.enqueued) == ("hello Ada", [])
    ```
    """
    call = _InlineCall(handler, args, kwargs, outputs, steps, attempt, Script.of(events, answers, results, now))
    return run_here(call.arun, use_twin("arun_inline")) if call.is_async else call.run()


async def arun_inline(
    handler: Handler[..., R],
    /,
    *args: object,
    outputs: Iterable[object] = (),
    steps: dict[str, Any] | None = None,
    attempt: int = 1,
    events: Events | None = None,
    answers: Mapping[str, bool | Approval] | None = None,
    results: Mapping[str, object] | None = None,
    now: datetime | None = None,
    **kwargs: object,
) -> InlineRun[R]:
    """The same where an event loop runs. A handler that is not async runs in a thread."""
    call = _InlineCall(handler, args, kwargs, outputs, steps, attempt, Script.of(events, answers, results, now))
    return await call.arun() if call.is_async else await asyncio.to_thread(call.run)


class _InlineCall(Generic[R]):
    """A call of a handler, its arguments checked, ready to be made."""

    def __init__(
        self,
        handler: Handler[..., R],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        outputs: Iterable[object],
        steps: dict[str, Any] | None,
        attempt: int,
        script: Script,
    ) -> None:
        given = {"outputs": outputs != (), "steps": steps is not None, "attempt": attempt != 1}
        _refuse_unclear(handler, given | dict(script.given))
        self.is_async = inspect.iscoroutinefunction(handler.function)
        self._handler = handler
        remembered = {} if steps is None else steps
        self._notes = Notes([_earlier(each) for each in outputs], remembered, script.events, script.answers, script.now)
        self._script = script
        self._batch = handler.options.batch is not None
        jobs = _jobs_of_batch(handler, args, kwargs) if self._batch else [handler.prepare(*args, **kwargs)]
        self._job = _claimed(jobs[0], attempt)
        bound = [handler.arguments.bind(job.args.decode()) for job in jobs]
        self._items = [_only(args, kwargs) for args, kwargs in bound] if self._batch else []
        self._args, self._kwargs = ([self._items], {}) if self._batch else bound[0]

    def run(self) -> InlineRun[R]:
        ctx = SyncInlineContext(self._job, self._handler.engine, self._notes, self._run_called)
        try:
            with ctx.handling():
                result = self._handler.function(*self._with(ctx), **self._kwargs)
            ended = self._ended(result, ctx.enqueued)
            if ended.outcome is None:
                ctx.complete(None)
            return ended
        except BaseException as error:
            outcome = outcome_raised(error)
            if outcome is None:
                raise
            return self._ended(outcome, [])
        finally:
            ctx.let_go()

    async def arun(self) -> InlineRun[R]:
        ctx = InlineContext(self._job, self._handler.engine, self._notes, self._arun_called)
        try:
            with ctx.handling():
                result = await self._handler.function(*self._with(ctx), **self._kwargs)
            ended = self._ended(result, ctx.enqueued)
            if ended.outcome is None:
                await ctx.complete(None)
            return ended
        except BaseException as error:
            outcome = outcome_raised(error)
            if outcome is None:
                raise
            return self._ended(outcome, [])
        finally:
            await ctx.let_go()

    # by hand: it has an event loop of its own, if it needs one
    def _run_called(self, job: NewJob) -> Any:
        if job.kind in self._script.results:
            return _scripted(self._script.results[job.kind])
        call = self._of_called(job)
        try:
            return _given_by(asyncio.run(call.arun()) if call.is_async else call.run())
        finally:
            self._notes.now = call.ended_at

    async def _arun_called(self, job: NewJob) -> Any:
        if job.kind in self._script.results:
            return _scripted(self._script.results[job.kind])
        call = self._of_called(job)
        try:
            return _given_by(await call.arun() if call.is_async else await asyncio.to_thread(call.run))
        finally:
            self._notes.now = call.ended_at

    def _of_called(self, job: NewJob) -> "_InlineCall[Any]":
        function = job.function if isinstance(job, PreparedJob) else None
        if function is None:
            raise InvalidInput("results", f"must say what {job.kind!r} returns: it was not made by a handler")
        handler: Handler[..., Any] = Handler(
            self._handler.engine, function, job.kind,
            Options(owner=job.owner or self._job.owner, org=job.org or self._job.org), MAX_PAYLOAD,
        )  # fmt: skip
        # what happens around it happens to those it calls, too
        script = replace(self._script, now=self._notes.now, given={})
        return _InlineCall(handler, (), loads(job.args), (), None, 1, script)

    @property
    def ended_at(self) -> datetime:
        return self._notes.now

    def _with(self, ctx: JobContext) -> list[Any]:
        return [ctx, *self._args] if self._handler.arguments.takes_context else self._args

    def _ended(self, result: Any, enqueued: list[NewJob]) -> InlineRun[R]:
        progress, steps, artifacts = self._notes.progress, self._notes.steps, self._notes.artifacts
        if isinstance(result, OUTCOMES):
            return InlineRun(None, result, progress, [], steps, artifacts, self._notes.now)
        output: Any
        if self._batch:
            output = [_of_one_job(each) for each in one_for_each(result, len(self._items))]
        else:
            kind = return_type(self._handler.function)
            output = msgspec.convert(_through_json(result), kind, dec_hook=from_builtin, str_keys=True)
        return InlineRun(output, None, progress, enqueued, steps, artifacts, self._notes.now)


def _named(event: str | tuple[str, Key]) -> str | tuple[str, str]:
    return event if isinstance(event, str) else (event[0], checked_key(event[1]))


def _payloads(event: str | tuple[str, Key], given: object) -> list[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise InvalidInput("events", f"{event!r} must have a list of payloads, not {given!r}")
    return [_through_json(each, "events") for each in given]


def _given_by(run: InlineRun[Any]) -> Any:
    if run.outcome is not None:
        raise run.outcome
    return run.output


def _refuse_unclear(handler: Handler[..., Any], given: Mapping[str, bool]) -> None:
    for name in handler.arguments.names:
        if given.get(name):
            raise InvalidInput(name, "is also an argument of the handler: give the handler its own by position")


def _jobs_of_batch(handler: Handler[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[NewJob]:
    """A job for each item of the list that a batch handler is called with."""
    [name] = handler.arguments.names
    items = _only(args, kwargs) if len(args) + len(kwargs) == 1 and set(kwargs) <= {name} else None
    most = handler.options.batch or 1
    if not isinstance(items, list | tuple) or not 1 <= len(items) <= most:
        raise InvalidArguments(name, f"must be a list of 1 to {most} jobs' arguments")
    return [handler.prepare(item) for item in items]


def _only(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    [one] = [*args, *kwargs.values()]
    return one


def _scripted(result: object) -> object:
    if isinstance(result, (Exception, Cancel, Fail)):
        raise result
    return result


def _of_one_job(result: Any) -> Any:
    return result if isinstance(result, (Exception, *OUTCOMES)) else _through_json(result)


def _through_json(value: object, name: str = "output") -> Any:
    return loads(encode_output(value, name))


def _earlier(output: object) -> Earlier:
    if isinstance(output, Earlier):
        return output
    return Earlier(
        id=new_job_id(), name=None, kind="earlier", phase=None, state=JobState.SUCCEEDED, args={},
        output=_through_json(output),
    )  # fmt: skip


def _claimed(job: NewJob, attempt: int) -> ClaimedJob:
    return ClaimedJob(
        id=job.id, kind=job.kind, priority=job.priority, turn=0, attempt=attempt, max_attempts=job.max_attempts,
        claims=attempt, snoozes=0, owner=job.owner, org=job.org, parent=job.parent, created_at=datetime.now(UTC),
        args=job.args.decode(), options=encode_output(job.options).decode() if job.options else None,
    )  # fmt: skip

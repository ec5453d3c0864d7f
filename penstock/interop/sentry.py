"""Jobs that were given up, as events in Sentry: report_to_sentry(app), after sentry_sdk.init(…).

Needs sentry-sdk 2 (penstock[sentry]). What a handler adds (tags, contexts, breadcrumbs) stays with its job.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from uuid import UUID

from penstock.app import Penstock
from penstock.context import JobContext
from penstock.cron import Schedule
from penstock.extras import needs
from penstock.job import ClaimedJob
from penstock.json import loads_anyway
from penstock.mask import masked, masked_text
from penstock.middleware import CallNext
from penstock.outcome import EndedRun, Fail, Failure
from penstock.worker.alike import alike

with needs("sentry", "Sentry"):
    import sentry_sdk
    from sentry_sdk.crons import capture_checkin
    from sentry_sdk.integrations.logging import ignore_logger
    from sentry_sdk.scope import Scope, use_isolation_scope
    from sentry_sdk.utils import event_from_exception

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint, MonitorConfig

__all__ = ["report_to_sentry"]

_MECHANISM = {"type": "penstock", "handled": False}
_MOST_KEPT = 1000
"""Scopes of runs that failed, until it is known what becomes of their jobs. Of a larger crowd that fails at once the
first are without what their handlers added."""
_LONGEST_ARGS = 20_000
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)(?:\n    (.*))?', re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last):\n"


def report_to_sentry(app: Penstock, *, retries: bool = False, traces: bool = True, monitors: bool = False) -> None:
    """An event for each job that a worker of this application gives up, with its id, kind, queue, attempt and
    arguments, in which secrets are masked as in the dashboard.

    With `retries` also a warning for each attempt that failed and is tried again. With `traces`, and where the SDK
    traces, a run is a transaction in the trace that enqueued its job. With `monitors` each schedule of the code
    (`@app.cron`) is a cron monitor.

    ```python
    import sentry_sdk

    from penstock.interop.sentry import report_to_sentry

    sentry_sdk.init()  # at SENTRY_DSN
    report_to_sentry(app)
    ```
    """
    # the same would come a second time, as the line that the worker logs of it
    ignore_logger("penstock.jobs")
    reporter = _Reporter(traces)
    app.middleware(reporter)
    app.on_failure(reporter.report)
    if retries:
        app.on_end(reporter.warn)
    if monitors:
        watch = _Monitors(app)
        app.middleware(watch.begin)
        app.on_end(watch.end)
        app.on_failure(watch.lose)


class _Reporter:
    """As a middleware it gives each run a scope of its own."""

    def __init__(self, traces: bool) -> None:
        self._traces = traces
        self._kept: dict[UUID, tuple[int, Scope]] = {}

    def stamp(self) -> Mapping[str, str]:
        """What travels with a job: the current trace, if there is one."""
        if not self._traces or sentry_sdk.get_current_span() is None:
            return {}
        carried = {"sentry-trace": sentry_sdk.get_traceparent(), "baggage": sentry_sdk.get_baggage()}
        return {name: value for name, value in carried.items() if value}

    async def __call__(self, ctx: JobContext, call_next: CallNext, /) -> Any:
        with sentry_sdk.isolation_scope() as scope:
            _describe(scope, ctx.job, ctx.queue)
            try:
                with self._transaction(ctx) if self._traces else nullcontext():
                    result = await call_next()
            except BaseException:  # a timeout is a cancellation here
                self._keep(ctx.job, scope)
                raise
            if isinstance(result, Fail):
                self._keep(ctx.job, scope)
            else:
                self._kept.pop(ctx.id, None)
            return result

    def _transaction(self, ctx: JobContext) -> Any:
        begun = sentry_sdk.continue_trace(ctx.carried, op="queue.process", name=ctx.kind, source="task")
        span = sentry_sdk.start_transaction(begun)
        span.set_data("messaging.message.id", str(ctx.id))
        span.set_data("messaging.destination.name", ctx.queue)
        span.set_data("messaging.message.retry.count", ctx.attempt - 1)
        return span

    def _keep(self, job: ClaimedJob, scope: Scope) -> None:
        self._kept.pop(job.id, None)
        self._kept[job.id] = job.claims, scope
        if len(self._kept) > _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)

    def report(self, failure: Failure) -> None:
        """A job was given up."""
        self._send(failure, "error")
        self._kept.pop(failure.job.id, None)

    def warn(self, run: EndedRun) -> None:
        """A run has ended."""
        if run.outcome == "retried" and run.failure is not None:
            self._send(run.failure, "warning")

    def _send(self, failure: Failure, level: str) -> None:
        client = sentry_sdk.get_client()
        if not client.is_active():
            return
        claims, scope = self._kept.get(failure.job.id, (0, None))
        if scope is None or claims != failure.job.claims:
            scope = sentry_sdk.get_isolation_scope().fork()  # a batch's, or that of a job which nobody began
            _describe(scope, failure.job, failure.queue)
        with use_isolation_scope(scope):
            event, hint = _event(failure, client.options)
            sentry_sdk.capture_event(event | {"level": level}, hint)  # type: ignore[arg-type]


def _describe(scope: Scope, job: ClaimedJob, queue: str) -> None:
    """Whatever is sent from this scope says which job it is about."""
    scope.clear_breadcrumbs()
    scope.set_transaction_name(job.kind, "task")
    scope.set_tags({"penstock.job": str(job.id), "penstock.kind": job.kind, "penstock.queue": queue})

    def add_job(event: "Event", _: "Hint") -> "Event":
        event.setdefault("contexts", {})["job"] = {
            "id": str(job.id), "kind": job.kind, "queue": queue, "attempt": job.attempt,
            "max_attempts": job.max_attempts, "created_at": job.created_at.isoformat(), "args": _args(job),
        }  # fmt: skip
        return event

    scope.add_event_processor(add_job)


def _args(job: ClaimedJob) -> object:
    if len(job.args) > _LONGEST_ARGS:
        return f"{len(job.args):,} characters"
    return masked(loads_anyway(job.args))


def _event(failure: Failure, options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    event: dict[str, Any]
    if failure.exception is not None:
        found, hint = event_from_exception(failure.exception, client_options=options, mechanism=_MECHANISM)
        event = dict(found)
    else:
        kind = failure.error_type or "GivenUp"
        raised: dict[str, Any] = {"type": kind, "value": failure.error, "mechanism": _MECHANISM}
        frames = list(_frames(failure.traceback or ""))
        event, hint = {"exception": {"values": [raised]}}, {}
        if frames:
            raised["stacktrace"] = {"frames": frames}
        else:
            # by its text alone each number in it would be another issue
            event["fingerprint"] = ["penstock", failure.job.kind, kind, alike(failure.error)]
    for each in event["exception"]["values"]:
        each["value"] = masked_text(each.get("value") or "")
        for frame in (each.get("stacktrace") or {}).get("frames") or ():
            if (frame.get("module") or "").partition(".")[0] == "penstock":
                # ours have the arguments by position, where no name tells a secret
                frame.pop("vars", None)
                frame["in_app"] = False
            elif "vars" in frame:
                frame["vars"] = masked(frame["vars"])
    return event, hint


def _frames(traceback: str) -> Iterator[dict[str, Any]]:
    """Of an exception that was raised in another process, from where only its text comes: the last one of a chain."""
    for path, line, function, code in _FRAME.findall(traceback.rpartition(_TRACEBACK)[2]):
        yield {"abs_path": path, "filename": path, "lineno": int(line), "function": function, "context_line": code}


class _Monitors:
    """The jobs of a schedule check in when they begin and when they have ended, retries between as one."""

    def __init__(self, app: Penstock) -> None:
        self._schedules = app.schedules

    async def begin(self, ctx: JobContext, call_next: CallNext, /) -> Any:
        if ctx.attempt == 1:
            self._check_in(ctx.job, "in_progress")
        return await call_next()

    def end(self, run: EndedRun) -> None:
        if run.outcome in ("succeeded", "failed"):
            self._check_in(run.job, "ok" if run.outcome == "succeeded" else "error", run.ran)

    def lose(self, failure: Failure) -> None:
        """The job's worker was lost, or it is a flow that failed of its jobs: its run has ended nowhere."""
        if failure.error_type in ("WorkerLost", "FlowFailed"):
            self._check_in(failure.job, "error")

    def _check_in(self, job: ClaimedJob, status: str, seconds: float | None = None) -> None:
        schedule = self._schedule_of(job)
        if schedule is not None:
            name = re.sub(r"[^a-z0-9_-]+", "-", schedule.name.lower())[:50]
            config: MonitorConfig = {
                "schedule": {"type": "crontab", "value": schedule.cron}, "timezone": schedule.tz
            }  # fmt: skip
            # the job's own id: an attempt in another worker is still of the same check-in
            capture_checkin(name, job.id.hex, status, seconds, config)

    def _schedule_of(self, job: ClaimedJob) -> Schedule | None:
        if job.options is None or '"tick"' not in job.options:
            return None
        name = loads_anyway(job.options).get("schedule")
        # Sentry knows no seconds
        return next((each for each in self._schedules.code if each.name == name and len(each.cron.split()) == 5), None)

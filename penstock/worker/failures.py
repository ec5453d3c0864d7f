"""Attempts that failed, and jobs that were parked: logged. Those who asked for it are told of jobs given up."""

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import Callable, Container, Sequence
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import Became
from penstock.engine.protocol import Engine
from penstock.job import ClaimedJob, JobState
from penstock.logs import current_job
from penstock.outcome import Failure, FailureHook
from penstock.worker.ending import Failed
from penstock.worker.run import Run

log = logging.getLogger("penstock.jobs")
log_of_worker = logging.getLogger("penstock.worker")

_LONGEST = 100_000
_LONGEST_LINE = 2000
_WORKER_LOST = "its worker was lost"


class Failures:
    def __init__(self, hooks: Sequence[FailureHook] = (), kinds: Container[str] = ()) -> None:
        self._hooks = hooks
        self._kinds = kinds
        self._calls: set[asyncio.Task[None]] = set()

    def tell(self, run: Run, ending: Failed, became: Became | None) -> None:
        """An attempt has failed, and this is what the engine made of it; None when the job is another's by now."""
        job, error = run.job, ending.error
        said = f"{error.type}: {error.error}" if error.type else error.error
        said = said if len(said) < _LONGEST_LINE else f"{said[:_LONGEST_LINE]}…"
        about = _about(job)
        if became is None or became.state is JobState.CANCELLED:
            log.info("failed, but nobody wants it from here any more: %s", said, extra=about)
        elif became.state is not JobState.FAILED:
            log.warning("attempt %d of %d failed, tried again: %s", job.attempt, job.max_attempts, said, extra=about)
        elif error.type == "Fail" and error.traceback is None:  # an exception of that name has one
            log.warning("given up by its handler: %s", error.error, extra=about)
        else:
            raised = ending.raised if ending.raised is not None and _can_be_logged(ending.raised) else None
            # from another process only the text of the traceback came
            text = f"\n{error.traceback}" if raised is None and error.traceback else ""
            log.error(
                "given up after attempt %d of %d: %s%s", job.attempt, job.max_attempts, said, text,
                exc_info=raised, extra=about,
            )  # fmt: skip
        if became is not None and became.state is JobState.FAILED:
            self.give_up(failure_of(run, ending))

    async def tell_lost(self, engine: Engine) -> None:
        """Of jobs that were given up without anybody to report it, in rounds of so many. Hooks are told of kinds that
        are known here: another application's, whose jobs are in the same database, are for its own."""
        for lost in await engine.arun(commands.TakeLost()):
            job = lost.job
            if lost.flow_failed is not None:
                failure = Failure(job, lost.flow_failed, queue=lost.queue, error_type="FlowFailed")
                log.error("given up: %s", failure.error, extra=_about(job))
            else:
                failure = Failure(job, _WORKER_LOST, queue=lost.queue, error_type="WorkerLost")
                said = "given up after attempt %d of %d: %s"
                log.error(said, job.attempt, job.max_attempts, failure.error, extra=_about(job))
            if job.kind in self._kinds:
                self.give_up(failure)

    def tell_given_up(self, failure: Failure) -> None:
        """Of a job that no attempt has failed of: it was put off, or aside, once too often."""
        log.error("given up: %s", failure.error, extra=_about(failure.job))
        self.give_up(failure)

    def give_up(self, failure: Failure) -> None:
        """Calls the hooks, beside everything else: neither their time nor their errors are the worker's."""
        for hook in self._hooks:
            call = asyncio.get_running_loop().create_task(_call(hook, failure))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def told(self) -> None:
        """Waits until every hook has returned."""
        while self._calls:
            await asyncio.wait(self._calls)


def failure_of(run: Run, ending: Failed) -> Failure:
    error = ending.error
    return Failure(run.job, error.error, ending.raised, error.traceback, run.queue, error.type)


def _about(job: ClaimedJob) -> dict[str, Any]:
    return {"job_id": str(job.id), "job_kind": job.kind, "job_attempt": job.attempt}


def _can_be_logged(error: BaseException) -> bool:
    """Whether its text is one that a file takes: no lone surrogates, nor of such a length that nobody would read it."""
    try:
        text = "".join(traceback.format_exception(error)).encode()
    except Exception:
        return False
    return len(text) < _LONGEST


async def _call(hook: FailureHook, failure: Failure) -> None:
    current_job.set(failure.job)
    try:
        if inspect.iscoroutinefunction(hook):
            await hook(failure)
        else:
            returned = await asyncio.to_thread(hook, failure)
            if inspect.isawaitable(returned):
                await returned
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException:
        # not with the lines about jobs, which whoever tracks errors by this hook leaves out
        log_of_worker.exception("a function of @app.on_failure raised")


PERIOD = 60.0
"""Seconds between two lines about a kind: parked jobs come round again and again."""


_MOST_COUNTED = 1000


class ParkingLog:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said_at: dict[str, float] = {}
        self._unsaid: dict[str, set[UUID]] = {}

    def note(self, job: UUID, kind: str, reason: str) -> None:
        """A job of this kind was parked; one that came round again is the same job."""
        now = self._clock()
        jobs = self._unsaid.setdefault(kind, set())
        if len(jobs) < _MOST_COUNTED:
            jobs.add(job)
        if now - self._said_at.get(kind, -PERIOD) < PERIOD:
            return
        self._said_at[kind] = now
        del self._unsaid[kind]
        many = f"{len(jobs):,}{' or more' if len(jobs) == _MOST_COUNTED else ''}"
        one = len(jobs) == 1
        log_of_worker.warning(
            "%s %s of kind %r parked for a worker that knows %s: %s. Start a worker of the version that enqueued %s, "
            "or cancel: penstock jobs cancel --kind %s",
            many, *(("job", kind, "it", reason, "it") if one else ("jobs", kind, "them", reason, "them")), kind,
        )  # fmt: skip


parking_log = ParkingLog()
"""The process's: ticks come and go."""

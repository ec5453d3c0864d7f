"""For the tests of a project: running what it has enqueued, in the test's own transaction."""

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from asgiref.sync import async_to_sync
from django.db import connections
from django.db.transaction import TransactionManagementError

from penstock.context import Context, SyncContext
from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.errors import PenstockError, StaleArguments
from penstock.handler import Handler
from penstock.interop.django.application import DjangoPenstock, the_app
from penstock.job import ClaimedJob, Job, JobState, Lease
from penstock.outcome import Failure
from penstock.worker.ending import (
    Ending,
    Failed,
    NothingToReport,
    Parked,
    Succeeded,
    ending_of,
    ending_of_raised,
    parked,
    report_of,
)
from penstock.worker.run import Run

__all__ = ["run_tasks"]


def run_tasks(*, limit: int = 1000) -> list[Job]:
    """Runs tasks and other jobs until none is ready, in this thread and on Django's connection, so that a TestCase sees
    what they did and undoes it. Gives each as it was after its run. What a task raises is among its errors.

    ```python
    class Orders(TestCase):
        def test_a_receipt_is_sent(self) -> None:
            send_receipt.enqueue(order=7)
            run_tasks()
            self.assertEqual(len(mail.outbox), 1)
    ```
    """
    app = the_app()
    if app.settings.database is None:
        raise PenstockError(
            "run_tasks() works on Django's connection, and PENSTOCK['DATABASE'] is None: use drain(app)"
        )
    queues = app.queue_names  # which imports what has tasks
    engine = app.on(app.settings.database)
    lease = engine.run(commands.OpenLease("run_tasks", seconds=3600, kinds=app.kinds))
    done: list[Job] = []
    try:
        while len(done) < limit and (job := _claim(engine, lease, queues)) is not None:
            _report(app, engine, lease, job, _run(app, engine, lease, job))
            after = engine.run(commands.GetJob(job.id))
            if after is not None:
                done.append(after)
    finally:
        engine.run(commands.CloseLease(lease))
    return done


def _claim(engine: PostgresEngine, lease: Lease, queues: Sequence[str]) -> ClaimedJob | None:
    engine.run(commands.Promote())
    for queue in queues:
        if jobs := engine.run(commands.Claim(lease, queue, 1)):
            return jobs[0]
    return None


def _run(app: DjangoPenstock, engine: PostgresEngine, lease: Lease, job: ClaimedJob) -> Ending:
    try:
        handler = app.handler(job.kind)
        args, kwargs = handler.arguments.bind(job.args)
    except StaleArguments as error:
        return parked(error)
    except PenstockError as error:
        return Parked(str(error))
    try:
        with _savepoints():
            return _call(handler, engine, lease, job, args, kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return ending_of_raised(error, handler.retry_rule)


def _call(
    handler: Handler[..., Any], engine: PostgresEngine, lease: Lease, job: ClaimedJob, args: list[Any],
    kwargs: Mapping[str, Any],
) -> Ending:  # fmt: skip
    if inspect.iscoroutinefunction(handler.function):
        return async_to_sync(_call_async)(handler, engine, lease, job, args, kwargs)
    ctx = SyncContext(job, lease, engine, lambda _: None, version=handler.options.version)
    given = [ctx, *args] if handler.arguments.takes_context else args
    try:
        ctx.begin()
        with ctx.handling():
            ending = ending_of(handler.function(*given, **kwargs))
        if ctx.completes_itself and isinstance(ending, Succeeded):
            ctx.complete(ending.output)
            return NothingToReport()
        return ending
    finally:
        ctx.let_go()


async def _call_async(
    handler: Handler[..., Any], engine: PostgresEngine, lease: Lease, job: ClaimedJob, args: list[Any],
    kwargs: Mapping[str, Any],
) -> Ending:  # fmt: skip
    ctx = Context(job, lease, engine, lambda _: None, version=handler.options.version)
    given = [ctx, *args] if handler.arguments.takes_context else args
    await ctx.begin()
    with ctx.handling():
        ending = ending_of(await handler.function(*given, **kwargs))
    if ctx.completes_itself and isinstance(ending, Succeeded):
        await ctx.complete(ending.output)
        return NothingToReport()
    return ending


@contextmanager
def _savepoints() -> Iterator[None]:
    """Around a task, in each transaction that a test is in, which an error of the database breaks. A worker is in none:
    there it undoes its own statement alone, here what the task wrote before it too."""
    begun = [(wrapper, wrapper.savepoint()) for wrapper in connections.all(True) if wrapper.in_atomic_block]
    try:
        yield
    except BaseException:
        _end(begun)
        raise
    if _end(begun):
        raise TransactionManagementError(
            "an error of the database was caught outside of atomic(), which breaks the transaction of a test: catch it "
            "around `with atomic():`, or test the task in a TransactionTestCase"
        )


def _end(begun: Sequence[tuple[Any, str]]) -> bool:
    """Whether one of the transactions was broken; what follows can go on in it."""
    broken = [(wrapper, savepoint) for wrapper, savepoint in begun if wrapper.needs_rollback or not wrapper.is_usable()]
    for wrapper, savepoint in broken:
        wrapper.needs_rollback = False
        wrapper.savepoint_rollback(savepoint)
    for wrapper, savepoint in begun:
        wrapper.savepoint_commit(savepoint)
    return bool(broken)


def _report(app: DjangoPenstock, engine: PostgresEngine, lease: Lease, job: ClaimedJob, ending: Ending) -> None:
    command = report_of(lease, [(Run(job, lease, time.monotonic(), ""), ending)])
    became: Any = None if command is None else engine.run(command)
    if isinstance(ending, Failed) and became[0].state is JobState.FAILED:
        app.tell_of_failure(Failure(job, ending.error.error, ending.raised, ending.error.traceback))

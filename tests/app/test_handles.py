"""A handle tells what became of its job, and changes its course."""

from uuid import uuid4

import psycopg
import pytest

from penstock import Handler, JobState, Penstock, UnknownJob
from tests.app.worker import Worker

Send = Handler[..., None]


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job(queue="mail", owner="ada", org="acme", max_attempts=3)
    def send(to: str) -> None: ...

    return send


def test_refresh_tells_everything_on_record(app: Penstock, send: Send) -> None:
    handle = send.using(limit_key="k", priority=7).enqueue("grace")
    waiting = handle.refresh()
    assert (waiting.id, waiting.kind, waiting.queue, waiting.state) == (handle.id, "send", "mail", JobState.READY)
    assert (waiting.owner, waiting.org, waiting.limit_key, waiting.priority) == ("ada", "acme", "k", 7)
    assert (waiting.args, waiting.attempt, waiting.max_attempts) == ({"to": "grace"}, 0, 3)
    assert (waiting.started_at, waiting.finished_at, waiting.output, waiting.percent) == (None, None, None, 0)
    worker = Worker(app, "mail")
    claimed = worker.claim_one()
    running = handle.refresh()
    assert (running.state, running.attempt) == (JobState.RUNNING, 1)
    assert running.started_at is not None
    worker.complete(claimed, output={"sent": True})
    done = handle.refresh()
    assert (done.state, done.output, done.percent) == (JobState.SUCCEEDED, {"sent": True}, 100)
    assert done.finished_at is not None
    assert running.started_at <= done.finished_at
    assert done.age_s >= 0


def test_the_errors_of_a_job_are_on_record(app: Penstock, send: Send) -> None:
    handle = send.enqueue("nobody")
    worker = Worker(app, "mail")
    worker.fail(worker.claim_one(), error="no such person")
    job = handle.refresh()
    assert (job.state, job.last_error) == (JobState.FAILED, "no such person")
    assert [(error["attempt"], error["error"]) for error in job.errors] == [(1, "no such person")]


def test_a_job_that_does_not_exist_is_said_to_be_unknown(app: Penstock, send: Send, url: str) -> None:
    with psycopg.connect(url) as connection:
        gone = send.using(connection=connection).enqueue("ada")
        connection.rollback()
    for handle in (app.handle(uuid4()), gone):
        for ask in (handle.refresh, handle.result):
            with pytest.raises(UnknownJob, match=f"^there is no job {handle.id}: its transaction was rolled back, or"):
                ask()
    assert gone.cancel() is False
    assert gone.retry() is False


def test_cancel_reaches_a_job_once(app: Penstock, send: Send) -> None:
    handle = send.enqueue("ada")
    assert handle.cancel("changed my mind") is True
    assert handle.cancel() is False
    job = handle.refresh()
    assert (job.state, job.last_error) == (JobState.CANCELLED, "changed my mind")


def test_cancel_asks_a_running_job_to_stop(app: Penstock, send: Send) -> None:
    handle = send.enqueue("ada")
    Worker(app, "mail").claim_one()
    assert handle.cancel() is True
    job = handle.refresh()
    assert (job.state, job.cancel_requested) == (JobState.RUNNING, True)


def test_retry_brings_a_failed_job_back_also_to_another_queue(app: Penstock, send: Send) -> None:
    handle, worker = send.enqueue("ada"), Worker(app, "mail")
    assert handle.retry() is False
    worker.fail(worker.claim_one())
    assert handle.retry() is True
    assert (handle.refresh().state, handle.refresh().attempt, handle.refresh().queue) == (JobState.READY, 0, "mail")
    worker.fail(worker.claim_one())
    assert handle.retry(queue="slow") is True
    assert handle.refresh().queue == "slow"
    assert len(handle.refresh().errors) == 2


async def test_handles_have_async_twins(app: Penstock, send: Send) -> None:
    handle = await send.aenqueue("ada")
    assert (await handle.arefresh()).state is JobState.READY
    assert await handle.acancel("why") is True
    assert await handle.acancel() is False
    assert (await handle.arefresh()).last_error == "why"
    assert await handle.aretry(queue="slow") is True
    assert await handle.aretry() is False
    assert (await handle.arefresh()).queue == "slow"
    with pytest.raises(UnknownJob):
        await app.handle(uuid4()).arefresh()
    with pytest.raises(UnknownJob):
        await app.handle(uuid4()).aresult(1)


def test_handles_of_a_bulk_are_a_sequence(send: Send) -> None:
    handles = send.enqueue_many([{"to": str(n)} for n in range(30)])
    assert handles[-1].id == list(handles)[29].id
    assert [handle.refresh().args["to"] for handle in handles[3:9:2]] == ["3", "5", "7"]
    assert handles[29].created
    with pytest.raises(IndexError):
        handles[30]


def test_a_handler_is_still_a_function_and_says_what_it_is(app: Penstock) -> None:
    @app.job
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert double(4) == 8
    assert (double.__name__, double.__doc__, repr(double)) == ("double", "Twice.", "<Handler double>")
    assert app.handler("double") is double
    handle = double.enqueue(4)
    assert repr(handle) == f"<JobHandle {handle.id}>"

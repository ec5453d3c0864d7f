"""Jobs on a worker that has no database connection: everything a handler may do works over the API."""

import asyncio
import threading
from typing import Any
from uuid import UUID

import pytest

from penstock import Backoff, Context, Flow, JobState, NewJob, Penstock, Snooze, SyncContext, WaitTimeout
from penstock.engine.postgres.statement import Statement, all_rows
from penstock.errors import JobFailed
from penstock.json import encode_args
from tests.kit.until import soon, until
from tests.remote.enqueueing import enqueue, enqueue_job
from tests.remote.serving import Api, working


async def test_jobs_run_and_their_results_are_stored(app: Penstock, api: Api) -> None:
    @app.job
    async def double(number: int) -> int:
        return 2 * number

    @app.job
    def triple(number: int) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return 3 * number

    async with working(app, api, {"default": 20}):
        jobs = [await enqueue(api, kind, number=number) for number in range(30) for kind in ("double", "triple")]
        results = [await job.aresult(20) for job in jobs]
    assert results == [factor * number for number in range(30) for factor in (2, 3)]


async def test_handlers_wait_and_go_on_after_their_steps(app: Penstock, api: Api) -> None:
    ran: list[int] = []

    @app.job
    async def double(number: int) -> int:
        return 2 * number

    @app.job(max_attempts=1)
    def refuse() -> None:
        raise ValueError("no")

    @app.job
    async def wait(ctx: Context) -> list[object]:
        await ctx.step("first", ran.append, 1)
        await ctx.sleep(0.01)
        called = await ctx.gather(double.prepare(1), refuse.prepare(), return_exceptions=True)
        try:
            await ctx.wait_for("never", timeout=0.01)
        except WaitTimeout:
            return [called[0], str(called[1]), await ctx.wait_for("go", key=str(ctx.id))]
        return []

    @app.job
    def wait_in_a_thread(ctx: SyncContext) -> list[object]:
        ctx.step("first", ran.append, 2)
        ctx.sleep(0.01)
        return [ctx.call(double, 2), ctx.wait_for("go", key=str(ctx.id))]

    jobs = [await enqueue(api, kind) for kind in ("wait", "wait_in_a_thread")]
    async with working(app, api, {"default": 2}):
        for number, job in enumerate(jobs):
            await api.app.aemit("go", key=str(job.id), payload=number)
        first, second = [await job.aresult(20) for job in jobs]
    assert (first[0], first[2], second) == (2, 0, [4, 1])
    assert str(first[1]).endswith("failed: no")
    assert sorted(ran) == [1, 2]


async def test_large_arguments_arrive_whole_and_are_shown_whole(app: Penstock, api: Api) -> None:
    @app.job
    async def measure(text: str) -> int:
        return len(text)

    lengths = [10, 700, 5_000, 12_000] * 6
    jobs = [await enqueue(api, "measure", text="ä " * length) for length in lengths]
    async with working(app, api, {"default": 30}):
        assert [await job.aresult(20) for job in jobs] == [2 * length for length in lengths]
    shown = [(await job.arefresh()).args for job in jobs]
    assert shown == [{"text": "ä " * length} for length in lengths]


async def test_a_failed_attempt_is_tried_again_and_its_error_is_kept(app: Penstock, api: Api) -> None:
    @app.job(max_attempts=2)
    async def work(ctx: Context) -> str:
        raise LookupError(f"attempt {ctx.attempt}")

    retried = NewJob(kind="work", max_attempts=2, options={"backoff": Backoff.constant(0).to_json()})
    job = await enqueue_job(api, retried)
    async with working(app, api):
        with pytest.raises(JobFailed, match="attempt 2"):
            await job.aresult(20)
    record = await job.arefresh()
    assert [error["error"] for error in record.errors] == ["attempt 1", "attempt 2"]
    assert record.errors[0]["type"] == "LookupError"
    assert "raise LookupError" in record.errors[0]["traceback"]


async def test_what_cannot_be_stored_fails_that_job_and_no_other(app: Penstock, api: Api) -> None:
    @app.job
    async def work(number: int) -> object:
        return object() if number == 1 else number

    async with working(app, api):
        jobs = [await enqueue(api, "work", number=number) for number in range(3)]
        assert [await jobs[0].aresult(20), await jobs[2].aresult(20)] == [0, 2]
        with pytest.raises(JobFailed, match="cannot be stored"):
            await jobs[1].aresult(20)


async def test_progress_arrives(app: Penstock, api: Api) -> None:
    reported, go = asyncio.Event(), asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        await ctx.progress(40, "half-way, nearly", phase="text")
        reported.set()
        await go.wait()
        await ctx.progress(done=9, total=10, message="last")

    job = await enqueue(api, "work")
    async with working(app, api):
        await soon(reported.wait())

        async def arrived() -> bool:
            return (await job.arefresh()).progress.get("percent") == 40

        await until(arrived)
        assert (await job.arefresh()).progress["message"] == "half-way, nearly"
        go.set()
        await job.aresult(20)
    assert (await job.arefresh()).progress == {
        "percent": 90, "message": "last", "phase": "text", "done": 9, "total": 10
    }  # fmt: skip


async def test_a_step_that_was_finished_is_not_repeated_by_the_next_attempt(app: Penstock, api: Api) -> None:
    loaded: list[str] = []

    def load(document: str) -> dict[str, str]:
        loaded.append(document)
        return {"text": document}

    @app.job
    async def work(ctx: Context) -> dict[str, str]:
        found = await ctx.step("load / it", load, "d1")
        if ctx.attempt == 1:
            raise ValueError("after the step")
        return found

    @app.job
    def work_in_thread(ctx: SyncContext) -> dict[str, str]:
        found = ctx.step("load", load, "d2")
        if ctx.attempt == 1:
            raise ValueError("after the step")
        return found

    async with working(app, api):
        options = {"backoff": Backoff.constant(0).to_json()}
        one = await enqueue_job(api, NewJob(kind="work", options=options))
        two = await enqueue_job(api, NewJob(kind="work_in_thread", options=options))
        assert [await one.aresult(20), await two.aresult(20)] == [{"text": "d1"}, {"text": "d2"}]
    assert sorted(loaded) == ["d1", "d2"]


async def test_a_job_reads_the_outputs_of_what_it_waited_for(app: Penstock, api: Api) -> None:
    @app.job
    async def part(number: int) -> int:
        return number * number

    @app.job
    async def whole(ctx: Context) -> list[Any]:
        return [(each.kind, each.args["number"], each.output, each.state) for each in await ctx.outputs()]

    @app.job
    def whole_in_thread(ctx: SyncContext) -> list[Any]:
        return [each.output for each in ctx.outputs()]

    async with working(app, api):
        for last, expected in (
            ("whole", [["part", 1, 1, "succeeded"], ["part", 2, 4, "succeeded"]]),
            ("whole_in_thread", [1, 4]),
        ):
            flow = Flow(NewJob(kind=last))
            for number in (1, 2):
                flow.add(NewJob(kind="part", args=encode_args({"number": number})))
            root, *_ = await api.app.engine.aenqueue(flow.jobs())
            assert await api.app.handle(root.id).aresult(20) == expected


async def test_what_a_handler_enqueues_commits_with_its_completion(app: Penstock, api: Api) -> None:
    @app.job
    async def announce(text: str) -> str:
        return text.upper()

    @app.job
    async def work(ctx: Context) -> list[str]:
        flow = Flow(announce.prepare("of a flow"))
        flow.add(announce.prepare("child"))
        ids = [ctx.enqueue(announce.prepare(f"attempt {ctx.attempt}")), ctx.enqueue(flow)]
        if ctx.attempt == 1:
            raise ValueError("nothing must come of it")
        return [str(id) for id in ids]

    @app.job
    def work_in_thread(ctx: SyncContext) -> str:
        return str(ctx.enqueue(announce.prepare("thread")))

    async with working(app, api):
        options = {"backoff": Backoff.constant(0).to_json()}
        first, flow = await (await enqueue_job(api, NewJob(kind="work", options=options))).aresult(20)
        third = await (await enqueue(api, "work_in_thread")).aresult(20)
        results = [await api.app.handle(UUID(id)).aresult(20) for id in (first, flow, third)]
    assert results == ["ATTEMPT 2", "OF A FLOW", "THREAD"]
    kinds = [job.kind for job in (await api.app.jobs.alist()).jobs]
    assert sorted(kinds) == ["announce"] * 4 + ["work", "work_in_thread"]


async def test_the_last_report_of_a_job_that_enqueues_is_on_record(app: Penstock, api: Api) -> None:
    @app.job
    async def work(ctx: Context) -> None:
        await ctx.progress(0, "Starting")
        await ctx.progress(100, "Completed")
        ctx.enqueue(NewJob(kind="another", queue="elsewhere"))

    @app.job
    def work_in_thread(ctx: SyncContext) -> None:
        ctx.progress(100, "Completed")
        ctx.enqueue(NewJob(kind="another", queue="elsewhere"))

    async with working(app, api):
        for kind in ("work", "work_in_thread"):
            job = await enqueue(api, kind)
            await job.aresult(20)
            assert (await job.arefresh()).progress == {"percent": 100, "message": "Completed"}


async def test_a_snoozed_job_looks_again(app: Penstock, api: Api) -> None:
    @app.job
    async def poll(ctx: Context) -> int | Snooze:
        if ctx.job.snoozes == 0:
            ctx.snooze(0)
        return Snooze(0) if ctx.job.snoozes == 1 else ctx.job.snoozes

    async with working(app, api):
        job = await enqueue(api, "poll")
        assert await job.aresult(20) == 2
    assert (await job.arefresh()).attempt == 1


async def test_a_batch_handler_takes_many_jobs(app: Penstock, api: Api) -> None:
    sizes: list[int] = []

    @app.job(batch=50)
    async def index(words: list[str]) -> list[int]:
        sizes.append(len(words))
        return [len(word) for word in words]

    jobs = [await enqueue(api, "index", words="x" * size) for size in range(60)]
    async with working(app, api, {"default": 1}):
        assert [await job.aresult(20) for job in jobs] == list(range(60))
    assert max(sizes) > 1


async def test_a_handler_has_its_time(app: Penstock, api: Api) -> None:
    @app.job(timeout=0.05, max_attempts=1)
    async def work() -> None:
        await asyncio.Event().wait()

    async with working(app, api):
        job = await enqueue_job(api, NewJob(kind="work", max_attempts=1))
        with pytest.raises(JobFailed, match="timed out"):
            await job.aresult(20)


async def test_a_transaction_is_refused_with_what_to_do_instead(app: Penstock, api: Api) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        async with ctx.transaction():
            pass

    @app.job(max_attempts=1)
    async def enqueue_directly() -> None:
        await work.aenqueue()

    async with working(app, api):
        for kind in ("work", "enqueue_directly"):
            job = await enqueue_job(api, NewJob(kind=kind, max_attempts=1))
            with pytest.raises(JobFailed, match=r"only through the API; enqueue with ctx\.enqueue"):
                await job.aresult(20)


async def test_a_large_pile_of_outcomes_is_sent_in_parts(app: Penstock, api: Api) -> None:
    """The server takes 1 MiB at once."""

    @app.job
    async def work(number: int) -> str:
        return f"{number}! " * 40_000

    jobs = [await enqueue(api, "work", number=number) for number in range(20)]
    async with working(app, api, {"default": 20}):
        for number, job in enumerate(jobs):
            assert await job.aresult(20) == f"{number}! " * 40_000


async def test_every_job_is_reported_when_the_worker_stops(app: Penstock, api: Api) -> None:
    came, go = asyncio.Event(), asyncio.Event()

    @app.job
    async def work() -> str:
        came.set()
        await go.wait()
        return "in time"

    job = await enqueue(api, "work")
    async with working(app, api) as worker:
        await soon(came.wait())
        worker.stop()
        await asyncio.sleep(0)
        go.set()
    assert (await job.arefresh()).state is JobState.SUCCEEDED
    assert await api.app.database.arun(_leases()) == []


async def test_what_does_not_finish_in_the_time_of_grace_goes_back_at_no_cost(app: Penstock, api: Api) -> None:
    came = asyncio.Event()

    @app.job
    async def work() -> None:
        came.set()
        await asyncio.Event().wait()

    job = await enqueue(api, "work")
    async with working(app, api, grace=0.05) as worker:
        await soon(came.wait())
    assert not worker.finished_in_time
    record = await job.arefresh()
    assert (record.state, record.attempt, record.errors) == (JobState.READY, 0, [])


def _leases() -> Statement[Any]:
    return Statement("select id from penstock.leases where worker not like 'server %%'", [], all_rows)


async def test_jobs_that_a_worker_does_not_know_are_parked_until_one_comes_that_does(app: Penstock, api: Api) -> None:
    @app.job
    async def resize(width: int) -> int:
        return width

    async def is_parked(id: UUID) -> bool:
        found = await api.app.jobs.aget(id)
        return found is not None and found.parked_reason is not None

    unknown = await enqueue(api, "rotate", angle=90)
    misfit = await enqueue(api, "resize", width=1, height=2)
    async with working(app, api):
        for job in (unknown, misfit):
            await until(lambda job=job: is_parked(job.id))  # type: ignore[misc]
            record = await job.arefresh()
            assert (record.state, record.attempt) == (JobState.SCHEDULED, 0)

    @app.job
    async def rotate(angle: int) -> int:
        return angle

    async with working(app, api):
        assert await unknown.aresult(20) == 90


async def test_as_many_jobs_are_called_and_enqueued_as_by_a_worker_with_a_database(app: Penstock, api: Api) -> None:
    @app.job(queue="later")
    async def read(number: int, text: str) -> None: ...

    @app.job
    async def read_all(ctx: Context) -> None:
        await ctx.gather(*(read.prepare(number, "word " * 50) for number in range(10_000)))

    @app.job
    async def read_all_later(ctx: Context) -> None:
        for number in range(10_000):
            ctx.enqueue(read.prepare(number, "word " * 50))

    @app.job
    async def count() -> list[int]:
        return [0] * 100_001

    async with working(app, api, {"default": 1}):
        calls, enqueues, counts = [await enqueue(api, kind) for kind in ("read_all", "read_all_later", "count")]
        assert len(await counts.aresult(60)) == 100_001
        await enqueues.aresult(60)
        job = await calls.arefresh()
    assert (job.state, job.progress and job.progress["total"]) == (JobState.BLOCKED, 10_000)

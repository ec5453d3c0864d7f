"""A message is a job: it shows among the jobs, our workers run it, operators cancel and retry it; none is had twice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from penstock import Backoff, Context, Fail, JobState, NewJob, Penstock
from penstock.engine import commands
from tests.cli.conftest import Command
from tests.interop.pgmq.conftest import Sql
from tests.kit.until import until, wait_until
from tests.kit.working import working


@pytest.fixture
def app(pgmq_url: str) -> Iterator[Penstock]:
    with Penstock(pgmq_url) as app:
        yield app


def test_a_message_shows_among_the_jobs(sql: Sql, queue: str, app: Penstock, pgmq_url: str) -> None:
    name = queue.lower()
    sql("select pgmq.send(%s, %s, %s)", queue, Jsonb({"order": 7}), Jsonb({"trace": "abc"}))
    sql("select pgmq.send(%s, '5', 60)", queue)
    scheduled, ready = app.jobs.list(queue=name).jobs
    assert (ready.kind, ready.queue, ready.state, ready.args) == (name, name, JobState.READY, {"order": 7})
    assert (scheduled.state, scheduled.args) == (JobState.SCHEDULED, {"message": 5})
    listed = Command({"DATABASE_URL": pgmq_url, "COLUMNS": "200"}).lines("jobs", "list", "--queue", name)
    assert sum(name in line for line in listed) == 2
    sql("select from pgmq.read(%s, 30, 1)", queue)
    assert {each.state for each in app.jobs.list(queue=name).jobs} == {JobState.SCHEDULED}
    sql("select pgmq.archive(%s, 1)", queue)
    sql("select pgmq.delete(%s, 2)", queue)
    [archived] = app.jobs.list(queue=name).jobs
    assert (archived.id, archived.state) == (ready.id, JobState.SUCCEEDED)


async def test_a_message_with_a_number_that_no_float_holds_is_listed_and_keeps_no_other_from_a_worker(
    sql: Sql, queue: str, app: Penstock, pgmq_url: str
) -> None:
    name = queue.lower()
    large = f'{{"n": 1e5000, "text": "{"x y " * 500}"}}'
    odd = "select pgmq.send(%s, %s::jsonb, '{\"h\": 1e5000}'::jsonb), pgmq.send(%s, %s::jsonb)"
    sql(odd, queue, '{"n": 1e5000}', queue, large)
    assert [job.args["n"][:4] for job in app.jobs.list(queue=name).jobs] == ["1000", "1000"]
    assert [job.args["n"][:4] for job in app.jobs.search(queue=name).jobs] == ["1000", "1000"]
    listed = Command({"DATABASE_URL": pgmq_url, "COLUMNS": "200"}).json("jobs", "list", "--queue", name)
    assert len(listed["jobs"]) == 2
    handled = asyncio.Event()

    @app.job(kind=name, queue=name)
    async def handle(ctx: Context, **message: object) -> None:
        assert ctx.carried == {}
        handled.set()

    sql("select pgmq.send(%s, '{\"n\": 1}', '{\"h\": 1e5000}'::jsonb)", queue)
    # from its second claim on a worker looks whether the job has waited
    assert len(sql("select from pgmq.read(%s, 0, 9)", queue)) == 3
    async with working(app, {name: 2}):
        await asyncio.wait_for(handled.wait(), 20)
        await until(lambda: sql(f'select msg_id from pgmq."a_{name}"') == [(3,)])
        await until(lambda: sum(job.parked_reason is not None for job in app.jobs.list(queue=name).jobs) == 2)


async def test_our_workers_run_messages_and_what_they_finish_is_archived(sql: Sql, queue: str, app: Penstock) -> None:
    name = queue.lower()
    handled: list[object] = []
    failing = asyncio.Event()

    @app.job(kind=name, queue=name)
    async def handle(order: int | None = None, message: object = None) -> None:
        handled.append(message if order is None else order)
        if order == 3 and not failing.is_set():
            failing.set()
            raise RuntimeError("not yet")

    sql("select pgmq.send_batch(%s, %s)", queue, [Jsonb({"order": 1}), Jsonb("text")])
    async with working(app, {name: 2}):
        await until(lambda: len(handled) == 2)
        # idle by now: it is woken
        sql("select pgmq.send(%s, %s)", queue, Jsonb({"order": 3}))
        await asyncio.wait_for(failing.wait(), 20)
        # what failed is tried again later, and is a message meanwhile
        await until(lambda: sql("select vt > now(), read_ct from pgmq.set_vt(%s, 3, 1000)", queue) == [(True, 1)])
        sql("select from pgmq.set_vt(%s, 3, 0)", queue)
        archive = f'select msg_id, message from pgmq."a_{name}" order by 1'
        assert await until(lambda: sql(archive), so=lambda found: len(found) == 3) == [
            (1, {"order": 1}), (2, "text"), (3, {"order": 3}),
        ]  # fmt: skip
    assert handled == [1, "text", 3, 3]


def test_what_fails_is_tried_again_as_its_queue_says(sql: Sql, queue: str, app: Penstock) -> None:
    """Who sends a message says nothing of retries; what a decorator says of them is for jobs that Python enqueues."""
    name = queue.lower()
    app.queues.set(name, backoff=Backoff.constant(1000))

    @app.job(kind=name, queue=name, max_attempts=1, backoff=Backoff.constant(10))
    def refuse(order: int) -> None:
        raise RuntimeError("not yet") if order == 1 else Fail("never")

    sql("select pgmq.send_batch(%s, array['{\"order\": 1}', '{\"order\": 2}']::jsonb[])", queue)
    app.tick()
    hidden = f"select msg_id, vt > now() + interval '900 s' from pgmq.\"q_{name}\""
    assert sql(hidden) == [(1, True)]
    tried, given_up = sorted(app.jobs.list(queue=name).jobs, key=lambda job: job.args["order"])
    assert (tried.state, tried.attempt, tried.max_attempts) == (JobState.SCHEDULED, 1, 5)
    assert (given_up.state, given_up.last_error) == (JobState.FAILED, "never")


def test_a_job_of_that_name_that_nobody_sent_is_no_message(sql: Sql, queue: str, app: Penstock) -> None:
    name = queue.lower()
    app.engine.enqueue([NewJob(kind=name, queue=name), NewJob(kind="other", queue=name)])
    sql("select pgmq.send(%s, '1')", queue)
    assert sql("select msg_id from pgmq.read(%s, 0, 9)", queue) == [(1,)]
    assert sql("select queue_length from pgmq.metrics(%s)", queue) == [(1,)]
    assert sql("select pgmq.purge_queue(%s)", queue) == [(1,)]
    assert len(app.jobs.list(queue=name).jobs) == 2


def test_what_a_worker_runs_is_its_own_until_it_is_archived(sql: Sql, queue: str, app: Penstock) -> None:
    name = queue.lower()
    sql("select pgmq.send(%s, '1')", queue)
    lease = app.engine.run(commands.OpenLease("worker", queues=[name]))
    [claimed] = app.engine.run(commands.Claim(lease, name, 9))
    assert sql("select from pgmq.read(%s, 0, 9)", queue) == []
    assert sql("select from pgmq.set_vt(%s, 1, 0)", queue) == []
    assert sql("select queue_length, queue_visible_length from pgmq.metrics(%s)", queue) == [(1, 0)]
    assert sql("select pgmq.archive(%s, 1)", queue) == [(True,)]
    assert app.engine.run(commands.Complete(lease, [commands.Completed(claimed.id, claimed.claims)])) == [claimed.id]
    app.engine.run(commands.CloseLease(lease))


def test_an_operator_cancels_and_retries_a_message_and_pauses_its_queue(sql: Sql, queue: str, app: Penstock) -> None:
    name = queue.lower()
    sql("select pgmq.send_batch(%s, array['1', '2']::jsonb[])", queue)
    app.queues.pause(name)
    assert sql("select from pgmq.read(%s, 0, 9)", queue) == []
    app.queues.resume(name)
    [(job,)] = sql("select id from penstock.jobs where queue = %s and args = '{\"message\": 1}'", name)
    app.jobs.cancel(job)
    assert sql("select msg_id from pgmq.read(%s, 0, 9)", queue) == [(2,)]
    app.jobs.retry(job)
    assert sql("select msg_id, message from pgmq.read(%s, 0, 9) order by 1", queue) == [(1, 1), (2, 2)]
    sql("select penstock.set_priority(array(select id from penstock.jobs where queue = %s), 5)", name)
    sql("select pgmq.send(%s, '3')", queue)
    assert sql("select count(*) from pgmq.read(%s, 0, 9)", queue) == [(3,)]


def test_what_waits_for_a_message_goes_on_when_it_is_archived_and_is_cancelled_when_it_is_deleted(
    sql: Sql, queue: str, app: Penstock
) -> None:
    sql("select pgmq.send_batch(%s, array['1', '2']::jsonb[])", queue)
    wait = """select e.id
                from penstock.jobs as j,
                     penstock.enqueue_jobs(jsonb_build_array(jsonb_build_object(
                       'kind', 'after', 'queue', 'after', 'after', jsonb_build_array(j.id)))) as e
               where j.queue = %s and j.args->'message' = %s"""
    waiting = [sql(wait, queue.lower(), Jsonb(n))[0][0] for n in (1, 2)]
    sql("select pgmq.archive(%s, 1)", queue)
    assert sql("select * from pgmq.delete(%s, array[2])", queue) == [(2,)]
    states = [app.engine.run(commands.GetJob(each)) for each in waiting]
    assert [each and each.state for each in states] == [JobState.READY, JobState.CANCELLED]


def test_a_reader_that_keeps_its_transaction_holds_up_no_other_queue(
    sql: Sql, queue: str, app: Penstock, pgmq_url: str
) -> None:
    sql("select pgmq.send_batch(%s, array['1', '2', '3']::jsonb[], 3600)", queue)
    app.engine.enqueue([NewJob(kind="elsewhere", queue="elsewhere", delay=3600) for _ in range(3)])
    due = "update penstock.jobs set run_at = now() where queue = any(%s) returning 1"
    assert len(sql(due, [queue.lower(), "elsewhere"])) == 6
    with psycopg.connect(pgmq_url) as reader:
        assert reader.execute("select msg_id from pgmq.read(%s, 60, 1)", [queue]).fetchall() == [(1,)]
        assert sql("select msg_id from pgmq.read(%s, 60, 9)", queue) == [(2,), (3,)]
        sql("select penstock.promote()")
        lease = app.engine.run(commands.OpenLease("worker", queues=["elsewhere"]))
        assert len(app.engine.run(commands.Claim(lease, "elsewhere", 9))) == 3


def test_of_many_who_read_at_once_each_message_is_had_by_one(sql: Sql, queue: str, pgmq_url: str) -> None:
    some = "select count(*) from pgmq.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) as n), %s)"
    for number, delay in ((200, 0), (60, 1), (200, 0)):
        sql(some, queue, number, delay)
    due = "update penstock.jobs set run_at = clock_timestamp() where queue = lower(%s) and state = 'scheduled'"
    sent = 400 + len(sql(f"{due} returning 1", queue))

    def read_all(_: int) -> list[int]:
        had: list[int] = []
        with psycopg.connect(pgmq_url, autocommit=True) as connection:
            while found := connection.execute("select msg_id from pgmq.read(%s, 600, 7)", [queue]).fetchall():
                had += [number for (number,) in found]
                connection.execute("select pgmq.archive(%s, %s)", [queue, had[-1]])
        return had

    with ThreadPoolExecutor(6) as threads:
        read = [number for had in threads.map(read_all, range(6)) for number in had]
    assert sorted(read) == list(range(1, sent + 1))
    assert sql(f'select max(read_ct), min(read_ct) from pgmq."q_{queue.lower()}"') == [(1, 1)]


READER = """
import psycopg, sys, time
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("begin")
    connection.execute("select from pgmq.read(%s, 600, 2)", [sys.argv[2]])
    connection.execute("select from pgmq.archive(%s, 3)", [sys.argv[2]])
    print("read", flush=True)
    time.sleep(600)
"""


def test_a_reader_that_is_killed_in_the_middle_has_read_and_archived_nothing(
    sql: Sql, queue: str, pgmq_url: str
) -> None:
    sql("select pgmq.send_batch(%s, array['1', '2', '3']::jsonb[])", queue)
    reader = subprocess.Popen([sys.executable, "-c", READER, pgmq_url, queue], stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "read\n"
    assert sql("select from pgmq.read(%s, 600, 9)", queue) == []
    os.kill(reader.pid, signal.SIGKILL)
    reader.communicate()
    read: list[Any] = []

    def all_are_there() -> bool:
        read.extend(sql("select msg_id, read_ct from pgmq.read(%s, 600, 9)", queue))
        return len(read) == 3

    wait_until(all_are_there)
    assert read == [(1, 1), (2, 1), (3, 1)]

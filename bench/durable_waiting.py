"""What jobs that sleep or wait cost those that do not."""

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from penstock import Context, Penstock
from penstock.engine.postgres.migrate import migrate_on

AT_ONCE = 100
Connection = psycopg.Connection[Any]


def claims_beside(without: str, beside: str, waiting: int, claims: int, rounds: int) -> float:
    """How many are claimed in a second beside those that wait, as a share of how many without. Sides take turns, each
    begins as often as the other, and the best round of each counts: whatever else a machine does can only add to it."""
    costs: dict[str, list[float]] = {without: [], beside: []}
    for url in costs:
        with psycopg.connect(url) as connection:
            migrate_on(connection, "penstock")
    wait_and_sleep(beside, waiting)
    for number in range(rounds):
        for url in (without, beside) if number % 2 else (beside, without):
            with psycopg.connect(url, autocommit=True) as connection:
                costs[url].append(cost_of_claims(connection, max(AT_ONCE, claims // rounds)))
    return min(costs[without]) / min(costs[beside])


def cost_of_claims(connection: Connection, jobs: int) -> float:
    """Seconds that Postgres works for each: not those in which others do."""
    spent = clock_of(connection)
    connection.execute(
        "select count(*) from"
        " (select penstock.enqueue_plain(penstock.uuid7(), 'plain') from generate_series(1, %s)) as enqueued",
        [jobs],
    )
    lease = open_lease(connection)
    claimed, took = 0, 0.0
    while True:
        began = spent()
        got = connection.execute("select id from penstock.claim(%s, 'default', %s)", [lease, AT_ONCE]).fetchall()
        took += spent() - began
        if not got:
            break
        claimed += len(got)
    assert claimed == jobs, (claimed, jobs)
    connection.execute("delete from penstock.jobs where kind = 'plain'")
    connection.execute("select penstock.close_lease(%s)", [lease])
    return took / claimed


def clock_of(connection: Connection) -> Callable[[], float]:
    """The CPU time of its backend, to the nanosecond; the time of day where there is no /proc."""
    pid = connection.info.backend_pid
    if cpu_of(pid) is None:
        return time.perf_counter
    return lambda: cpu_of(pid) or 0.0


def cpu_of(pid: int) -> float | None:
    """Seconds of CPU of a process with one thread, to the nanosecond; None where there is no /proc, or it has ended."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return None


def open_lease(connection: Connection) -> int:
    found = connection.execute("select penstock.open_lease('bench')").fetchone()
    assert found is not None
    lease: int = found[0]
    return lease


def wait_and_sleep(url: str, jobs: int) -> None:
    """Half of them sleep, half wait for an event: brought there as workers bring them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select count(*) from"
            " (select penstock.enqueue_plain(penstock.uuid7(), 'wait') from generate_series(1, %s)) as enqueued",
            [jobs],
        )
        lease = open_lease(connection)
        connection.execute(
            f"""
            do $$
            declare v_job record; v_count int;
            begin
              loop
                v_count := 0;
                for v_job in select id, claims from penstock.claim({lease:d}, 'default', 1000) loop
                  v_count := v_count + 1;
                  perform penstock.suspend({lease:d}, v_job.id, v_job.claims, case when v_count % 2 = 0
                    then '{{"name": "sleep", "kind": "sleep", "number": 1, "seconds": 864000}}'
                    else jsonb_build_object(
                      'name', 'wait', 'kind', 'event', 'number', 1, 'event', 'go', 'key', v_job.id) end);
                end loop;
                exit when v_count = 0;
                commit;
              end loop;
            end
            $$
            """.encode()
        )
        connection.execute("select penstock.close_lease(%s)", [lease])
        connection.execute("vacuum analyze")


async def waking_and_idle(url: str, times: int) -> tuple[float, float]:
    """Milliseconds, by the median, from an event until the handler that waited for it goes on, and from enqueueing an
    ordinary job until it begins, of a worker that has nothing else to do."""
    seen: asyncio.Queue[float] = asyncio.Queue()
    waking: list[float] = []
    idle: list[float] = []
    async with Penstock(url) as app:

        @app.job(queue="idle")
        async def begin() -> None:
            seen.put_nowait(time.perf_counter())

        @app.job(queue="idle")
        async def go_on(ctx: Context, n: int) -> None:
            await ctx.wait_for("go on", key=str(n))
            seen.put_nowait(time.perf_counter())

        worker = app.worker({"idle": 10})
        task = asyncio.create_task(worker.run())
        try:
            for n in range(times):
                waiter = await go_on.aenqueue(n)
                while (await waiter.arefresh()).state != "blocked":  # noqa: ASYNC110 - nobody is told of it
                    await asyncio.sleep(0.01)
                sent = time.perf_counter()
                await app.aemit("go on", key=str(n))
                waking.append(await seen.get() - sent)
                await waiter.aresult(60)
                sent = time.perf_counter()
                ordinary = await begin.aenqueue()
                idle.append(await seen.get() - sent)
                await ordinary.aresult(60)
        finally:
            worker.stop()
            await task
    return 1000 * statistics.median(waking), 1000 * statistics.median(idle)

"""Closing leaves no connection behind; forgetting to close, forking and several event loops do no harm."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from textwrap import dedent

import pytest

from penstock import Penstock
from tests.app.conftest import CountJobs
from tests.kit.fixtures import Connect
from tests.kit.until import until, wait_until

pytestmark = pytest.mark.needs_session("counts the connections to the server itself")

OURS = b"""
select count(*)
  from pg_stat_activity
 where application_name = 'penstock' and datname = current_database() and backend_start > %s
"""

HEAD = """
import asyncio, os, sys, threading
from penstock import Penstock
app = Penstock(sys.argv[1])
@app.job
def send(to): ...
async def asend():
    await asyncio.gather(*(send.aenqueue(n) for n in range(3)))
"""


@pytest.fixture
def connections(connect: Connect) -> Callable[[], int]:
    """How many connections applications have opened since, and have open: a pooler may keep some from before."""
    connection = connect()
    began = connection.execute("select clock_timestamp()").fetchall()[0]
    return lambda: connection.execute(OURS, began).fetchall()[0][0]


def run(program: str, url: str) -> str:
    """Runs a program to its end, with warnings as errors. What it wrote, if nothing was wrong."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + dedent(program), url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_close_leaves_no_connection(url: str, connections: Callable[[], int]) -> None:
    app = Penstock(url)
    app.jobs.list()
    assert connections() == 1
    app.close()
    wait_until(lambda: connections() == 0)
    app.close()
    assert app.jobs.list().jobs == []
    app.close()
    wait_until(lambda: connections() == 0)


async def test_aclose_leaves_no_connection(url: str, connections: Callable[[], int]) -> None:
    app = Penstock(url)
    await asyncio.gather(*(app.jobs.alist() for _ in range(5)))
    app.jobs.list()
    assert connections() >= 2
    await app.aclose()
    await until(lambda: connections() == 0)
    await app.aclose()


def test_event_loops_one_after_another_each_have_connections_of_their_own(
    url: str, connections: Callable[[], int]
) -> None:
    app = Penstock(url, pool_size=1)

    async def look() -> int:
        # whoever has to wait for the only connection ties the pool to its loop
        return sum(len(page.jobs) for page in await asyncio.gather(*(app.jobs.alist() for _ in range(3))))

    assert [asyncio.run(look()) for _ in range(3)] == [0, 0, 0]
    # those of the loops that have ended are closed when the next one begins, or here
    app.close()
    wait_until(lambda: connections() == 0)


def test_a_pool_hands_out_no_more_than_its_size(url: str, connections: Callable[[], int]) -> None:
    async def look(app: Penstock) -> int:
        await asyncio.gather(*(app.jobs.alist() for _ in range(20)))
        return connections()

    with Penstock(url, pool_size=2) as app:
        assert asyncio.run(look(app)) == 2


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("send.enqueue(1)", id="sync"),
        pytest.param("asyncio.run(asend())", id="async"),
        pytest.param("asyncio.run(asend()); asyncio.run(asend()); send.enqueue(1)", id="both"),
        pytest.param(
            "ts = [threading.Thread(target=send.enqueue, args=[n]) for n in range(5)]; "
            "[t.start() for t in ts]; [t.join() for t in ts]",
            id="threads",
        ),
    ],
)
def test_a_program_that_forgets_to_close_ends_without_a_word(url: str, end: str, count_jobs: CountJobs) -> None:
    run(end, url)
    assert count_jobs() >= 1


def test_a_program_that_closes_ends_without_a_word(url: str, count_jobs: CountJobs) -> None:
    program = """
        with app:
            send.enqueue(1)
        async def main():
            async with app:
                await asend()
                send.enqueue(2)
        asyncio.run(main())
    """
    run(program, url)
    assert count_jobs() == 5


def test_a_forked_child_and_its_parent_go_on_independently(url: str, count_jobs: CountJobs) -> None:
    program = """
        from penstock.engine.postgres.statement import Statement, first
        def session():
            return app.engine.run(Statement("select pg_backend_pid()", [], first))
        send.enqueue("before")
        asyncio.run(asend())
        ours = session()
        for leave_first in (True, False):
            child = os.fork()
            if child == 0:
                if leave_first:
                    app.close()
                assert session() != ours
                send.enqueue("child")
                asyncio.run(asend())
                app.close()
                print("child", len(app.jobs.list().jobs), flush=True)
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert session() == ours
        send.enqueue("parent")
        asyncio.run(asend())
        print("parent", len(app.jobs.list().jobs))
        app.close()
    """
    assert run(program, url).split("\n") == ["child 8", "child 12", "parent 16", ""]
    assert count_jobs() == 16

"""Processes that are killed between the file and the row, in either direction: nothing is left, and nothing is lost."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import psycopg
import pytest

from penstock import Context, Penstock
from penstock.engine import commands
from penstock.job import JobState
from tests.kit.fixtures import Connect
from tests.kit.until import wait_until
from tests.storage.killed import POINTS_OF_REMOVING, POINTS_OF_WRITING

UNDER_WAY = """
    select pid from pg_stat_activity
     where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
"""


@pytest.fixture
async def app(url: str, address: str) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=address) as app:

        @app.job(kind="export")
        async def export(ctx: Context) -> None:
            await ctx.artifacts.put("a.txt", b"of a lucky process")

        yield app


def run_until_killed(url: str, address: str, point: str) -> None:
    program = [sys.executable, "-m", "tests.storage.killed", url, address, point]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    # what it held it holds until Postgres finds that nobody is there any more
    with psycopg.connect(url, autocommit=True) as connection:
        wait_until(lambda: not connection.execute(UNDER_WAY).fetchall())


async def take_back(app: Penstock, connect: Connect) -> None:
    """What a worker does when the lease of a dead one has run out."""
    connection = connect()
    for (lease,) in connection.execute("select id from penstock.leases").fetchall():
        await app.engine.arun(commands.ExpireLease(lease))
    connection.execute("update penstock.jobs set run_at = now() where state = 'scheduled'")
    await app.engine.arun(commands.Promote())


async def paths(app: Penstock) -> tuple[set[str], set[str]]:
    """Of the files, and of the rows that are to have one."""
    return {found.path async for found in app.artifacts.store.alist()}, {each.path for each in app.artifacts.list()}


@pytest.mark.parametrize("point", POINTS_OF_WRITING)
async def test_a_process_killed_while_it_writes_leaves_no_file_without_a_row(
    app: Penstock, url: str, address: str, connect: Connect, point: str
) -> None:
    await app.handler("export").using(owner="ann").aenqueue()
    run_until_killed(url, address, point)
    files, _ = await paths(app)
    announced = {path for (path,) in connect().execute("select path from penstock.artifacts").fetchall()}
    assert files <= announced
    assert len(announced) == 1

    # its job may still be running for all we know: nothing is taken away
    app.artifacts.sweep(grace=0)
    assert (await paths(app))[0] == files
    assert connect().execute("select count(*) from penstock.artifacts").fetchall() == [(1,)]

    await take_back(app, connect)
    swept = await app.artifacts.asweep(grace=0)
    stored = point == "after the row"
    assert swept.artifacts == (0 if stored else 1)
    assert await paths(app) == ((announced, announced) if stored else (set(), set()))
    assert app.artifacts.sweep(grace=0, orphans=True).orphans == 0


@pytest.mark.parametrize("point", POINTS_OF_WRITING)
async def test_the_next_attempt_stores_the_file_all_the_same(
    app: Penstock, url: str, address: str, connect: Connect, point: str
) -> None:
    job = await app.handler("export").using(owner="ann").aenqueue()
    run_until_killed(url, address, point)
    await take_back(app, connect)
    [result] = await app.atick()
    assert result.state is JobState.SUCCEEDED, result.error
    [artifact] = app.artifacts.list(job.id)
    assert app.artifacts.read(artifact.id) == b"of a lucky process"
    assert app.artifacts.sweep(grace=0, orphans=True).artifacts == 0
    assert await paths(app) == ({artifact.path}, {artifact.path})


@pytest.mark.parametrize("point", POINTS_OF_REMOVING)
async def test_a_removal_that_was_killed_is_finished_by_the_next_sweep(
    app: Penstock, url: str, address: str, connect: Connect, point: str
) -> None:
    await app.handler("export").aenqueue()
    await app.atick()
    run_until_killed(url, address, point)
    files, shown = await paths(app)
    assert (len(files), len(shown)) == (1 if point == "before the deletion" else 0, 0)
    assert connect().execute("select state from penstock.artifacts").fetchall() == [("removing",)]
    assert app.artifacts.sweep(grace=0).artifacts == 1
    assert await paths(app) == (set(), set())
    assert connect().execute("select count(*) from penstock.artifacts").fetchall() == [(0,)]

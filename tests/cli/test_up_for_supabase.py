"""Supabase's own clients against `penstock up`, with the key that it writes down and the database that it brings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from supabase import acreate_client

from penstock import embedded
from penstock.server.auth import mint
from penstock.tokens import secret_file
from tests.cli.test_up import Program, programs
from tests.server.rest.test_clients import add_tasks, ask, call_and_read, check_messages, check_tasks

__all__ = ["programs"]

APP = """
from penstock import Context, Penstock

app = Penstock()

@app.job
async def record(ctx: Context) -> None:
    await ctx.artifacts.put("audio/chapter1.mp3", b"ID3")
"""


@pytest.fixture
def up(tmp_path: Path, programs: list[Program]) -> Iterator[Program]:
    options = ["--port", "0", "--with", "supabase", "--with", "pgmq"]
    program = Program(tmp_path, "up", "shouting:app", *options, app=APP)
    programs.append(program)
    program.wait_until_up()
    yield program
    assert program.end() == 0


# supabase-py's own doing
@pytest.mark.filterwarnings(
    "ignore:The '.*' parameter is deprecated. Please configure it in the http client:DeprecationWarning"
)
async def test_what_was_written_for_supabase_runs_against_penstock_up(up: Program, tmp_path: Path) -> None:
    folder = up.folder / ".penstock"
    address, key, secret = up.address(), (folder / "service-key").read_text(), secret_file(folder).read_text()
    with psycopg.connect(embedded.running_url(folder) or "", autocommit=True) as connection:
        connection.execute("select pgmq.create('add-bookmark-url-queue'), pgmq.create('q')")
        clients: list[Any] = [await acreate_client(address, each) for each in (key, mint(secret, "ada"))]
        try:
            await call_and_read(*clients)
        finally:
            for client in clients:
                await client.postgrest.aclose()
        # the task and the message that it leaves
        connection.execute("select public.complete_task(id, 'w') from public.claim_tasks('w', 9)")
        connection.execute("select pgmq.drop_queue('q')")

        [[with_file]] = connection.execute("select penstock.enqueue('record', owner => 'ada')").fetchall()
        job = add_tasks(connection)
        done = "select from public.jobs where id = %s and status = 'complete'"
        up.until(lambda: connection.execute(done, [with_file]).fetchone() is not None)
        worker, queue = tmp_path / "worker", tmp_path / "queue"
        for room in (worker, queue):
            room.mkdir()
        check_tasks(connection, job, await ask(address, key, "worker.ts", worker, JOB_ID=str(with_file)))
        check_messages(connection, await ask(address, key, "bookmarks.ts", queue))

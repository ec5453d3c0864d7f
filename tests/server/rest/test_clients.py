"""Supabase's own clients against a served application, with no Supabase: supabase-js in Node, and supabase-py."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from postgrest.exceptions import APIError
from supabase import acreate_client

from penstock import Context, Penstock
from penstock.server.auth import mint
from tests.kit import node
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET, Served, served
from tests.run_document import blocks

Connection = psycopg.Connection[Any]

SCRIPTS = Path(__file__).parent / "clients"
GUIDE = Path(__file__).parent.parent.parent.parent / "docs" / "guides" / "supabase.md"


@pytest.fixture
async def site(url: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with Penstock(url, artifacts=tmp_path / "files") as app, served(app, database_timeout=30.0) as site:
        yield site


async def run(site: Served, script: str, room: Path, **environment: str) -> Any:
    return await ask(site.address, KEY, script, room, **environment)


async def ask(address: str, key: str, script: str, room: Path, **environment: str) -> Any:
    told = await node.run(SCRIPTS / script, room, SUPABASE_URL=address, SUPABASE_SERVICE_KEY=key, **environment)
    return json.loads(told)


async def test_a_worker_that_was_written_for_supabase_js(site: Served, connect: Connect, tmp_path: Path) -> None:
    @site.app.job
    async def record(ctx: Context) -> None:
        await ctx.artifacts.put("audio/chapter1.mp3", b"ID3")

    connection = connect()
    job = add_tasks(connection)
    with_file = await record.using(owner="ada").aenqueue()
    await site.app.atick(limit=1)
    check_tasks(connection, job, await run(site, "worker.ts", tmp_path, JOB_ID=str(with_file.id)))


def add_tasks(connection: Connection) -> UUID:
    """Of which worker.ts takes those that it knows."""
    [job] = connection.execute("insert into public.jobs (user_id, type) values ('ada', 'r') returning id").fetchall()
    add = "insert into public.job_tasks (job_id, task_type, sequence, input) values (%s, %s, %s, %s)"
    for n, (type, chapter) in enumerate(
        [("text_generation", 1), ("text_generation", 13), ("audio_generation", 1), ("pdf_generation", 1)]
    ):
        connection.execute(add, [*job, type, n, json.dumps({"chapter": chapter})])
    return UUID(str(job[0]))


def check_tasks(connection: Connection, job: UUID, told: object) -> None:
    assert told == {"idle": 10_000, "said": [], "file": "ID3", "pending": [{"count": 1}], "error": None}
    rows = connection.execute(
        "select task_type, status, attempts, output, error, starts_with(worker_id, 'worker-') "
        "from public.job_tasks where job_id = %s order by sequence",
        [job],
    ).fetchall()
    assert rows == [
        ("text_generation", "complete", 1, {"success": True, "chapter": 1}, None, True),
        ("text_generation", "failed", 3, None, "nobody wants chapter 13", True),
        ("audio_generation", "complete", 1, {"success": True, "chapter": 1}, None, True),
        ("pdf_generation", "pending", 0, None, None, None),
    ]
    files = connection.execute(
        "select artifact_type, storage_path, duration_seconds from public.job_artifacts where job_id = %s", [job]
    ).fetchall()
    assert files == [("audio_mp3", f"ada/{job}/audio/chapter1.mp3", 180.0)]


async def test_a_queue_that_was_written_for_supabase_js(site: Served, connect: Connect, tmp_path: Path) -> None:
    connection = connect()
    connection.execute("select pgmq.create('add-bookmark-url-queue')")
    check_messages(connection, await run(site, "bookmarks.ts", tmp_path))


def check_messages(connection: Connection, told: Any) -> None:
    messages, archived, unknown = told["messages"], told["archived"], told["unknown"]
    assert messages["error"] is None
    assert [each["msg_id"] for each in messages["data"]] == [1, 2]
    assert messages["data"][0]["message"]["url"] == "https://example.com"
    assert (archived["data"], unknown["status"], unknown["error"]["code"]) == (True, 404, "PGRST202")
    # messages are jobs, and are where monitoring looks for them
    assert connection.execute('select msg_id from pgmq."q_add-bookmark-url-queue"').fetchall() == [(2,)]
    assert connection.execute('select msg_id from pgmq."a_add-bookmark-url-queue"').fetchall() == [(1,)]


async def test_the_guide_s_worker_runs(site: Served, tmp_path: Path) -> None:
    [code] = [block.code for block in blocks(GUIDE) if block.title == "worker.mjs"]
    script = tmp_path / "of the guide" / "worker.mjs"
    script.parent.mkdir()
    script.write_text(code)
    assert await node.run(script, tmp_path, SUPABASE_URL=site.address, SUPABASE_KEY=KEY) == "complete 100\n"


# supabase-py's own doing
@pytest.mark.filterwarnings(
    "ignore:The '.*' parameter is deprecated. Please configure it in the http client:DeprecationWarning"
)
async def test_supabase_py_calls_and_reads(site: Served, connect: Connect) -> None:
    connect().execute("select pgmq.create('q')")
    client: Any = await acreate_client(site.address, mint(SECRET, role="service_role"))
    user: Any = await acreate_client(site.address, mint(SECRET, "ada"))
    try:
        await call_and_read(client, user)
    finally:
        await client.postgrest.aclose()
        await user.postgrest.aclose()


async def call_and_read(client: Any, user: Any) -> None:
    job = (await client.table("jobs").insert({"user_id": "ada", "type": "r"}).execute()).data[0]["id"]
    tasks = [{"job_id": job, "task_type": "x", "sequence": n} for n in range(2)]
    assert len((await client.table("job_tasks").insert(tasks).execute()).data) == 2
    [task] = (await client.rpc("claim_tasks", {"p_worker_id": "w", "p_max_tasks": 1}).execute()).data
    beat = await client.rpc("heartbeat_task", {"p_task_id": task["id"], "p_worker_id": "w"}).execute()
    assert beat.data is True
    done = {"p_task_id": task["id"], "p_worker_id": "w", "p_output": {"words": 3}}
    assert (await client.rpc("complete_task", done).execute()).data is True
    found = await client.table("jobs").select("status,progress").eq("id", job).single().execute()
    assert found.data["status"] == "processing"
    assert found.data["progress"]["docsComplete"] == 1
    waiting = await client.table("job_tasks").select("*").eq("status", "pending").order("sequence").limit(5).execute()
    assert [each["sequence"] for each in waiting.data] == [1]
    queue = client.schema("pgmq_public")
    assert (await queue.rpc("send", {"queue_name": "q", "message": {"n": 1}}).execute()).data == [1]
    [message] = (await queue.rpc("read", {"queue_name": "q", "sleep_seconds": 5, "n": 5}).execute()).data
    assert message["message"] == {"n": 1}
    with pytest.raises(APIError) as refused:
        await client.rpc("no_such_function", {}).execute()
    assert refused.value.code == "PGRST202"

    assert [each["id"] for each in (await user.table("jobs").select("id").execute()).data] == [job]
    with pytest.raises(APIError) as refused:
        await user.rpc("claim_tasks", {"p_worker_id": "w"}).execute()
    assert refused.value.code == "42501"

"""ctx.artifacts.put: what a job may store, and that only the worker that holds the job may."""

import asyncio
import io
import math
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from penstock import Backoff, Context, Penstock, SyncContext
from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.errors import ArtifactExists, InvalidInput, LeaseLost
from penstock.job import ClaimedJob, JobState, Lease
from penstock.testing import arun_inline, run_inline
from tests.kit.fixtures import Connect
from tests.kit.until import soon
from tests.storage import handlers

CONTENTS = b"0123456789" * 100


def files_in(app: Penstock) -> dict[str, bytes]:
    assert app.artifacts.storage.address is not None
    folder = Path(app.artifacts.storage.address)
    found = {}
    # not rglob, which fails when a folder is removed before its eyes
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


async def run_one(app: Penstock) -> None:
    [result] = await app.atick()
    assert result.state is JobState.SUCCEEDED, result.error


async def claim(app: Penstock) -> tuple[Lease, ClaimedJob]:
    lease = await app.engine.arun(commands.OpenLease("test"))
    [job] = await app.engine.arun(commands.Claim(lease, "default", 1))
    return lease, job


def _sources(folder: Path) -> dict[str, Any]:
    path = folder / "source"
    path.write_bytes(CONTENTS)

    async def async_iterator() -> AsyncIterator[bytes]:
        for start in range(0, len(CONTENTS), 100):
            yield CONTENTS[start : start + 100]

    def iterator() -> Iterator[bytes]:
        for start in range(0, len(CONTENTS), 100):
            yield CONTENTS[start : start + 100]

    return {
        "bytes": CONTENTS, "bytearray": bytearray(CONTENTS), "memoryview": memoryview(CONTENTS), "path": path,
        "file": io.BytesIO(CONTENTS), "iterator": iterator(), "list": [CONTENTS[:500], b"", CONTENTS[500:]],
        "async iterator": async_iterator(),
    }  # fmt: skip


KINDS = ["bytes", "bytearray", "memoryview", "path", "file", "iterator", "list", "async iterator"]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_async_handler_stores_any_source_of_bytes(app: Penstock, tmp_path: Path, kind: str) -> None:
    @app.job
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("out/a.bin", _sources(tmp_path)[kind])

    job = await export.using(owner="ann").aenqueue()
    await run_one(app)
    assert files_in(app) == {f"ann/{job.id}/out/a.bin": CONTENTS}
    [artifact] = await app.artifacts.alist(job.id)
    assert await app.artifacts.aread(artifact.id) == CONTENTS


@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_a_sync_handler_stores_any_source_of_bytes(app: Penstock, tmp_path: Path, kind: str) -> None:
    @app.job
    def export(ctx: SyncContext) -> None:
        ctx.artifacts.put("out/a.bin", _sources(tmp_path)[kind])

    job = await export.using(owner="ann").aenqueue()
    await run_one(app)
    assert files_in(app) == {f"ann/{job.id}/out/a.bin": CONTENTS}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [("text", "is text"), (7, "must be bytes"), ([1, 2], "must give bytes"), (io.StringIO("x"), "binary mode")],
)
def test_what_is_not_bytes_is_refused(data: Any, complaint: str) -> None:
    app = Penstock("postgresql:///none")

    @app.job
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("a", data)

    with pytest.raises(InvalidInput, match=complaint):
        run_inline(export)


async def test_everything_about_a_file_is_on_record(app: Penstock) -> None:
    @app.job
    async def read_aloud(ctx: Context) -> str:
        artifact = await ctx.artifacts.put(
            "audio/1.mp3", CONTENTS, duration=180, metadata={"voice": "Ada"}, expires_in=3600, type="chapter"
        )
        return str(artifact.id)

    handle = await read_aloud.using(owner="ann", org="acme").aenqueue()
    await run_one(app)
    artifact = app.artifacts.get(UUID(await handle.aresult()))
    assert artifact is not None
    assert (artifact.job, artifact.owner, artifact.org, artifact.kind) == (handle.id, "ann", "acme", "read_aloud")
    assert (artifact.name, artifact.content_type, artifact.type) == ("audio/1.mp3", "audio/mpeg", "chapter")
    assert (artifact.size, artifact.duration, artifact.metadata) == (1000, 180, {"voice": "Ada"})
    assert (artifact.downloads, artifact.state) == (0, "stored")
    assert artifact.expires_at is not None
    assert (artifact.expires_at - artifact.created_at).total_seconds() == 3600
    assert artifact == await app.artifacts.aget(artifact.id)
    assert artifact == app.artifacts.find(path=artifact.path) == await app.artifacts.afind(path=artifact.path)
    assert app.artifacts.find(path=f"{artifact.path}.bak") is None
    [used] = [usage for usage in app.usage.list("acme") if usage.kind == "read_aloud"]
    assert used.bytes == 1000


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ({"a": "x\x00"}, "a: contains a NUL"),
        ({"a": object()}, "a: .* has no JSON form"),
        ({"a": "one, two; " * 4_000}, "metadata: 40,008 bytes"),
        ([1], "metadata: must be a dict"),
    ],
)
async def test_metadata_that_cannot_be_stored_is_refused(app: Penstock, metadata: Any, complaint: str) -> None:
    await app.job(kind="export")(handlers.store).aenqueue("x")
    lease, job = await claim(app)
    with pytest.raises(InvalidInput, match=complaint):
        await app.artifacts.keeper.aput(job, lease, "a", b"x", metadata=metadata)
    assert files_in(app) == {}


async def test_artifacts_expire_by_the_applications_default_unless_told_otherwise(url: str, tmp_path: Path) -> None:
    async with Penstock(url, artifacts=tmp_path, artifacts_kept=7 * 24 * 3600) as app:

        @app.job
        async def export(ctx: Context) -> None:
            await ctx.artifacts.put("week", b"x")
            await ctx.artifacts.put("hour", b"x", expires_in=3600)
            await ctx.artifacts.put("ever", b"x", expires_in=math.inf)

        job = await export.aenqueue()
        await run_one(app)
        kept = {
            each.name: each.expires_at and (each.expires_at - each.created_at).total_seconds()
            for each in app.artifacts.list(job.id)
        }
        assert kept == {"week": 7 * 24 * 3600, "hour": 3600, "ever": None}


async def test_a_handler_in_a_process_of_its_own_stores_files_too(app: Penstock) -> None:
    both = [app.job(isolate=True)(handlers.store), app.job(isolate=True)(handlers.store_async)]
    for handler in both:
        job = await handler.aenqueue(text="from elsewhere")
        await run_one(app)
        [artifact] = app.artifacts.list(job.id)
        pid, text = app.artifacts.read(artifact.id).decode().split(" ", 1)
        assert (int(pid) != os.getpid(), text) == (True, "from elsewhere")


async def test_a_later_attempt_overwrites_what_the_first_one_stored(app: Penstock) -> None:
    stored: list[Artifact] = []

    @app.job(max_attempts=2)
    async def export(ctx: Context) -> None:
        stored.append(await ctx.artifacts.put("a.txt", f"attempt {ctx.attempt}".encode(), expires_in=60))
        if ctx.attempt == 1:
            raise LookupError("not yet")

    await export.using(backoff=Backoff(0)).aenqueue()
    while len(stored) < 2:
        await app.atick()
    assert stored[0].id == stored[1].id
    assert stored[0].path == stored[1].path
    [artifact] = app.artifacts.list()
    assert app.artifacts.read(artifact.id) == b"attempt 2"
    assert artifact.digest == stored[1].digest != stored[0].digest


async def test_create_only_refuses_the_second_and_keeps_the_first(app: Penstock) -> None:
    @app.job
    async def export(ctx: Context) -> str:
        await ctx.artifacts.put("a.txt", b"first", overwrite=False)
        try:
            await ctx.artifacts.put("a.txt", b"second", overwrite=False)
        except ArtifactExists:
            return "refused"
        return "written"

    handle = await export.aenqueue()
    await run_one(app)
    assert await handle.aresult() == "refused"
    [artifact] = app.artifacts.list()
    assert app.artifacts.read(artifact.id) == b"first"


async def test_create_only_does_not_touch_a_file_that_no_artifact_names(app: Penstock) -> None:
    @app.job
    async def export(ctx: Context) -> str:
        try:
            await ctx.artifacts.put("a.txt", b"ours", overwrite=False, path="a.txt")
        except ArtifactExists:
            return "refused"
        return "written"

    await app.artifacts.store.aput("ann/a.txt", b"theirs", content_type="text/plain", filename="a.txt")
    handle = await export.using(owner="ann").aenqueue()
    await run_one(app)
    assert await handle.aresult() == "refused"
    assert files_in(app) == {"ann/a.txt": b"theirs"}
    assert app.artifacts.sweep(grace=0).artifacts == 0
    assert files_in(app) == {"ann/a.txt": b"theirs"}


def test_an_id_that_another_artifact_has_is_refused_by_name(app: Penstock, connect: Connect) -> None:
    """A worker over HTTP chooses them. Of two that differ in their path alone one would wait for the other to go."""
    begin = """select * from penstock.announce_artifact(
        null, %(job)s, 1, 'ann', null, 'export', %(job)s, 'a', %(path)s, 'a/b', null, null, null, null, false)"""
    id = UUID("01a1e5bc-536c-7624-aeec-5124e93f335e")
    connection = connect()
    connection.execute(begin, {"job": id, "path": "ann/a"})
    with pytest.raises(psycopg.Error, match=f"^id: {id} is another artifact's"):
        connection.execute(begin, {"job": id, "path": "ann/b"})


async def test_a_path_of_ones_own_is_within_the_owners_folder_and_no_others(app: Penstock) -> None:
    @app.job
    async def export(ctx: Context, path: str) -> None:
        await ctx.artifacts.put("resume.pdf", b"%PDF", path=path)

    await export.using(owner="ann").aenqueue("d1_1700000000.pdf")
    await export.using(owner="bob").aenqueue("d1_1700000000.pdf")
    await export.using(owner="eve", max_attempts=1).aenqueue("../ann/d1_1700000000.pdf")
    results = await app.atick()
    assert sorted(files_in(app)) == ["ann/d1_1700000000.pdf", "bob/d1_1700000000.pdf"]
    [refused] = [result for result in results if result.state is JobState.FAILED]
    assert refused.error == "path: must be relative, without empty parts, . or .."


async def test_organisations_have_folders_of_their_own(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("a", str(ctx.org).encode(), path="shared")

    for org in ("acme", "evil"):
        await export.using(org=org).aenqueue()
        await run_one(app)
    assert files_in(app) == {"_acme/shared": b"acme", "_evil/shared": b"evil"}


async def test_what_an_owner_has_in_one_organisation_is_not_overwritten_for_another(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("a", str(ctx.org).encode(), path="shared")

    await export.using(owner="ann", org="acme").aenqueue()
    await run_one(app)
    await export.using(owner="ann", org="evil").aenqueue()
    [result] = await app.atick()
    assert result.error == "path: ann/shared is another owner's"
    assert files_in(app) == {"ann/shared": b"acme"}


# A worker that lost the job.


async def test_a_worker_that_lost_the_job_announces_nothing(app: Penstock) -> None:
    await app.job(kind="export")(handlers.store).aenqueue("x")
    lease, job = await claim(app)
    assert await app.engine.arun(commands.ExpireLease(lease)) == 1
    with pytest.raises(LeaseLost):
        await app.artifacts.keeper.aput(job, lease, "a", b"late")
    assert files_in(app) == {}
    assert app.artifacts.due(grace=0) == 0


@pytest.mark.parametrize("meanwhile", ["the next worker stored its own", "nobody has it"])
async def test_what_a_worker_wrote_that_lost_the_job_meanwhile_is_not_kept(app: Penstock, meanwhile: str) -> None:
    await app.job(kind="export", max_attempts=3, backoff=Backoff(0))(handlers.store).aenqueue("x")
    lease, job = await claim(app)
    reached, go = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"late"
        reached.set()
        await go.wait()

    writing = asyncio.create_task(app.artifacts.keeper.aput(job, lease, "a", slow()))
    await soon(reached.wait())
    assert await app.engine.arun(commands.ExpireLease(lease)) == 1
    if meanwhile == "nobody has it":
        app.artifacts.sweep(grace=0)
    else:
        await app.engine.arun(commands.Promote())
        theirs, again = await claim(app)
        await app.artifacts.keeper.aput(again, theirs, "a", b"in time")
    go.set()
    with pytest.raises(LeaseLost):
        await writing
    assert list(files_in(app).values()) == ([] if meanwhile == "nobody has it" else [b"in time"])
    assert app.artifacts.sweep(grace=0, orphans=True).orphans == 0
    assert len(files_in(app)) == len(app.artifacts.list())


@pytest.mark.parametrize("swept", [True, False])
async def test_a_file_written_although_the_job_was_lost_is_not_confirmed_and_goes(
    app: Penstock, connect: Connect, swept: bool
) -> None:
    """The worst moment: after the last look whether the job is still ours. Its row may be gone already, or not yet."""
    await app.job(kind="export")(handlers.store).aenqueue("x")
    lease, job = await claim(app)
    inner = app.artifacts.store
    put = inner.aput

    async def put_then_lose(*args: Any, **options: Any) -> Any:
        written = await put(*args, **options)
        await app.engine.arun(commands.ExpireLease(lease))
        if swept:
            connect().execute("delete from penstock.artifacts")
        return written

    inner.aput = put_then_lose  # type: ignore[method-assign]
    with pytest.raises(LeaseLost):
        await app.artifacts.keeper.aput(job, lease, "a", b"late")
    if not swept:
        assert app.artifacts.list() == []
        assert app.artifacts.sweep(grace=0).artifacts == 1
    assert files_in(app) == {}
    assert connect().execute("select count(*) from penstock.artifacts").fetchall() == [(0,)]


# Without a queue.


def test_run_inline_keeps_files_in_memory() -> None:
    app = Penstock("postgresql:///none")

    @app.job
    def export(ctx: SyncContext) -> str:
        return ctx.artifacts.put("a.pdf", iter([b"%P", b"DF"])).content_type

    run = run_inline(export)
    assert (run.output, run.artifacts) == ("application/pdf", {"a.pdf": b"%PDF"})


async def test_arun_inline_keeps_files_in_memory() -> None:
    app = Penstock("postgresql:///none")

    @app.job
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("a.pdf", b"1", overwrite=False)
        with pytest.raises(ArtifactExists):
            await ctx.artifacts.put("a.pdf", b"2", overwrite=False)

    assert (await arun_inline(export)).artifacts == {"a.pdf": b"1"}

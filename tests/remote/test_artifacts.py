"""Files of jobs that run on a worker over the API: streamed to the server, whatever their size."""

import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Context, JobFailed, NewJob, Penstock, StorageFull, SyncContext
from penstock.artifact import Artifact
from tests.remote.enqueueing import enqueue, enqueue_job
from tests.remote.serving import Api, working

MEGABYTE = 1024 * 1024


def pieces(megabytes: int) -> Iterator[bytes]:
    for number in range(megabytes):
        yield bytes([number % 251]) * MEGABYTE


async def artifacts(api: Api, job: Any) -> list[Artifact]:
    return await api.app.artifacts.alist(job.id)


async def test_files_of_every_kind_arrive(app: Penstock, api: Api, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("from a file")

    @app.job
    async def work(ctx: Context) -> list[str]:
        async def slowly() -> AsyncIterator[bytes]:
            for text in ("one ", "two"):
                yield text.encode()

        made = [
            await ctx.artifacts.put("a b/résumé.pdf", b"%PDF", duration=1.5, metadata={"pages": 3}, expires_in=1000),
            await ctx.artifacts.put("notes.txt", tmp_path / "notes.txt", type="note"),
            await ctx.artifacts.put("slow.bin", slowly(), content_type="application/x-slow"),
        ]
        await ctx.artifacts.put("notes.txt", b"overwritten")
        return [str(each.id) for each in made]

    @app.job
    def work_in_thread(ctx: SyncContext) -> int | None:
        return ctx.artifacts.put("thread.bin", pieces(3)).size

    async with working(app, api):
        job = await enqueue_job(api, NewJob(kind="work", owner="ada", org="acme"))
        ids = await job.aresult(20)
        assert await (await enqueue(api, "work_in_thread")).aresult(20) == 3 * MEGABYTE
    found = {each.name: each for each in await artifacts(api, job)}
    pdf, notes, slow = found["a b/résumé.pdf"], found["notes.txt"], found["slow.bin"]
    assert [str(each.id) for each in (pdf, notes, slow)] == ids
    assert (pdf.owner, pdf.org, pdf.kind) == ("ada", "acme", "work")
    assert (pdf.size, pdf.duration, pdf.metadata, pdf.content_type) == (4, 1.5, {"pages": 3}, "application/pdf")
    assert pdf.expires_at is not None
    assert slow.content_type == "application/x-slow"
    assert await api.app.artifacts.aread(slow.id) == b"one two"
    assert await api.app.artifacts.aread(notes.id) == b"overwritten"


async def test_a_file_that_is_there_is_not_overwritten_against_the_handlers_will(app: Penstock, api: Api) -> None:
    @app.job
    async def work(ctx: Context) -> None:
        await ctx.artifacts.put("once.txt", b"first", path="once.txt")

    @app.job(max_attempts=1)
    async def again(ctx: Context) -> None:
        await ctx.artifacts.put("once.txt", b"second", path="once.txt", overwrite=False)

    async with working(app, api):
        await (await enqueue(api, "work")).aresult(20)
        job = await enqueue_job(api, NewJob(kind="again", max_attempts=1))
        with pytest.raises(JobFailed, match=r"once\.txt"):
            await job.aresult(20)


async def test_a_file_that_does_not_fit_says_how_much_there_is(app: Penstock, api: Api) -> None:
    app.quota("files", storage=10)
    api.app.quota("files", storage=10)
    await api.app.declare()
    told = []

    @app.job
    async def work(ctx: Context) -> None:
        try:
            await ctx.artifacts.put("large.txt", b"x" * 20)
        except StorageFull as error:
            told.append((error.used, error.limit))

    async with working(app, api):
        job = await enqueue_job(api, NewJob(kind="work", owner="ada", quota="files"))
        await job.aresult(20)
    assert told == [(0, 10)]


async def test_a_bad_name_is_refused_by_the_field(app: Penstock, api: Api) -> None:
    @app.job(max_attempts=1)
    async def work(ctx: Context, name: str) -> None:
        await ctx.artifacts.put(name, b"x")

    async with working(app, api):
        for name in ("../up", "a//b", "a\\b"):
            job = await enqueue_job(
                api, NewJob(kind="work", args=b'{"name":"%s"}' % name.replace("\\", "\\\\").encode(), max_attempts=1)
            )
            with pytest.raises(JobFailed, match=r": name: "):
                await job.aresult(20)


async def test_a_large_file_is_never_in_memory_as_a_whole(app: Penstock, api: Api) -> None:
    size = 64

    @app.job
    async def work(ctx: Context) -> list[Any]:
        before = peak()
        artifact = await ctx.artifacts.put("large.bin", pieces(size))
        return [artifact.digest, artifact.size, peak() - before]

    async with working(app, api):
        # whatever else grows the first time has grown
        await (await enqueue(api, "work")).aresult(60)
        digest, written, grown = await (await enqueue(api, "work")).aresult(60)
    assert written == size * MEGABYTE
    expected = hashlib.sha256()
    for piece in pieces(size):
        expected.update(piece)
    assert digest == expected.hexdigest()
    # client and server together, for both are this process
    assert grown < 24 * MEGABYTE


def peak() -> int:
    """The most memory that this process has had, in bytes; counted anew each time."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return os.getpid()  # not allowed here
    return int(line.split()[1]) * 1024


async def test_a_file_over_the_limit_is_refused(app: Penstock, url: str, tmp_path: Path) -> None:
    api = Api(url, tmp_path / "files", max_upload=MEGABYTE)
    await api.start()

    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        await ctx.artifacts.put("large.bin", pieces(3))

    async with working(app, api):
        job = await enqueue_job(api, NewJob(kind="work", max_attempts=1))
        with pytest.raises(JobFailed, match=r"over the limit of 1,048,576 bytes|gave no answer"):
            await job.aresult(20)
    assert await artifacts(api, job) == []
    await api.stop()

"""How many bytes a user may keep: decided when files are stored, however many are at once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from penstock import Context, JobState, Penstock, StorageFull, SyncContext
from penstock.testing import adrain

QUOTA = 1000


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path) as app:
        app.quota("files", storage=QUOTA)
        await app.declare()
        yield app


def files_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and ".links" not in path.name]


async def used(app: Penstock) -> int:
    return sum(each.size or 0 for each in await app.artifacts.alist(owner="alice"))


@pytest.mark.parametrize("how", ["bytes", "stream", "thread"])
async def test_a_job_stores_no_more_than_fits(app: Penstock, tmp_path: Path, how: str) -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(10_000):
            sent += 500
            yield b"x" * 500

    @app.job(quota="files", max_attempts=3)
    async def keep(ctx: Context) -> None:
        await ctx.artifacts.put("small.txt", b"x" * 100)
        await ctx.artifacts.put("large.txt", b"x" * 5_000_000 if how == "bytes" else pieces())

    @app.job(quota="files", max_attempts=3)
    def keep_in_thread(ctx: SyncContext) -> None:
        ctx.artifacts.put("small.txt", b"x" * 100)
        ctx.artifacts.put("large.txt", (b"x" * 500 for _ in range(10_000)))

    job = await (keep_in_thread if how == "thread" else keep).using(owner="alice").aenqueue()
    await adrain(app)
    record = await job.arefresh()
    assert (record.state, record.attempt) == (JobState.FAILED, 1)
    error = record.errors[-1]
    assert error["error"].startswith("storage: 100 of 1000 bytes are used, and this file does not fit")
    assert "traceback" not in error  # its owner may read it
    assert files_in(tmp_path) == ["small.txt"]
    assert await used(app) == 100
    assert sent <= 2000


async def test_many_at_once_do_not_pass_it_together(app: Penstock, tmp_path: Path) -> None:
    all_begun = asyncio.Event()
    begun = 0

    async def piece() -> AsyncIterator[bytes]:
        nonlocal begun
        begun += 1
        if begun == 8:
            all_begun.set()
        await all_begun.wait()
        yield b"x" * 300

    @app.job(quota="files")
    async def keep(ctx: Context) -> None:
        await ctx.artifacts.put("file.txt", piece())

    for _ in range(8):
        await keep.using(owner="alice").aenqueue()
    assert len(await app.atick(limit=8)) == 8
    assert await used(app) == 900
    assert len(files_in(tmp_path)) == 3


async def test_an_upload_names_its_quota_and_leaves_nothing(app: Penstock, tmp_path: Path) -> None:
    await app.artifacts.aput("one.txt", b"x" * 900, owner="alice", quota="files")
    with pytest.raises(StorageFull, match="900 of 1000") as full:
        await app.artifacts.aput("two.txt", b"x" * 200, owner="alice", quota="files")
    assert (full.value.used, full.value.limit) == (900, 1000)
    await app.artifacts.aput("bob.txt", b"x" * 200, owner="bob", quota="files")
    await app.artifacts.aput("free.txt", b"x" * 200, owner="alice")
    assert sorted(files_in(tmp_path)) == ["bob.txt", "free.txt", "one.txt"]


async def test_what_a_file_replaces_makes_room(app: Penstock) -> None:
    @app.job(quota="files")
    async def keep(ctx: Context) -> None:
        for _ in range(3):
            await ctx.artifacts.put("file.txt", b"x" * 900)

    job = await keep.using(owner="alice").aenqueue()
    await adrain(app)
    assert (await job.arefresh()).state is JobState.SUCCEEDED


async def test_what_does_not_count_is_stored(app: Penstock) -> None:
    @app.job(quota="files")
    async def keep(ctx: Context) -> None:
        await ctx.artifacts.put("file.txt", b"x" * 5000)

    await keep.using(owner="alice", quota=False).aenqueue()
    await keep.aenqueue()
    await adrain(app)
    assert await used(app) == 5000

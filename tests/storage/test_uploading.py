"""app.artifacts.put: files that no running job makes."""

import asyncio
import math
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from penstock import Penstock
from penstock.errors import ArtifactExists, InvalidInput
from tests.kit.fixtures import Connect
from tests.storage.test_putting import files_in


async def test_an_upload_is_stored_and_says_whose_it_is(app: Penstock) -> None:
    job = uuid4()
    artifact = await app.artifacts.aput("call.ogg", b"OggS", owner="ann", org="acme", job=job, metadata={"line": 1})
    assert (artifact.owner, artifact.org, artifact.job, artifact.kind) == ("ann", "acme", job, "upload")
    assert (artifact.size, artifact.content_type, artifact.metadata) == (4, "audio/ogg", {"line": 1})
    assert await app.artifacts.aread(artifact.id) == b"OggS"
    assert files_in(app) == {f"ann/{job}/call.ogg": b"OggS"}
    assert [each.id for each in await app.artifacts.alist(job)] == [artifact.id]


async def test_uploads_without_a_job_do_not_meet(app: Penstock) -> None:
    one, other = app.artifacts.put("a.txt", b"1", org="acme"), app.artifacts.put("a.txt", b"2", org="acme")
    assert one.path != other.path
    assert sorted(files_in(app).values()) == [b"1", b"2"]
    assert one.path.startswith("_acme/")


@pytest.mark.parametrize("overwrite", [True, False])
async def test_a_path_is_overwritten_or_refused(app: Penstock, overwrite: bool) -> None:
    first = await app.artifacts.aput("a", b"1", owner="ann", path="here")
    if overwrite:
        second = await app.artifacts.aput("a", b"2", owner="ann", path="here")
        assert second.id == first.id
    else:
        with pytest.raises(ArtifactExists):
            await app.artifacts.aput("a", b"2", owner="ann", path="here", overwrite=False)
    assert files_in(app) == {"ann/here": b"2" if overwrite else b"1"}
    assert await app.artifacts.aread(first.id) == (b"2" if overwrite else b"1")


async def test_an_upload_that_is_broken_off_leaves_nothing(app: Penstock, connect: Connect) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"half of it"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await app.artifacts.aput("a", half(), owner="ann")
    assert connect().execute("select count(*) from penstock.artifacts").fetchone() == (0,)
    assert files_in(app) == {}


async def test_a_cancelled_upload_leaves_nothing(app: Penstock, connect: Connect) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"half of it"
        begun.set()
        await asyncio.Event().wait()

    upload = asyncio.create_task(app.artifacts.aput("a", endless(), owner="ann"))
    await begun.wait()
    assert connect().execute("select state from penstock.artifacts").fetchall() == [("writing",)]
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert connect().execute("select count(*) from penstock.artifacts").fetchone() == (0,)
    assert files_in(app) == {}


async def test_of_two_uploads_to_one_path_the_later_is_kept(app: Penstock) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"first"
        begun.set()
        await go_on.wait()

    first = asyncio.create_task(app.artifacts.aput("a", slow(), owner="ann", path="here"))
    await begun.wait()
    second = await app.artifacts.aput("a", b"second", owner="ann", path="here")
    go_on.set()
    with pytest.raises(ArtifactExists, match="by another meanwhile"):
        await first
    assert files_in(app) == {"ann/here": b"second"}
    assert await app.artifacts.aread(second.id) == b"second"


async def test_a_sweep_leaves_an_upload_alone_for_a_day(app: Penstock, connect: Connect) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"slow"
        begun.set()
        await go_on.wait()

    uploading = asyncio.create_task(app.artifacts.aput("a", slow(), owner="ann"))
    await begun.wait()
    grow_older = "update penstock.artifacts set created_at = created_at - %s::interval"
    connect().execute(grow_older, ["23 hours"])
    assert app.artifacts.due() == 0
    assert app.artifacts.sweep().artifacts == 0
    connect().execute(grow_older, ["2 hours"])
    assert app.artifacts.due() == 1
    assert app.artifacts.sweep().artifacts == 1
    go_on.set()
    with pytest.raises(ArtifactExists):
        await uploading
    assert files_in(app) == {}


KILLED = """
import os, signal, sys
from penstock import Penstock

def half():
    yield b"half of it"
    os.kill(os.getpid(), signal.SIGKILL)

with Penstock(sys.argv[1], artifacts=sys.argv[2]) as app:
    app.artifacts.put("a", half(), owner="ann")
"""


def test_what_a_killed_upload_left_goes_with_the_sweep(url: str, tmp_path: Path, connect: Connect) -> None:
    files = str(tmp_path / "files")
    ended = subprocess.run([sys.executable, "-c", KILLED, url, files], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert connect().execute("select state from penstock.artifacts").fetchall() == [("writing",)]
    connect().execute("update penstock.artifacts set created_at = created_at - interval '25 hours'")
    with Penstock(url, artifacts=files) as app:
        assert app.artifacts.sweep().artifacts == 1
    assert connect().execute("select count(*) from penstock.artifacts").fetchone() == (0,)


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ("owner", {"owner": ""}),
        ("org", {"org": ""}),
        ("path", {"path": "../bob/a"}),
        ("expires_in", {"expires_in": -1}),
        ("metadata", {"metadata": "x"}),
        ("content_type", {"content_type": "x"}),
    ],
)
async def test_what_cannot_be_is_refused_by_name(
    app: Penstock, connect: Connect, field: str, choices: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await app.artifacts.aput("a", b"", **choices)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert connect().execute("select count(*) from penstock.artifacts").fetchone() == (0,)


async def test_an_upload_may_be_kept_for_ever_or_for_as_long_as_all_are(url: str, tmp_path: Path) -> None:
    async with Penstock(url, artifacts=tmp_path / "files", artifacts_kept=60) as app:
        assert (await app.artifacts.aput("a", b"", expires_in=math.inf)).expires_at is None
        assert (await app.artifacts.aput("b", b"")).expires_at is not None

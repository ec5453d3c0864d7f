"""Everything that a job or a batch has made, as one ZIP: complete or not, named safely, and in flat memory."""

import io
import os
import re
import sys
import zipfile
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from uuid import uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Penstock
from penstock.engine import commands
from penstock.server.files.zip import entry_names
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.server.api import Api
from tests.server.making import make_handler, run_all, start_batch, stored


@pytest.fixture
async def app(url: str, tmp_path: Path) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=tmp_path / "files") as app:
        yield app


def unzipped(answer: httpx.Response) -> dict[str, bytes]:
    assert answer.headers["content-type"] == "application/zip", answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


async def test_a_finished_batch_is_downloaded_whole(api: Api, app: Penstock) -> None:
    batch = await start_batch(app, [{"a.pdf": "A"}, {"b.pdf": "B", "audio/c.mp3": "C"}, {"a.pdf": "another A"}])
    await run_all(app)
    answer = await api.user("alice").get(f"/api/jobs/{batch}/download")
    assert answer.status_code == 200
    assert unzipped(answer) == {
        "a.pdf": b"A", "b.pdf": b"B", "audio/c.mp3": b"C", "a (2).pdf": b"another A",
    }  # fmt: skip
    assert answer.headers["content-disposition"] == f'attachment; filename="{batch}.zip"'
    # known beforehand, because nothing had to be compressed
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert {each.downloads for each in app.artifacts.list(batch)} == {1}


async def test_a_single_job_is_downloaded_too(api: Api, app: Penstock) -> None:
    artifact = await stored(app, "a.pdf", b"A")
    assert unzipped(await api.user("alice").get(f"/api/jobs/{artifact.job}/download")) == {"a.pdf": b"A"}


async def test_text_is_compressed_and_what_is_compressed_is_not(api: Api, app: Penstock) -> None:
    batch = await start_batch(app, [{"a.txt": "a" * 10_000, "b.mp3": "b" * 10_000}])
    await run_all(app)
    answer = await api.user("alice").get(f"/api/jobs/{batch}/download")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        sizes = {each.filename: each.compress_size for each in archive.infolist()}
    assert sizes["b.mp3"] == 10_000
    assert sizes["a.txt"] < 500
    assert "content-length" not in answer.headers


async def test_a_batch_that_is_partly_done_says_so(api: Api, app: Penstock) -> None:
    batch = await start_batch(app, [{"a.pdf": "A"}, None, {"b.pdf": "B"}])
    assert (await api.user("alice").get(f"/api/jobs/{batch}/download")).status_code == 404
    await app.atick(limit=1)
    answer = await api.user("alice").get(f"/api/jobs/{batch}/download")
    assert (answer.status_code, answer.json()["done"], answer.json()["total"]) == (206, 1, 3)

    await run_all(app)
    answer = await api.user("alice").get(f"/api/jobs/{batch}/download")
    assert answer.status_code == 206
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    done = {str(each.job) for each in app.artifacts.list(batch)}
    assert set(told.pop("jobs")) == done
    assert told == {"message": "not everything has succeeded yet", "done": 2, "total": 3}

    answer = await api.user("alice").get(f"/api/jobs/{batch}/download?partial=true")
    assert answer.status_code == 206
    assert unzipped(answer) == {"a.pdf": b"A", "b.pdf": b"B"}


async def test_there_is_nothing_where_nothing_was_made(api: Api, app: Penstock) -> None:
    empty = await start_batch(app, [{}])
    failed = await start_batch(app, [None])
    await run_all(app)
    for id in (empty, failed, uuid4()):
        for query in ("", "?partial=true"):
            answer = await api.user("alice").get(f"/api/jobs/{id}/download{query}")
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/problem+json"


async def test_what_has_expired_is_not_in_it(api: Api, app: Penstock, connect: Connect) -> None:
    batch = await start_batch(app, [{"a.pdf": "A", "b.pdf": "B"}])
    await run_all(app)
    expire = "update penstock.artifacts set expires_at = now() - interval '1 s' where name like %s"
    connect().execute(expire, ["a%"])
    assert list(unzipped(await api.user("alice").get(f"/api/jobs/{batch}/download"))) == ["b.pdf"]
    connect().execute(expire, ["%"])
    assert (await api.user("alice").get(f"/api/jobs/{batch}/download")).status_code == 410


async def test_another_user_learns_nothing(api: Api, app: Penstock) -> None:
    batch = await start_batch(app, [{"a.pdf": "A"}])
    await run_all(app)
    refused = await api.user("bob").get(f"/api/jobs/{batch}/download")
    unknown = await api.user("bob").get(f"/api/jobs/{uuid4()}/download")
    assert (refused.status_code, refused.json()) == (unknown.status_code, unknown.json())
    assert refused.status_code == 404
    assert (await api.nobody.get(f"/api/jobs/{batch}/download")).status_code == 401


async def test_another_users_part_of_a_flow_is_not_in_ones_zip(api: Api, app: Penstock, connect: Connect) -> None:
    batch = await start_batch(app, [{"mine.pdf": "A"}, {"theirs.pdf": "B"}])
    await run_all(app)
    connect().execute("update penstock.artifacts set owner = 'bob' where name = 'theirs.pdf'")
    connect().execute("update penstock.history set owner = 'bob' where args::text ~ 'theirs'")
    assert list(unzipped(await api.user("alice").get(f"/api/jobs/{batch}/download"))) == ["mine.pdf"]
    assert len(unzipped(await api.service.get(f"/api/jobs/{batch}/download"))) == 2


# Names.

HOSTILE = [
    "../../etc/passwd", "/etc/passwd", "..\\..\\windows\\system32\\evil.dll", "C:\\evil.exe", "C:evil.exe", "a/../../b",
    "\\\\host\\share\\x", "a\x00b.txt", "a\nb", "...", ".", "", "   ", "a/./b", "name.", "name ", "file:stream",
    "con\x85", "CASE.txt", "case.txt", "a" * 5000,
]  # fmt: skip


def check_names(given: list[str]) -> None:
    names = entry_names(given)
    assert len({name.casefold() for name in names}) == len(given)
    for name in names:
        parts = name.split("/")
        assert not PurePosixPath(name).is_absolute()
        assert not PureWindowsPath(name).drive
        assert not PureWindowsPath(name).root
        assert all(part and part not in (".", "..") and part == part.rstrip(". ") for part in parts)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\\:]", name)


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=12), max_size=12))
def test_names_in_the_archive_are_safe_and_each_its_own(names: list[str]) -> None:
    check_names(names)


async def test_hostile_names_in_the_rows_stay_inside_the_folder(
    api: Api, app: Penstock, connect: Connect, tmp_path: Path
) -> None:
    batch = await start_batch(app, [{f"{number}.txt": str(number) for number in range(len(HOSTILE))}])
    await run_all(app)
    connection = connect()
    for number, name in enumerate(HOSTILE):
        connection.execute(
            "update penstock.artifacts set name = %s where name = %s", [name.replace("\x00", "\x01"), f"{number}.txt"]
        )
    answer = await api.user("alice").get(f"/api/jobs/{batch}/download")
    assert len(unzipped(answer)) == len(HOSTILE)
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        for entry in archive.infolist():
            target = (inside / entry.filename).resolve()
            assert target.is_relative_to(inside)
        archive.extractall(inside)
    assert [path for path in (tmp_path / "deep").iterdir() if path.is_file()] == []


# Memory.


async def test_150_megabytes_are_sent_in_flat_memory(app: Penstock, url: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    with source.open("wb") as file:
        for number in range(50):
            file.write(bytes([number]) * 1024 * 1024)
    make_handler(app)
    job = await app.handler("export").using(owner="alice").aenqueue(files={})
    lease = await app.engine.arun(commands.OpenLease("test"))
    [claimed] = await app.engine.arun(commands.Claim(lease, "default", 1))
    for number in range(3):
        await app.artifacts.keeper.aput(claimed, lease, f"{number}.mp3", source)
    await app.engine.arun(saying.complete(lease, [claimed]))

    settings = {"DATABASE_URL": url, "PENSTOCK_ARTIFACTS": str(tmp_path / "files"), "PENSTOCK_SERVICE_KEY": KEY}
    program = [sys.executable, "-m", "tests.server.one_server"]
    server = await create_subprocess_exec(*program, env=os.environ | settings, stdout=PIPE)
    try:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{(await server.stdout.readline()).decode().strip()}"
        headers = {"Authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client:
            assert (await client.get(f"/api/jobs/{job.id}")).status_code == 200
            before = most = resident(server.pid)
            received = 0
            async with client.stream("GET", f"/api/jobs/{job.id}/download") as answer:
                assert answer.status_code == 200
                length = int(answer.headers["content-length"])
                async for chunk in answer.aiter_raw():
                    received += len(chunk)
                    most = max(most, resident(server.pid))
    finally:
        server.kill()
        await server.wait()
    assert received == length > 150 * 1024 * 1024
    assert most - before < 60_000_000, f"grew by {most - before:,} bytes"


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

"""What every store promises, on a folder and on a real S3 server, with and without an event loop."""

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import httpx
import obstore
import pytest
from obstore.exceptions import GenericError

from penstock.errors import ArtifactExists, InvalidInput, StoreFault
from penstock.storage import Found, Store, folder, store_at
from penstock.storage.s3 import PART
from tests.kit.until import soon, until
from tests.storage.seaweed import SECRET, Seaweed

MEGABYTE = b"m" * 1024 * 1024


class Tried:
    """A store, with or without an event loop."""

    def __init__(self, store: Store, *, on_a_loop: bool = True) -> None:
        self._store = store
        self._on_a_loop = on_a_loop

    async def put(self, path: str, data: bytes | Iterator[bytes], **options: bool) -> tuple[int, str]:
        about: Any = {"content_type": "text/plain", "filename": path, **options}
        if self._on_a_loop:
            written = await self._store.aput(path, data if isinstance(data, bytes) else on_a_loop(data), **about)
        else:
            written = self._store.put(path, data, **about)
        return written.size, written.digest

    async def open(self, path: str, start: int = 0, end: int | None = None) -> tuple[int, bytes]:
        if self._on_a_loop:
            opened = await self._store.aopen(path, start, end)
            return opened.size, b"".join([chunk async for chunk in opened.chunks])
        read = self._store.open(path, start, end)
        return read.size, b"".join(read.chunks)

    async def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        return (await self.open(path, start, end))[1]

    async def delete(self, path: str) -> None:
        if self._on_a_loop:
            await self._store.adelete(path)
        else:
            self._store.delete(path)

    async def list(self, prefix: str = "") -> list[Found]:
        if self._on_a_loop:
            return [found async for found in self._store.alist(prefix)]
        return list(self._store.list(prefix))


async def on_a_loop(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.fixture(params=["on a loop", "blocking"])
def tried(request: pytest.FixtureRequest, store: Store) -> Tried:
    return Tried(store, on_a_loop=request.param == "on a loop")


def chunks(*pieces: bytes) -> Iterator[bytes]:
    yield from pieces


async def put(store: Store, path: str, data: bytes | AsyncIterator[bytes]) -> None:
    await store.aput(path, data, content_type="text/plain", filename=path)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_what_is_put_is_what_is_read(tried: Tried) -> None:
    assert await tried.put("ann/job/a.txt", b"hello") == (5, sha(b"hello"))
    assert await tried.put("ann/job/b/c d%20é.txt", chunks(b"one ", b"two")) == (7, sha(b"one two"))
    assert await tried.put("empty", chunks()) == (0, sha(b""))
    assert await tried.read("ann/job/a.txt") == b"hello"
    assert await tried.read("ann/job/b/c d%20é.txt") == b"one two"
    assert await tried.read("empty") == b""


async def test_a_part_can_be_read_and_the_whole_size_is_told(tried: Tried) -> None:
    await tried.put("a", b"0123456789")
    assert await tried.read("a", 3, 5) == b"34"
    assert await tried.read("a", 7) == b"789"
    assert await tried.open("a", 3, 5) == (10, b"34")


async def test_a_file_of_many_parts_is_one_file(tried: Tried) -> None:
    whole = b"".join(bytes([n]) * 1_000_003 for n in range(20))
    assert await tried.put("big", chunks(*(bytes([n]) * 1_000_003 for n in range(20)))) == (len(whole), sha(whole))
    assert sha(await tried.read("big")) == sha(whole)
    assert await tried.read("big", PART - 2, PART + 2) == whole[PART - 2 : PART + 2]


@pytest.mark.parametrize("large", [False, True])
async def test_create_only_leaves_what_is_there(tried: Tried, large: bool) -> None:
    pieces = [MEGABYTE] * 10 if large else [b"second"]
    await tried.put("a", chunks(b"first"), create=True)
    with pytest.raises(ArtifactExists):
        await tried.put("a", chunks(*pieces), create=True)
    assert await tried.read("a") == b"first"
    await tried.put("a", chunks(*pieces))
    assert await tried.read("a") == b"".join(pieces)


@pytest.mark.parametrize("large", [False, True])
async def test_a_source_that_fails_leaves_no_file_and_no_trace(tried: Tried, large: bool) -> None:
    def failing() -> Iterator[bytes]:
        for _ in range(12 if large else 1):
            yield MEGABYTE
        raise LookupError("the source is dry")

    with pytest.raises(LookupError, match="dry"):
        await tried.put("a", failing())
    with pytest.raises(FileNotFoundError):
        await tried.open("a")
    assert await tried.list() == []


async def test_delete_may_be_said_twice_and_what_is_gone_cannot_be_opened(tried: Tried) -> None:
    await tried.put("a/b/c", b"x")
    await tried.delete("a/b/c")
    await tried.delete("a/b/c")
    with pytest.raises(FileNotFoundError, match="a/b/c"):
        await tried.open("a/b/c")


async def test_list_tells_every_file_below_a_prefix(tried: Tried) -> None:
    before = datetime.now(UTC)
    for path in ("ann/1/a", "ann/2/b", "bob/1/c"):
        await tried.put(path, path.encode())
    assert {found.path for found in await tried.list()} == {"ann/1/a", "ann/2/b", "bob/1/c"}
    [found] = await tried.list("bob")
    assert (found.path, found.size) == ("bob/1/c", 7)
    assert abs((found.modified - before).total_seconds()) < 60


def test_64_megabytes_pass_in_flat_memory_both_ways(address: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.storage.flat", address], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    writing, reading = map(int, done.stdout.split())
    assert writing < 60_000_000, f"{writing:,} bytes to write"
    assert reading < 40_000_000, f"{reading:,} bytes to read"


# Links of S3.


async def fetch(url: str) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.get(url)


@pytest.fixture
def s3(seaweed: Seaweed) -> Store:
    return store_at(seaweed.address(f"links-{time.time_ns()}"))


async def test_a_signed_link_gives_the_file_with_its_type_and_name(s3: Store) -> None:
    await s3.aput("ann/1/é.pdf", b"%PDF", content_type="application/pdf", filename="papers/é.pdf")
    url = await s3.asign("ann/1/é.pdf", 60)
    assert url is not None
    answer = await fetch(url)
    assert (answer.status_code, answer.content) == (200, b"%PDF")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%A9.pdf"


async def test_a_changed_link_is_refused(s3: Store) -> None:
    await put(s3, "mine", b"mine")
    await put(s3, "yours", b"yours")
    url = await s3.asign("mine", 60)
    assert url is not None
    assert (await fetch(url)).status_code == 200
    for changed in (
        url.replace("/mine?", "/yours?"),
        url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"),
        url[:-1] + ("0" if url[-1] != "0" else "1"),
        url.partition("?")[0],
    ):
        assert (await fetch(changed)).status_code == 403


async def test_an_expired_link_is_refused(s3: Store) -> None:
    await put(s3, "mine", b"mine")
    url = await s3.asign("mine", 1)
    assert url is not None
    refused = await until(lambda: fetch(url), so=lambda answer: answer.status_code != 200, every=0.1)
    assert refused.status_code == 403


async def test_no_secret_is_told_by_a_store_or_its_errors(seaweed: Seaweed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-" + SECRET)
    store = store_at(seaweed.address("x"))
    with pytest.raises(StoreFault) as refused:
        await put(store, "a", b"x")
    assert "failed to put" in str(refused.value)
    for text in (repr(store), str(refused.value), repr(refused.value.__cause__), repr(refused.value)):
        assert SECRET not in text


class Broken:
    """What obstore gives of a file whose store is lost in the middle."""

    meta: ClassVar = {"size": 2}

    def stream(self, **_: int) -> "Broken":
        return self

    def __iter__(self) -> Iterator[bytes]:
        yield b"a"
        raise GenericError("connection reset\nand pages more")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


@pytest.mark.parametrize("on_a_loop", [True, False])
async def test_a_store_that_is_lost_while_a_file_is_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_a_loop: bool
) -> None:
    async def get(*_: object, **__: object) -> Broken:
        return Broken()

    monkeypatch.setattr(obstore, "get_async" if on_a_loop else "get", get if on_a_loop else lambda *_, **__: Broken())
    with pytest.raises(StoreFault, match=r"failed to read a file: connection reset$"):
        await Tried(store_at(tmp_path), on_a_loop=on_a_loop).read("a")


# A folder.


async def test_files_in_a_folder_are_their_owners_alone(tmp_path: Path) -> None:
    store = store_at(tmp_path / "deep" / "store")
    await put(store, "ann/1/a.txt", b"x")
    for path in (tmp_path / "deep").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert await store.asign("ann/1/a.txt", 60) is None


async def test_what_a_writer_has_not_finished_is_not_listed_and_is_tidied_when_old(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    reached, go = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"half of it"
        reached.set()
        await go.wait()

    writing = asyncio.create_task(put(store, "a", slow()))
    await soon(reached.wait())
    assert len(list((tmp_path / ".writing").iterdir())) == 1
    assert [found async for found in store.alist()] == []
    assert await store.atidy(3600) == 0
    # as if its writer had been killed an hour ago
    assert await store.atidy(-3600) == 1
    go.set()
    with pytest.raises(FileNotFoundError):
        await writing
    assert [found async for found in store.alist()] == []


async def test_a_cancelled_write_is_over_when_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that went on would write into whatever file has the number next."""
    store = store_at(tmp_path)
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    wrote: list[str] = []

    def slow(file: int, data: bytes, digest: object) -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(20)
        os.fstat(file)
        wrote.append("to an open file")

    monkeypatch.setattr(folder, "_write", slow)
    writing = asyncio.create_task(put(store, "a", b"x"))
    await soon(begun.wait())
    for _ in range(3):
        writing.cancel()
        await asyncio.sleep(0)
        assert not writing.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert wrote == ["to an open file"]
    assert list((tmp_path / ".writing").iterdir()) == []


async def test_a_folder_that_is_emptied_meanwhile_does_not_stop_a_write(tmp_path: Path) -> None:
    store = store_at(tmp_path)

    async def write_and_delete(name: str) -> None:
        for _ in range(30):
            await put(store, f"ann/1/{name}", b"x")
            await store.adelete(f"ann/1/{name}")

    await asyncio.gather(*(write_and_delete(str(n)) for n in range(4)))


async def test_a_folder_that_comes_and_goes_while_it_is_made_is_not_taken_for_a_file(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    folder = tmp_path / "ann" / "1"
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            with suppress(OSError):
                folder.mkdir(parents=True)
            with suppress(OSError):
                folder.rmdir()

    others = [asyncio.create_task(asyncio.to_thread(come_and_go)) for _ in range(2)]
    try:
        for _ in range(100):
            await put(store, "ann/1/a", b"x")
            await store.adelete("ann/1/a")
    finally:
        over.set()
        await asyncio.gather(*others)


async def test_a_file_where_a_folder_has_to_be_is_told(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    await put(store, "ann/1", b"x")
    with pytest.raises(ArtifactExists):
        await put(store, "ann/1/a", b"x")


# Addresses.


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("gs://bucket", "must be a folder or s3://bucket"),
        ("s3://", "name a bucket"),
        ("s3://bucket?colour=red", "'colour' is none of endpoint, path_style, region"),
        ("s3://bucket?path_style=maybe", "path_style must be true or false"),
        ("file://elsewhere/folder", "names no host"),
        (f"s3://someone:{SECRET}@bucket", "put no credentials into the address"),
    ],
)
def test_an_address_that_cannot_be_is_refused(address: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint) as refused:
        store_at(address)
    assert SECRET not in str(refused.value)


async def test_a_folder_may_be_named_by_a_url(tmp_path: Path) -> None:
    await put(store_at(f"{tmp_path.as_uri()}/with%20space"), "a", b"x")
    assert (tmp_path / "with space" / "a").read_bytes() == b"x"


def test_without_obstore_it_is_said_what_to_install() -> None:
    program = (
        "import sys; sys.modules['obstore'] = None\n"
        "from penstock import Penstock\n"
        "try: Penstock('postgresql:///x').artifacts.store\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert "pip install 'penstock[storage]'" in done.stdout, done.stderr

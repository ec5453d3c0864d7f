"""Workers that die, in real processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from exports.asking import WITHIN, Exports, stored_in
from tests.kit.fixtures import Connect
from tests.kit.until import until


@contextmanager
def worker_process(url: str, files: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`penstock worker` with the recipe; whoever it has started ends with it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK")}
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", "worker", "penstock_recipes.exports:app", "--queues", "exports:3",
         "--lease", "1"],
        env=environment | {"DATABASE_URL": url, "PENSTOCK_ARTIFACTS": str(files)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
        if process.returncode not in (0, -signal.SIGKILL):
            sys.stderr.write(said.decode())


@contextmanager
def held_before_it_is_recorded(connection: psycopg.Connection[object]) -> Iterator[None]:
    """Files are stored, but nothing can be written into history."""
    with connection.transaction():
        connection.execute("lock table exports.export_history in exclusive mode")
        yield


async def stored(files: Path) -> Path:
    return (await until(lambda: stored_in(files), WITHIN))[0]


async def test_a_worker_killed_between_file_and_record_leaves_nothing_behind(
    exports: Exports, url: str, files: Path, connect: Connect
) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    with worker_process(url, files) as first:
        with held_before_it_is_recorded(connect()):
            before = await stored(files)
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        assert await ada.history() == []
        with worker_process(url, files):
            made = await ada.completed(job)
    assert made["attempts"] == 2
    [line] = await ada.history()
    assert line["id"] == made["historyId"]
    assert stored_in(files) == [before] == [files / line["filePath"]]
    [artifact] = await exports.app.artifacts.alist(owner="ada")
    assert (artifact.path, artifact.size) == (line["filePath"], line["fileSize"])


async def test_a_job_cancelled_between_file_and_record_is_cleaned_up(
    exports: Exports, files: Path, connect: Connect
) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    async with exports.worker():
        with held_before_it_is_recorded(connect()):
            await stored(files)
            await ada.delete(f"/export/job/{job}")
            assert (await ada.ended(job))["status"] == "cancelled"
    assert await ada.history() == []
    # none when the worker's own sweep was there before
    assert (await exports.service.post("/export/cleanup")).json()["data"]["deletedCount"] in (0, 1)
    assert stored_in(files) == []
    assert await exports.app.artifacts.alist(owner="ada") == []


async def test_a_stuck_worker_loses_its_job(exports: Exports, url: str, files: Path, connect: Connect) -> None:
    """Frozen, and then awake again: what it does is refused, and the export is there once."""
    ada = exports.user()
    job = await ada.export(await ada.document())
    with worker_process(url, files) as frozen:
        with held_before_it_is_recorded(connect()):
            await stored(files)
            os.killpg(frozen.pid, signal.SIGSTOP)
        with worker_process(url, files):
            made = await ada.completed(job)
            os.killpg(frozen.pid, signal.SIGCONT)
            assert made["attempts"] == 2
            again = await ada.completed(await ada.export(await ada.document("Other")))
    assert [line["id"] for line in await ada.history()] == [again["historyId"], made["historyId"]]
    assert len(stored_in(files)) == 2

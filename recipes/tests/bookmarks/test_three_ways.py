"""The same messages, worked off in three ways: by cron, by the database's own call, by ordinary workers."""

import asyncio
from pathlib import Path

import httpx
import pytest

from bookmarks.asking import Bookmarks, serving
from bookmarks.sites import Site
from penstock import Penstock
from penstock_recipes.bookmarks import QUEUE, install, jobs
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY
from tests.kit.until import until

CONSUMER = "/api/v1/bookmarks/add/tasks/queue-consumer"


def archived(connect: Connect) -> int:
    [count] = connect().execute("select count(*) from bookmarks.add_bookmark_url_queue_archive").fetchone() or (0,)
    return int(count)


async def test_cron_calls_it(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    """As `curl -X POST` does, and as a cron that can only GET does."""
    ada = bookmarks.user()
    async with httpx.AsyncClient(base_url=bookmarks.address, headers={"Authorization": f"Bearer {KEY}"}) as cron:
        for method, done in (("POST", 1), ("GET", 2)):
            id = await ada.add(site.at("/report.pdf"))
            answer = await cron.request(method, CONSUMER, timeout=60)
            assert (answer.json()["archivedCount"], answer.headers["cache-control"]) == (1, "no-store")
            assert (await ada.bookmark(id))["title"] == "Annual report"
            assert archived(connect) == done


async def test_the_database_wakes_it(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    ada = bookmarks.user()
    waker = bookmarks.app.waker(
        f"{bookmarks.address}{CONSUMER}",
        ["add-bookmark-url-queue"],
        headers={"Authorization": f"Bearer {KEY}"},
        processed="processedCount",
    )
    waking = asyncio.create_task(waker.run())
    try:
        async with asyncio.timeout(30):
            await waker.asleep.wait()
        id = await ada.add(site.at("/report.pdf"))
        assert (await ada.until(id, lambda found: found["title"]))["title"] == "Annual report"
        await until(lambda: asyncio.to_thread(archived, connect))
    finally:
        waker.stop()
        await waking


async def test_workers_do_it(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    ada = bookmarks.user()
    async with bookmarks.worker():
        id = await ada.add(site.at("/report.pdf"))
        job = bookmarks.app.handle((await bookmarks.app.jobs.alist(queue="add-bookmark-url-queue")).jobs[0].id)
        assert await job.aresult(timeout=30) == {"screenshot": True, "remaining": True}
    assert (await ada.bookmark(id))["title"] == "Annual report"
    assert archived(connect) == 1
    assert (await bookmarks.service.consume())["processedCount"] == 0


async def test_a_worker_with_many_slots_works_on_few_at_a_time(
    url: str, files: Path, site: Site, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may start a browser. The others are looked at again and again, until there is a turn for them."""
    monkeypatch.setattr(jobs, "_UNTIL_A_TURN", 0.05)
    go_on = site.hang("/report.pdf")
    async with Penstock(url, artifacts=files) as app:
        install(app, allow=["127.0.0.1"], at_once=2)
        async with serving(app) as bookmarks, bookmarks.worker(slots=10):
            for _ in range(4):
                await bookmarks.user().add(site.at("/report.pdf"))

            async def all_were_looked_at() -> bool:
                rows = connect().execute("select claims from penstock.jobs order by claims").fetchall()
                again = [claims > 1 for (claims,) in rows]
                return site.hits("/report.pdf") >= 2 and again == [False, False, True, True]

            await until(all_were_looked_at)
            assert site.hits("/report.pdf") == 2
            go_on.set()
            await until(lambda: asyncio.to_thread(lambda: archived(connect) == 4))
    attempts = connect().execute("select distinct attempt from penstock.jobs_view where queue = %s", [QUEUE])
    assert attempts.fetchall() == [(1,)]


async def test_a_message_that_takes_too_long_fails(url: str, files: Path, site: Site) -> None:
    site.hang("/report.pdf")
    async with Penstock(url, artifacts=files) as app:
        install(app, allow=["127.0.0.1"], timeout=2.0)
        async with serving(app) as bookmarks:
            await bookmarks.user().add(site.at("/report.pdf"))
            [result] = (await bookmarks.service.consume())["results"]
            assert result["archived"] is False
            assert result["error"] == "Screenshot: Network timeout; Remaining: Network timeout"

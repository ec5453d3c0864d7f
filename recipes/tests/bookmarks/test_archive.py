"""Once a day the archive is emptied; what failed stays."""

import math
from pathlib import Path
from uuid import UUID

from bookmarks.asking import Bookmarks
from bookmarks.sites import Site
from penstock import Penstock
from penstock_recipes.bookmarks.archive import UPKEEP
from shared.asking import names_in
from tests.kit.fake_http import Answer
from tests.kit.fixtures import Connect


async def test_the_archive_is_emptied_and_the_queue_is_not(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    site.answers["/down"] = Answer(503, b"later")
    ada, connection = bookmarks.user(), connect()
    done, failed = await ada.add(site.at("/report.pdf")), await ada.add(site.at("/down"))
    keyed = await ada.post("/add/data", {"url": site.at("/later")}, headers={"Idempotency-Key": "k"})
    waiting = keyed.json()["data"]["id"]
    connection.execute("update penstock.jobs set run_at = now() + interval '1 hour', state = 'scheduled' "
                       "where (args->>'bookmarkId')::int = %s", [waiting])  # fmt: skip
    assert (await bookmarks.service.consume())["processedCount"] == 2
    connection.execute("update bookmarks.messages set updated_at = now() - interval '2 hours'")
    connection.execute("update bookmarks.bookmarks set inserted_at = now() - interval '2 days'")

    def archived() -> list[tuple[int]]:
        return connection.execute(
            "select (message->>'bookmarkId')::int from bookmarks.add_bookmark_url_queue_archive"
        ).fetchall()

    def numbered() -> list[tuple[int]]:
        return connection.execute("select bookmark_id from bookmarks.messages order by 1").fetchall()

    assert (archived(), numbered()) == ([(done,)], [(done,), (failed,), (waiting,)])
    await _run_upkeep(bookmarks.app)
    assert (archived(), numbered()) == ([], [(failed,), (waiting,)])
    queue = "select (message->>'bookmarkId')::int from bookmarks.add_bookmark_url_queue order by 1"
    assert connection.execute(queue.encode()).fetchall() == [(failed,), (waiting,)]
    assert (await ada.bookmark(done))["screenshot"], "the bookmark itself stays"
    again = await ada.post("/add/data", {"url": site.at("/later")}, headers={"Idempotency-Key": "k"})
    assert again.json()["data"]["id"] != waiting, "a key is forgotten after a day"


async def test_files_that_could_not_be_removed_with_their_bookmark_go_later(
    bookmarks: Bookmarks, site: Site, files: Path, connect: Connect
) -> None:
    """Deleted in SQL, where nobody can remove a file."""
    id = await bookmarks.user().add(site.at("/report.pdf"))
    await bookmarks.service.consume()
    connect().execute("delete from bookmarks.bookmarks where id = %s", [id])
    assert names_in(files) == [f"ada/bookmarks/{id}/screenshot.png"]
    await _run_upkeep(bookmarks.app)
    assert names_in(files) == []
    assert connect().execute("select * from bookmarks.leftovers").fetchall() == []


async def test_a_file_that_came_too_late_for_its_bookmark_goes_too(
    bookmarks: Bookmarks, site: Site, files: Path, connect: Connect
) -> None:
    """Whoever stored it was stopped before they could see that the bookmark was gone."""
    ada, connection = bookmarks.user(), connect()
    id = await ada.add(site.at("/report.pdf"))
    job = UUID((await ada.bookmark(id))["job_id"])
    await ada.delete(f"/{id}")
    await bookmarks.app.artifacts.aput("screenshot.png", b"late", owner="ada", job=job, expires_in=math.inf)
    connection.execute("update bookmarks.messages set updated_at = now() - interval '2 hours'")
    await _run_upkeep(bookmarks.app)
    assert names_in(files) == []
    assert connection.execute("select * from bookmarks.messages").fetchall() == []


async def test_without_workers_the_consumer_sees_to_it(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    """It is due once a day, whoever comes by."""
    await bookmarks.user().add(site.at("/report.pdf"))
    await bookmarks.service.consume()
    await bookmarks.app.handler("purge_bookmark_archive").aenqueue()
    assert (await bookmarks.service.consume())["processedCount"] == 0, "it is no message"
    assert connect().execute("select * from bookmarks.add_bookmark_url_queue_archive").fetchall() == []
    [schedule] = bookmarks.app.schedules.code
    assert (schedule.cron, schedule.kind) == ("0 3 * * *", "purge_bookmark_archive")


async def _run_upkeep(app: Penstock) -> None:
    """As a worker does, when its time has come."""
    await app.handler("purge_bookmark_archive").aenqueue()
    [result] = await app.atick(1, 30, {UPKEEP: 1})
    assert result.state == "succeeded", result.error

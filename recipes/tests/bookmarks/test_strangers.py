"""Everybody has their own bookmarks and nobody else's; the queue is nobody's but the service's."""

import psycopg
import pytest

from bookmarks.asking import Bookmarks
from bookmarks.sites import Site
from tests.kit.fixtures import Connect


async def test_what_is_somebody_elses_is_not_there(bookmarks: Bookmarks, site: Site) -> None:
    ada, eve = bookmarks.user("ada"), bookmarks.user("eve")
    id = await ada.add(site.at("/report.pdf"))
    await bookmarks.service.consume()
    for method in ("GET", "DELETE"):
        assert (await eve(method, f"/{id}")).status_code == 404
    assert (await eve.get("")).json()["data"]["bookmarks"] == []
    for artifact in await bookmarks.app.artifacts.alist(owner="ada"):
        assert (await eve.get(f"/api/artifacts/{artifact.id}")).status_code == 404
        assert (await ada.get(f"/api/artifacts/{artifact.id}")).status_code == 200
    assert (await ada.bookmark(id))["screenshot"]


async def test_the_queue_is_for_the_service(bookmarks: Bookmarks, site: Site) -> None:
    ada = bookmarks.user("ada")
    id = await ada.add(site.at("/plain"))
    task = {"id": id, "url": site.at("/plain"), "userId": "ada"}
    for person, status in ((ada, 403), (bookmarks.nobody, 401)):
        for method in ("GET", "POST"):
            assert (await person(method, "/add/tasks/queue-consumer")).status_code == status
        for name in ("screenshot", "remaining"):
            assert (await person.post(f"/add/tasks/{name}", task)).status_code == status
    for method, path in (("GET", ""), ("GET", f"/{id}"), ("DELETE", f"/{id}"), ("POST", "/add/data")):
        assert (await bookmarks.nobody(method, path, json={"url": site.at("/plain")})).status_code == 401
    started = await ada.post("/api/jobs", {"kind": "add_bookmark_url", "args": task})
    assert started.status_code == 403, "nor may anybody put a message into it"
    assert not site.server.requests


async def test_only_the_service_adds_bookmarks_for_others(bookmarks: Bookmarks, connect: Connect) -> None:
    body = {"url": "https://example.com", "user_id": "ada"}
    assert (await bookmarks.user("eve").post("/add/data", body)).status_code == 403
    assert (await bookmarks.service.post("/add/data", body)).status_code == 200
    assert (await bookmarks.service.post("/add/data", body | {"user_id": None})).status_code == 400
    [bookmark] = (await bookmarks.user("ada").get("")).json()["data"]["bookmarks"]
    assert bookmark["user_id"] == "ada"
    [(message,)] = connect().execute("select message from bookmarks.add_bookmark_url_queue").fetchall()
    assert (message["userId"], message["bookmarkId"]) == ("ada", bookmark["id"])


async def test_the_database_itself_keeps_users_apart(bookmarks: Bookmarks, connect: Connect) -> None:
    id = await bookmarks.user("ada").add("https://example.com")
    connection = connect()
    for subject, seen in (("eve", 0), ("ada", 1)):
        with connection.transaction():
            connection.execute("set local role authenticated")
            connection.execute("select set_config('request.jwt.claims', %s, true)", [f'{{"sub": "{subject}"}}'])
            [count] = connection.execute("select count(id) from bookmarks.bookmarks").fetchone() or (None,)
            assert count == seen
            for forbidden in (
                "select page from bookmarks.bookmarks",
                "select * from bookmarks.messages",
                "select * from bookmarks.leftovers",
                "select * from bookmarks.add_bookmark_url_queue",
                "select * from bookmarks.add_bookmark_url_queue_archive",
                "insert into bookmarks.bookmarks (user_id, url) values ('ada', 'https://example.com')",
                "update bookmarks.bookmarks set title = 'x'",
                """select bookmarks.send('{"userId": "ada"}')""",
                "select bookmarks.add_for('ada', 'https://example.com')",
                "select bookmarks.forget()",
                "select penstock.enqueue('add_bookmark_url', '{}', 'add-bookmark-url-queue')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(forbidden.encode())
            added = connection.execute(
                "select (bookmark).user_id from bookmarks.add('https://example.com/b')"
            ).fetchone()
            assert added == (subject,), "in SQL too, on their own name"
            with pytest.raises(psycopg.errors.CheckViolation), connection.transaction():
                connection.execute("select bookmarks.add('file:///etc/passwd')")
            deleted = connection.execute("delete from bookmarks.bookmarks where id = %s", [id])
            assert deleted.rowcount == seen
    rows = connection.execute("select message->>'userId' from bookmarks.add_bookmark_url_queue order by 1").fetchall()
    assert rows == [("ada",), ("eve",)], "what was deleted is not read"
    for claims in ("", '{"sub": 7}'):
        with connection.transaction():
            connection.execute("select set_config('request.jwt.claims', %s, true)", [claims])
            connection.execute("set local role authenticated")
            with pytest.raises(psycopg.Error, match="nobody is signed in"), connection.transaction():
                connection.execute("select bookmarks.add('https://example.com')")
    with connection.transaction():
        connection.execute("set local role anon")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("select count(*) from bookmarks.bookmarks")

"""Adding a bookmark: answered at once, with its message in the queue; looking at bookmarks, and deleting them."""

import logging
from pathlib import Path
from typing import Any

import pytest

from bookmarks.asking import Bookmarks
from bookmarks.sites import Site
from shared.asking import names_in
from tests.kit.fixtures import Connect

ELSEWHERE = "https://example.com/a"
BOOKMARK = {
    "id", "user_id", "url", "title", "description", "category_id", "screenshot", "og_image", "fav_icon", "meta_data",
    "job_id", "inserted_at", "updated_at",
}  # fmt: skip


def queued(connect: Connect) -> list[dict[str, Any]]:
    """The messages, as the seed's monitoring reads them."""
    rows = connect().execute("select message from bookmarks.add_bookmark_url_queue order by msg_id").fetchall()
    return [message for (message,) in rows]


async def test_it_answers_at_once_with_what_is_stored(bookmarks: Bookmarks, site: Site, connect: Connect) -> None:
    ada = bookmarks.user("ada")
    body = {"url": site.at("/"), "category_id": 123, "update_access": True, "fav_icon": site.at("/icon.png")}
    answer = await ada.post("/add/data", body)
    assert answer.status_code == 200
    stored = answer.json()["data"]
    assert set(stored) == BOOKMARK
    assert (stored["user_id"], stored["url"], stored["category_id"]) == ("ada", site.at("/"), 123)
    assert stored["title"] is stored["screenshot"] is None
    assert stored["meta_data"] == {}
    assert await ada.bookmark(stored["id"]) == stored
    assert not site.server.requests, "nobody waits for the site"
    assert (await ada.get(f"/api/jobs/{stored['job_id']}")).json()["state"] == "ready"
    [message] = queued(connect)
    assert message == {
        "bookmarkId": stored["id"],
        "url": site.at("/"),
        "userId": "ada",
        "favIcon": site.at("/icon.png"),
        "isImage": False,
    }


async def test_an_image_is_known_by_its_ending(bookmarks: Bookmarks, connect: Connect) -> None:
    addresses = {
        "https://example.com/cat.PNG": True,
        "https://example.com/a/cat.jpeg?size=2#top": True,
        "https://example.com/cat.png/about": False,
        "https://example.com/?file=cat.png": False,
        "https://cat.png": False,
        "https://example.com/page": False,
    }
    for address in addresses:
        await bookmarks.user().add(address)
    found = queued(connect)
    assert {message["url"]: message["isImage"] for message in found} == addresses
    assert {message["favIcon"] for message in found} == {None}


@pytest.mark.parametrize("table", ["bookmarks.bookmarks", "bookmarks.messages", "penstock.jobs"])
async def test_a_bookmark_and_its_message_are_stored_together_or_not_at_all(
    bookmarks: Bookmarks, connect: Connect, caplog: pytest.LogCaptureFixture, table: str
) -> None:
    connection = connect()
    connection.execute(
        "create function public.refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'the disk is full'; end $$"
    )
    connection.execute(f"create trigger full_disk after insert on {table} execute function public.refuse()".encode())
    with caplog.at_level(logging.CRITICAL, "penstock.server"):
        answer = await bookmarks.nobody("POST", "/api/v1/bookmarks/add/data", json={"url": ELSEWHERE})
        assert answer.status_code == 401
        with pytest.raises(AssertionError, match="500 is not described"):
            await bookmarks.user().add(ELSEWHERE)
    connection.execute(f"drop trigger full_disk on {table}".encode())
    assert queued(connect) == []
    assert (await bookmarks.user().get("")).json()["data"]["bookmarks"] == []
    await bookmarks.user().add(ELSEWHERE)
    assert len(queued(connect)) == 1


UNFIT: list[tuple[dict[str, Any], str]] = [
    ({}, "url"),
    ({"url": ""}, "url"),
    ({"url": 7}, "url"),
    ({"url": "example.com"}, "url"),
    ({"url": "ftp://example.com/"}, "url"),
    ({"url": "file:///etc/passwd"}, "url"),
    ({"url": "javascript:alert(1)"}, "url"),
    ({"url": "https://"}, "url"),
    ({"url": "https://exa mple.com"}, "url"),
    ({"url": "https://example.com/\x00"}, "url"),
    ({"url": "https://example.com/" + "a" * 2029}, "url"),
    ({"url": "https://ada:secret@example.com/"}, "url"),
    ({"url": "http://10.0.0.1/"}, "url"),
    ({"url": "http://169.254.169.254/latest/meta-data"}, "url"),
    ({"url": "http://[::1]/"}, "url"),
    ({"url": "http://[::ffff:10.0.0.1]/"}, "url"),
    ({"url": "http://2130706433/"}, "url"),
    ({"url": "http://0177.0.0.1/"}, "url"),
    ({"url": "http://xn--a/"}, "url"),
    ({"url": ELSEWHERE, "fav_icon": "http://192.168.0.1/i.ico"}, "fav_icon"),
    ({"url": ELSEWHERE, "category_id": "first"}, "category_id"),
    ({"url": ELSEWHERE, "category_id": 2**63}, "category_id"),
    ({"url": ELSEWHERE, "update_access": "perhaps"}, "update_access"),
    ({"url": ELSEWHERE, "user_id": ""}, "user_id"),
    ({"url": ELSEWHERE, "isImage": True}, "isImage"),
]


async def test_what_does_not_fit_is_refused_by_name_and_stores_nothing(bookmarks: Bookmarks) -> None:
    ada = bookmarks.user()
    for body, field in UNFIT:
        answer = await ada.post("/add/data", body)
        assert answer.status_code == 400, (body, answer.text)
        assert [each["field"] for each in answer.json()["errors"]] == [field], body
    assert (await ada.get("")).json()["data"]["bookmarks"] == []


async def test_the_same_key_stands_for_the_same_bookmark(bookmarks: Bookmarks, connect: Connect) -> None:
    ada, key = bookmarks.user("ada"), {"Idempotency-Key": "once"}
    first = await ada.post("/add/data", {"url": ELSEWHERE}, headers=key)
    again = await ada.post("/add/data", {"url": ELSEWHERE}, headers=key)
    assert first.json() == again.json()
    assert len(queued(connect)) == 1
    for other in ({"url": "https://example.com/b"}, {"category_id": 3}, {"fav_icon": f"{ELSEWHERE}.png"}):
        another = await ada.post("/add/data", {"url": ELSEWHERE} | other, headers=key)
        assert another.status_code == 400, other
        assert another.json()["errors"][0]["field"] == "Idempotency-Key"
    behalf = await bookmarks.service.post("/add/data", {"url": ELSEWHERE, "user_id": "ada"}, headers=key)
    assert behalf.json()["data"]["id"] != first.json()["data"]["id"], "the back end's keys are no user's to take"
    eves = await bookmarks.user("eve").post("/add/data", {"url": ELSEWHERE}, headers=key)
    assert eves.json()["data"]["id"] != first.json()["data"]["id"]
    assert await ada.add(ELSEWHERE) != first.json()["data"]["id"], "without a key, it is another one"


async def test_without_access_to_the_category_it_is_in_none(bookmarks: Bookmarks) -> None:
    ada = bookmarks.user()
    id = await ada.add(ELSEWHERE, category_id=5, update_access=False)
    assert (await ada.bookmark(id))["category_id"] is None


async def test_pages_of_bookmarks_are_newest_first(bookmarks: Bookmarks) -> None:
    ada = bookmarks.user()
    ids = [await ada.add(f"https://example.com/{number}") for number in range(5)]
    found, cursor = [], None
    while True:
        params: dict[str, Any] = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await ada.get("", params=params)).json()["data"]
        found += [bookmark["id"] for bookmark in page["bookmarks"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert found == ids[::-1]
    assert (await ada.get("", params={"limit": 0})).status_code == 400
    assert (await ada.get("/0")).status_code == 400


async def test_a_deleted_bookmark_takes_its_message_and_its_files_along(
    bookmarks: Bookmarks, site: Site, files: Path, connect: Connect
) -> None:
    ada = bookmarks.user()
    done = await ada.add(site.at("/report.pdf"))
    assert (await bookmarks.service.consume())["archivedCount"] == 1
    assert names_in(files) == [f"ada/bookmarks/{done}/screenshot.png"]
    waiting = await ada.add(site.at("/plain"))
    for id in (done, waiting):
        assert (await ada.delete(f"/{id}")).status_code == 204
        assert (await ada.get(f"/{id}")).status_code == 404
        assert (await ada.delete(f"/{id}")).status_code == 404
    assert queued(connect) == []
    assert names_in(files) == []
    assert await bookmarks.app.artifacts.alist(owner="ada") == []
    assert (await bookmarks.service.consume())["processedCount"] == 0

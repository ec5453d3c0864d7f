"""Each of the two tasks by itself, for the service, which says whose bookmark it means."""

from pathlib import Path
from typing import Any

from bookmarks.asking import Bookmarks
from bookmarks.sites import Site
from shared.asking import names_in
from shared.hostile import MANY, assert_broken_json_names_the_body, assert_refused_in_short
from tests.kit.fake_http import Answer


def without_links(bookmark: dict[str, Any]) -> dict[str, Any]:
    """Each link is signed for an hour from the second it was asked for."""
    return {name: value for name, value in bookmark.items() if name not in ("screenshot", "og_image", "fav_icon")}


async def test_each_task_does_its_part_at_once(bookmarks: Bookmarks, site: Site, files: Path) -> None:
    ada, service = bookmarks.user("ada"), bookmarks.service
    id = await ada.add(site.at("/report.pdf"))
    task: dict[str, Any] = {"id": id, "url": site.at("/report.pdf"), "userId": "ada"}
    shot = await service.post("/add/tasks/screenshot", task)
    assert shot.status_code == 200
    assert (shot.json()["data"]["title"], shot.json()["data"]["fav_icon"]) == ("Annual report", None)
    assert (await ada.file(shot.json()["data"]["screenshot"])).content.startswith(b"\x89PNG")
    rest = await service.post("/add/tasks/remaining", task | {"favIcon": site.at("/icon.png")})
    assert rest.status_code == 200
    assert without_links(rest.json()["data"]) == without_links(await ada.bookmark(id))
    assert (await ada.file(rest.json()["data"]["fav_icon"])).content.startswith(b"\x89PNG")
    assert names_in(files) == [f"ada/bookmarks/{id}/favicon.png", f"ada/bookmarks/{id}/screenshot.png"]
    again = await service.post("/add/tasks/screenshot", task)
    assert again.status_code == 200, "as often as anybody likes"
    assert len(await bookmarks.app.artifacts.alist(owner="ada")) == 2
    assert (await service.consume())["archivedCount"] == 1, "and whatever the queue is at"


async def test_a_task_says_what_is_wrong(bookmarks: Bookmarks, site: Site) -> None:
    site.answers |= {
        "/down": Answer(503, b"later"),
        "/inside": Answer(302, b"", {"Location": "http://10.0.0.1/"}),
        "/gone": Answer(404, b""),
    }
    ada = bookmarks.user("ada")
    for name in ("screenshot", "remaining"):
        for path, status, detail in (
            ("/down", 502, "HTTP 503"),
            ("/gone", 502, "HTTP 404"),
            ("/inside", 400, "url: 10.0.0.1 leads to a private address; if that is meant, allow its network"),
        ):
            task: dict[str, Any] = {"id": await ada.add(site.at(path)), "url": site.at(path), "userId": "ada"}
            answer = await bookmarks.service.post(f"/add/tasks/{name}", task)
            assert (answer.status_code, answer.json()["detail"]) == (status, detail), (name, path)


async def test_a_task_needs_the_right_bookmark(bookmarks: Bookmarks, site: Site) -> None:
    url = site.at("/report.pdf")
    id = await bookmarks.user("ada").add(url)
    right: dict[str, Any] = {"id": id, "url": url, "userId": "ada"}
    for name in ("screenshot", "remaining"):
        for wrong in ({"userId": "eve"}, {"id": id + 1}, {"url": site.at("/plain")}):
            assert (await bookmarks.service.post(f"/add/tasks/{name}", right | wrong)).status_code == 404
        for field, value in (("userId", ""), ("id", "one"), ("id", None), ("url", "file:///etc/passwd"), ("more", 1)):
            answer = await bookmarks.service.post(f"/add/tasks/{name}", right | {field: value})
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
    assert not site.server.requests


async def test_of_many_faults_a_few_are_told_at_once(bookmarks: Bookmarks) -> None:
    await assert_refused_in_short(bookmarks.user().post, "/add/data", MANY)
    for name in ("screenshot", "remaining", "archive"):
        await assert_refused_in_short(bookmarks.service.post, f"/add/tasks/{name}", MANY)
    await assert_broken_json_names_the_body(bookmarks.user().post, "/add/data")

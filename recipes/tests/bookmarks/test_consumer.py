"""Reading the queue over HTTP: in the seed's words, field by field."""

import asyncio
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bookmarks.asking import Bookmarks, serving
from bookmarks.sites import SIZE, TEXT, Site, answered, html, is_browser
from penstock import JobState, Penstock, TickResult
from penstock.outbound import Guard
from penstock_recipes.bookmarks import QUEUE, consumer, install
from penstock_recipes.bookmarks.archive import UPKEEP, purge
from penstock_recipes.bookmarks.consumer import consume
from penstock_recipes.bookmarks.providers.browser import Browser
from tests.kit.fake_http import Answer, Request
from tests.kit.fixtures import Connect

TOP = ["success", "message", "processedCount", "archivedCount", "failedCount", "results"]
RESULT = ["messageId", "bookmarkId", "success", "archived", "screenshotSuccess", "remainingDataSuccess"]


def numbers(connect: Connect) -> dict[int, int]:
    """The numbers of messages by their bookmarks, as the queue has them."""
    rows = connect().execute("select (message->>'bookmarkId')::int, msg_id from bookmarks.add_bookmark_url_queue")
    return dict(rows.fetchall())


async def test_the_answer_is_the_one_in_the_seed(url: str, files: Path, site: Site, connect: Connect) -> None:
    """Two of ten fail, one of them because its site never answers a browser."""

    async def never(request: Request) -> Answer:
        if is_browser(request):
            await asyncio.Event().wait()
        return await answered(html("Slow"), request)

    site.answers |= {"/slow": never, "/broken.pdf": Answer(200, b"%PDF-", {"Content-Type": "application/pdf"})}
    guard = Guard(["127.0.0.1"])
    async with Penstock(url, artifacts=files) as app:
        install(app, guard=guard, browser=Browser(guard, timeout=8), at_once=5)
        async with serving(app) as bookmarks:
            ada = bookmarks.user("ada")
            good = [await ada.add(site.at(path)) for path in ["/", *(["/report.pdf"] * 7)]]
            slow, broken = await ada.add(site.at("/slow")), await ada.add(site.at("/broken.pdf"))
            number = numbers(connect)
            told = await bookmarks.service.consume()
    assert list(told) == TOP
    assert told["success"] is True
    assert told["message"] == "Queue processing completed"
    assert [told[name] for name in TOP[2:5]] == [10, 8, 2]
    results = {result["bookmarkId"]: result for result in told["results"]}
    assert list(results) == [*good, slow, broken], "in their order"
    for id in good:
        assert list(results[id]) == RESULT, "and no error"
        assert results[id] == {
            "messageId": number[id],
            "bookmarkId": id,
            "success": True,
            "archived": True,
            "screenshotSuccess": True,
            "remainingDataSuccess": True,
        }
    assert list(results[slow]) == [*RESULT, "error"]
    assert results[slow] == {
        "messageId": number[slow],
        "bookmarkId": slow,
        "success": False,
        "archived": False,
        "screenshotSuccess": False,
        "remainingDataSuccess": True,
        "error": "Screenshot: Network timeout",
    }
    assert (results[broken]["archived"], results[broken]["remainingDataSuccess"]) == (False, True)
    assert results[broken]["error"].startswith("Screenshot: ")
    assert set(numbers(connect)) == {slow, broken}, "what failed stays in the queue"
    archived = connect().execute(
        "select (message->>'bookmarkId')::int, read_ct from bookmarks.add_bookmark_url_queue_archive "
        "where archived_at > enqueued_at order by msg_id"
    )
    assert archived.fetchall() == [(id, 1) for id in good]


async def test_a_page_becomes_a_whole_bookmark(bookmarks: Bookmarks, site: Site) -> None:
    ada = bookmarks.user()
    id = await ada.add(site.at("/"))
    assert (await bookmarks.service.consume("GET"))["archivedCount"] == 1
    found = await ada.bookmark(id)
    assert (found["title"], found["description"]) == ("Penstock & co", "A gated pipe.")
    told = found["meta_data"]
    assert (told["width"], told["height"]) == SIZE
    assert told["ocr"] == TEXT
    assert TEXT in told["img_caption"]
    assert len(told["blurhash"]) > 6
    assert "og_image_error" not in told
    for name, size in (("screenshot", (1280, 800)), ("og_image", SIZE), ("fav_icon", (32, 32))):
        file = await ada.file(found[name])
        assert file.headers["content-type"] == "image/png", name
        assert Image.open(io.BytesIO(file.content)).size == size, name
    [listed] = (await ada.get("")).json()["data"]["bookmarks"]
    assert listed["title"] == found["title"]


async def test_an_image_needs_no_screenshot(bookmarks: Bookmarks, site: Site) -> None:
    """One by its ending, and one that is known only when somebody looks."""
    site.answers["/picture"] = site.answers["/card.png"]
    ada = bookmarks.user()
    by_ending, by_type = await ada.add(site.at("/card.png")), await ada.add(site.at("/picture"))
    told = await bookmarks.service.consume()
    assert [result["archived"] for result in told["results"]] == [True, True]
    assert [result["screenshotSuccess"] for result in told["results"]] == [True, True]
    for id in (by_ending, by_type):
        found = await ada.bookmark(id)
        assert found["screenshot"] is None
        assert (await ada.file(found["og_image"])).content == (await ada.file(site.at("/card.png"))).content
        assert (found["meta_data"]["width"], found["meta_data"]["ocr"]) == (SIZE[0], TEXT)
    assert not any(map(is_browser, site.server.requests))


async def test_a_pdf_shows_its_first_page(bookmarks: Bookmarks, site: Site) -> None:
    ada = bookmarks.user()
    id = await ada.add(site.at("/report.pdf"))
    await bookmarks.service.consume()
    found = await ada.bookmark(id)
    told = found["meta_data"]
    assert (found["title"], told["is_pdf"], told["pages"]) == ("Annual report", True, 2)
    image = Image.open(io.BytesIO((await ada.file(found["screenshot"])).content))
    assert image.size == (told["screenshot"]["width"], told["screenshot"]["height"])
    assert image.convert("P", palette=Image.Palette.WEB).convert("RGB").getpixel((10, 10)) == (0, 0, 153), "navy"


INVALID: list[dict[str, Any]] = [
    {},
    {"bookmarkId": 0, "url": "https://example.com", "userId": "ada", "isImage": False},
    {"bookmarkId": 7, "url": "", "userId": "ada", "isImage": False},
    {"bookmarkId": 7, "url": "https://example.com", "favIcon": None, "isImage": False},
    {"bookmarkId": 7, "url": "https://example.com", "userId": "ada", "isImage": "no"},
    {"bookmarkId": "7", "url": "https://example.com", "userId": "ada", "isImage": False},
    {"ctx": 1, "self": 2, "payload": 3},
]


async def test_an_invalid_message_stays_in_the_queue_with_its_error(
    bookmarks: Bookmarks, site: Site, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connect()
    for message in INVALID:
        connection.execute("select penstock.enqueue('add_bookmark_url', %s::text::jsonb, %s)", [_json(message), QUEUE])
    good = await bookmarks.user().add(site.at("/report.pdf"))
    with caplog.at_level(logging.ERROR, "penstock_recipes.bookmarks"):
        told = await bookmarks.service.consume()
    assert [told[name] for name in TOP[2:5]] == [len(INVALID) + 1, 1, len(INVALID)]
    for result in told["results"]:
        if result.get("bookmarkId") != good:
            assert set(result) - {"bookmarkId"} == {"messageId", "success", "archived", "error"}
            assert result["error"].startswith("Invalid message: ")
            assert f"message {result['messageId']} of {QUEUE} stays in the queue: {result['error']}" in caplog.text
            [record] = [each for each in caplog.records if vars(each).get("messageId") == result["messageId"]]
            assert vars(record).items() >= {"error": result["error"], "bookmarkId": result.get("bookmarkId")}.items()
    assert [result.get("bookmarkId") for result in told["results"]].count(7) == 3
    rows = connection.execute(
        "select q.message, m.error, q.vt > now() from bookmarks.add_bookmark_url_queue as q "
        "join bookmarks.messages as m on m.id = q.msg_id"
    ).fetchall()
    assert sorted(map(_json, INVALID)) == sorted(_json(message) for message, _, _ in rows)
    assert all(error and later for _, error, later in rows)


async def test_what_is_not_a_message_at_all_is_reported_too(bookmarks: Bookmarks, connect: Connect) -> None:
    connect().execute("select penstock.enqueue('something_else', '{}', %s)", [QUEUE])
    [result] = (await bookmarks.service.consume())["results"]
    assert set(result) == {"messageId", "success", "archived", "error"}
    assert (result["archived"], "something_else" in result["error"]) == (False, True)


async def test_a_message_for_somebody_elses_bookmark_does_nothing(
    bookmarks: Bookmarks, site: Site, connect: Connect
) -> None:
    """The service has to say whose it is; that is checked, and so is the address."""
    id = await bookmarks.user("ada").add(site.at("/report.pdf"))
    await bookmarks.service.consume()
    asked = len(site.server.requests)
    for changed in ({"userId": "eve"}, {"url": site.at("/plain")}, {"bookmarkId": id + 1}):
        message = {"bookmarkId": id, "url": site.at("/report.pdf"), "userId": "ada", "isImage": False} | changed
        connect().execute("select bookmarks.send(%s::text::jsonb)", [_json(message)])
    results = (await bookmarks.service.consume())["results"]
    assert [(result["archived"], result["error"]) for result in results] == [(False, "Bookmark not found")] * 3
    assert len(site.server.requests) == asked


async def test_ten_at_most_are_read_at_a_time(bookmarks: Bookmarks, connect: Connect) -> None:
    connect().execute("select bookmarks.send('{}') from generate_series(1, 12)")
    assert [(await bookmarks.service.consume())["processedCount"] for _ in range(3)] == [10, 2, 0]


async def test_dead_links_of_one_user_keep_nobody_waiting(url: str, files: Path, site: Site) -> None:
    """As many as are read at a time. They fail within the budget of one call, and say of what."""
    site.hang("/dead")
    async with Penstock(url, artifacts=files) as app:
        install(app, allow=["127.0.0.1"], timeout=4.0, budget=20.0)
        async with serving(app) as bookmarks:
            dead = [await bookmarks.user("ada").add(site.at("/dead")) for _ in range(4)]
            alive = await bookmarks.user("bob").add(site.at("/report.pdf"))
            results = {each["bookmarkId"]: each for each in (await bookmarks.service.consume())["results"]}
    assert results[alive]["archived"]
    assert [results[id].get("error") for id in dead] == ["Screenshot: Network timeout; Remaining: Network timeout"] * 4


async def test_calls_that_overlap_cost_no_message_an_attempt(
    url: str, files: Path, site: Site, connect: Connect
) -> None:
    """The second finds no browser free: it leaves the message to whoever comes next, and says nothing of it."""
    go_on = site.hang("/slow.pdf")
    async with Penstock(url, artifacts=files) as app:
        install(app, allow=["127.0.0.1"], at_once=1)
        async with serving(app) as bookmarks:
            slow = await bookmarks.user().add(site.at("/slow.pdf"))
            first = asyncio.create_task(bookmarks.service.consume())
            await site.is_asked_for("/slow.pdf")
            quick = await bookmarks.user().add(site.at("/report.pdf"))
            second = await consume(app, at_once=1, budget=1.0)
            assert (second["processedCount"], second["results"]) == (0, [])
            attempts = "select attempt from penstock.jobs where args->>'bookmarkId' = %s"
            assert connect().execute(attempts, [str(quick)]).fetchall() == [(0,)]
            await bookmarks.try_again_at_once()
            go_on.set()
            read = {each["bookmarkId"] for each in (await first)["results"]}
            read |= {each["bookmarkId"] for each in (await bookmarks.service.consume())["results"]}
            assert read == {slow, quick}
            assert (await bookmarks.user().bookmark(quick))["title"] == "Annual report"


async def test_a_part_that_failed_is_not_waited_for_again_when_a_reading_is_broken_off(
    bookmarks: Bookmarks, site: Site
) -> None:
    report = site.answers["/report.pdf"]
    answers = iter([Answer(200, b"%PDF-", {"Content-Type": "application/pdf"})])
    site.answers["/report.pdf"] = lambda request: answered(next(answers, report), request)
    go_on = site.hang("/favicon.ico")
    await bookmarks.user().add(site.at("/report.pdf"))
    reading = asyncio.create_task(bookmarks.app.atick(1, 60, {QUEUE: 1}))
    await site.is_asked_for("/favicon.ico")
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    asked = site.hits("/report.pdf")
    await bookmarks.try_again_at_once()
    go_on.set()
    [result] = (await bookmarks.service.consume())["results"]
    assert (result["screenshotSuccess"], result["remainingDataSuccess"]) == (False, True)
    assert result["error"] == "Screenshot: The PDF is damaged"
    assert site.hits("/report.pdf") == asked, "the first part was not tried again before the second had its turn"
    await bookmarks.try_again_at_once()
    assert (await bookmarks.service.consume())["archivedCount"] == 1


async def test_a_reading_that_is_broken_off_leaves_a_line_that_names_the_bookmark(
    bookmarks: Bookmarks, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.hang("/never")
    id = await bookmarks.user().add(site.at("/never"))
    [result] = await bookmarks.app.atick(1, 1, {QUEUE: 1})
    assert (result.state, "budget" in (result.error or "")) == (JobState.SCHEDULED, True)
    [record] = [each for each in caplog.records if vars(each).get("bookmarkId") == id]
    assert (record.levelname, record.name) == ("WARNING", "penstock_recipes.bookmarks")
    assert f"of {QUEUE} was broken off" in record.getMessage()
    assert {"messageId", "error"} <= vars(record).keys()


@pytest.mark.parametrize("cleaning", [0.0, 2.0, 10.0])
async def test_a_call_takes_no_longer_than_its_budget(cleaning: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its reading takes, and the upkeep with it, which is left out where there is no time for it."""
    now = 0.0
    ticks: list[str] = []

    async def atick(self: Penstock, limit: int, budget: float, queues: dict[str, int]) -> list[TickResult]:
        nonlocal now
        now += budget if ticks else budget + cleaning
        ticks.append(*queues)
        return []

    monkeypatch.setattr(consumer, "monotonic", lambda: now)
    monkeypatch.setattr(Penstock, "atick", atick)
    await consume(Penstock("postgresql://nowhere"), at_once=4, budget=45)
    assert ticks == ([QUEUE, UPKEEP] if cleaning < 10 else [QUEUE])
    assert now <= (45 if cleaning < 10 else 52)


async def test_workers_and_ticks_take_no_more_messages_than_get_a_browser() -> None:
    app = Penstock("postgresql://nowhere")
    install(app, at_once=3)
    assert (app.slots(QUEUE), app.slots_of_tick()[QUEUE]) == (3, 3)


async def test_what_will_not_get_better_is_given_up_and_can_be_archived(
    url: str, files: Path, site: Site, connect: Connect
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    site.answers["/broken.pdf"] = Answer(200, b"%PDF-", {"Content-Type": "application/pdf"})
    async with Penstock(url, artifacts=files) as app:
        install(app, guard=Guard(["127.0.0.1"], resolve=resolve))
        async with serving(app) as bookmarks:
            ada = bookmarks.user()
            gone, broken = await ada.add(site.at("/gone")), await ada.add(site.at("/broken.pdf"))
            unknown = await ada.add("https://no-such-name.example/")
            await bookmarks.try_again_at_once()
            told = [await bookmarks.service.consume() for _ in range(4)]
            read = [[each["bookmarkId"] for each in each["results"]] for each in told]
            assert read == [[gone, broken, unknown], [unknown], [unknown], []]
            results = {each["bookmarkId"]: each for each in told[0]["results"]}
            assert results[gone]["error"] == "Screenshot: HTTP 404; Remaining: HTTP 404"
            assert results[broken]["error"] == "Screenshot: The PDF is damaged"
            assert "no-such-name.example has no address" in results[unknown]["error"]
            assert [(each["archivedCount"], each["failedCount"]) for each in told] == [(0, 3), (0, 1), (0, 1), (0, 0)]
            number = numbers(connect)
            assert set(number) == {gone, broken, unknown}
            service = bookmarks.service
            answer = await service.post("/add/tasks/archive", {"messageId": number[gone]})
            assert answer.json() == {"success": True, "data": {"messageId": number[gone], "archived": True}}
            assert (await service.post("/add/tasks/archive", {"messageId": 10**6})).status_code == 404
            assert (await ada.post("/add/tasks/archive", {"messageId": number[broken]})).status_code == 403
            assert set(numbers(connect)) == {broken, unknown}
            archived = "select (message->>'bookmarkId')::int from bookmarks.add_bookmark_url_queue_archive"
            assert connect().execute(archived.encode()).fetchall() == [(gone,)]
            assert await purge(app) == 1
            assert connect().execute(archived.encode()).fetchall() == []


async def test_no_browser_is_said_everywhere_in_the_same_words(
    bookmarks: Bookmarks, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CHROMIUM", "/nowhere/chromium")
    id = await bookmarks.user().add(site.at("/plain"))
    [result] = (await bookmarks.service.consume())["results"]
    words = "PENSTOCK_CHROMIUM: there is no program /nowhere/chromium"
    assert (result["error"], result["remainingDataSuccess"]) == (f"Screenshot: {words}", True)
    task = {"id": id, "url": site.at("/plain"), "userId": "ada"}
    answer = await bookmarks.service.post("/add/tasks/screenshot", task)
    assert (answer.status_code, answer.json()["detail"]) == (503, words)


def _json(value: object) -> str:

    return json.dumps(value, sort_keys=True)

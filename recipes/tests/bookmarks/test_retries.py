"""What fails is read again, and only what failed is done again; whoever does it may die on the way."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from bookmarks.asking import Bookmarks, serving
from bookmarks.sites import PAGES, Site, html, picture
from penstock import Penstock
from penstock.outbound import Guard
from penstock.server.http.uvicorn import open_socket
from penstock_recipes.bookmarks import QUEUE, install
from penstock_recipes.bookmarks.enricher import Enricher
from shared.asking import names_in
from tests.kit.fake_http import Answer
from tests.kit.fixtures import Connect
from tests.kit.serving import KEY, SECRET

DOWN = Answer(503, b"later")


async def test_a_retry_repeats_only_what_failed(bookmarks: Bookmarks, site: Site) -> None:
    """First the screenshot fails, then the icon, then nothing: each is fetched as often as it has to be."""
    site.answers |= {"/report.pdf": DOWN, "/icon.png": DOWN}
    ada = bookmarks.user()
    id = await ada.add(site.at("/report.pdf"), fav_icon=site.at("/icon.png"))
    await bookmarks.try_again_at_once()
    [first] = (await bookmarks.service.consume())["results"]
    assert first["error"] == "Screenshot: HTTP 503; Remaining: HTTP 503"
    assert (first["screenshotSuccess"], first["remainingDataSuccess"]) == (False, False)
    site.answers["/report.pdf"] = PAGES["/report.pdf"]
    [second] = (await bookmarks.service.consume())["results"]
    assert (second["screenshotSuccess"], second["remainingDataSuccess"]) == (True, False)
    assert second["error"] == "Remaining: HTTP 503"
    pages = site.hits("/report.pdf")
    site.answers["/icon.png"] = PAGES["/icon.png"]
    [third] = (await bookmarks.service.consume())["results"]
    assert (third["messageId"], third["archived"], "error" in third) == (first["messageId"], True, False)
    assert site.hits("/report.pdf") == pages
    assert site.hits("/icon.png") == 2, "it was not reached the first time"
    found = await ada.bookmark(id)
    assert found["screenshot"]
    assert found["fav_icon"]


async def test_the_remaining_data_does_not_wait_for_the_screenshot(bookmarks: Bookmarks, site: Site) -> None:
    """A site that refuses browsers still tells its title, its picture and its icon."""
    site.answers["/"] = lambda request: DOWN if "Chrome" in request.headers["user-agent"] else PAGES["/"]  # type: ignore[assignment,return-value]
    ada = bookmarks.user()
    id = await ada.add(site.at("/"))
    [result] = (await bookmarks.service.consume())["results"]
    assert (result["screenshotSuccess"], result["remainingDataSuccess"]) == (False, True)
    assert result["error"] == "Screenshot: HTTP 503"
    found = await ada.bookmark(id)
    assert (found["title"], found["description"]) == ("Penstock & co", "A gated pipe.")
    assert found["og_image"]
    site.answers["/"] = PAGES["/"]
    await bookmarks.try_again_at_once()
    [again] = (await bookmarks.service.consume())["results"]
    assert again["archived"]
    assert site.hits("/card.png", by_browser=False) == 1
    assert (await ada.bookmark(id))["screenshot"]


@pytest.mark.parametrize(
    ("card", "error"),
    [
        (Answer(404, b"gone"), "HTTP 404"),
        (Answer(200, b"<html>", {"Content-Type": "image/png"}), ""),
        (Answer(302, b"", {"Location": "http://10.0.0.1/card.png"}), "10.0.0.1 leads to a private address"),
        (Answer(302, b"", {"Location": "http://xn--a/card.png"}), "the URL cannot be read"),
    ],
)
async def test_a_picture_that_cannot_be_had_is_noted_and_no_failure(
    bookmarks: Bookmarks, site: Site, card: Answer, error: str
) -> None:
    site.answers |= {"/card.png": card, "/page.png": html("A page", '<meta property="og:image" content="/card.png">')}
    ada = bookmarks.user()
    id = await ada.add(site.at("/page.png"))
    assert (await bookmarks.service.consume())["archivedCount"] == 1
    found = await ada.bookmark(id)
    assert (found["title"], found["og_image"]) == ("A page", None), "an address that ends as an image may be a page"
    assert found["meta_data"]["og_image_error"].startswith(error)


async def test_an_image_that_cannot_be_had_is_a_failure(bookmarks: Bookmarks, site: Site) -> None:
    site.answers |= {"/gone.png": Answer(404, b"gone"), "/bad.png": picture(b"\x89PNG\r\n\x1a\n")}
    for path in ("/gone.png", "/bad.png"):
        await bookmarks.user().add(site.at(path))
    gone, bad = (await bookmarks.service.consume())["results"]
    assert (gone["archived"], gone["error"]) == (False, "Remaining: HTTP 404")
    assert (bad["archived"], bad["remainingDataSuccess"]) == (False, False)


async def test_a_private_address_is_not_visited_and_not_tried_again(
    url: str, files: Path, site: Site, connect: Connect
) -> None:
    """A name was bookmarked, and it leads here."""

    async def lead_here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with Penstock(url, artifacts=files) as app:
        install(app, guard=Guard(resolve=lead_here))
        async with serving(app) as bookmarks:
            await bookmarks.user().add(f"http://localtest.example:{site.server.port}/")
            site.answers["/"] = Answer(302, b"", {"Location": "http://169.254.169.254/latest/meta-data"})
            [result] = (await bookmarks.service.consume())["results"]
            assert result["archived"] is False
            assert "leads to a loopback address" in result["error"]
    assert not site.server.requests
    [(state,)] = connect().execute("select state from penstock.jobs where queue = %s", [QUEUE]).fetchall()
    assert state == "scheduled", "its name may lead elsewhere the next time"


async def test_what_will_never_be_allowed_is_given_up_at_once(
    bookmarks: Bookmarks, site: Site, connect: Connect
) -> None:
    """Redirected to where clouds keep their secrets. Its message stays in the queue, for somebody to look at."""
    site.answers["/"] = Answer(302, b"", {"Location": "http://169.254.169.254/latest/meta-data"})
    await bookmarks.user().add(site.at("/"))
    [result] = (await bookmarks.service.consume())["results"]
    refused = "169.254.169.254 leads to a link-local address; if that is meant, allow its network"
    assert (result["archived"], result["error"]) == (False, f"Screenshot: {refused}; Remaining: {refused}")
    assert (await bookmarks.service.consume())["processedCount"] == 0
    [kept] = connect().execute("select vt, msg_id from bookmarks.add_bookmark_url_queue").fetchall()
    assert kept[0].year == 9999
    assert kept[1] == result["messageId"]
    [job] = [job async for job in bookmarks.app.jobs.aeach(queue=QUEUE, state="failed")]
    site.answers["/"] = PAGES["/report.pdf"]
    await bookmarks.app.jobs.aretry(job.id)
    assert (await bookmarks.service.consume())["archivedCount"] == 1


@pytest.mark.parametrize("foreseen", [False, True])
async def test_a_last_attempt_tells_its_owner_only_what_was_foreseen(
    bookmarks: Bookmarks, site: Site, connect: Connect, monkeypatch: pytest.MonkeyPatch, foreseen: bool
) -> None:
    async def remaining(*_: object) -> None:
        raise KeyError("password=hunter2")

    if not foreseen:
        monkeypatch.setattr(Enricher, "remaining", remaining)
    site.answers["/report.pdf"] = DOWN
    await bookmarks.user().add(site.at("/report.pdf"))
    connect().execute("update penstock.jobs set attempt = max_attempts - 1")
    [result] = (await bookmarks.service.consume())["results"]
    [job] = [job async for job in bookmarks.app.jobs.aeach(queue=QUEUE, state="failed")]
    if foreseen:
        assert job.shown_error == result["error"] == "Screenshot: HTTP 503; Remaining: HTTP 503"
    else:
        assert result["error"] == "Screenshot: HTTP 503; Remaining: KeyError: 'password=hunter2'"
        assert job.shown_error == "it failed by an internal error"
        assert "in remaining" in job.errors[-1]["traceback"]


@contextmanager
def server_process(url: str, files: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """`penstock server` with the recipe, and its address."""
    with open_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK")}
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", "server", "penstock_recipes.bookmarks:app", "--port", str(port),
         "--log-level", "error"],
        env=environment | {"DATABASE_URL": url, "PENSTOCK_ARTIFACTS": str(files), "PENSTOCK_SERVICE_KEY": KEY,
                           "PENSTOCK_JWT_SECRET": SECRET, "BOOKMARKS_ALLOW": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def ask(address: str) -> None:
    """As cron does; it may die under the question."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=60) as cron:
        async with asyncio.timeout(40):
            while True:
                try:
                    await cron.get(f"{address}/readyz")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        with suppress(httpx.TransportError):
            await cron.post(f"{address}/api/v1/bookmarks/add/tasks/queue-consumer")


async def test_a_consumer_killed_between_the_two_steps_loses_nothing(
    bookmarks: Bookmarks, url: str, files: Path, site: Site, connect: Connect
) -> None:
    go_on = site.hang("/icon.png")
    ada = bookmarks.user()
    id = await ada.add(site.at("/report.pdf"), fav_icon=site.at("/icon.png"))
    with server_process(url, files) as (process, address):
        asking = asyncio.create_task(ask(address))
        await site.is_asked_for("/icon.png")
        os.killpg(process.pid, signal.SIGKILL)
        await asking
    assert names_in(files) == [f"ada/bookmarks/{id}/screenshot.png"]
    # the lease of one that died outlives its request; here nobody waits for that
    connect().execute("update penstock.heartbeats set expires_at = now()")
    go_on.set()
    [result] = (await bookmarks.service.consume())["results"]
    assert (result["archived"], result["screenshotSuccess"], result["remainingDataSuccess"]) == (True, True, True)
    assert site.hits("/report.pdf") == 1, "the screenshot was remembered"
    assert site.hits("/icon.png") == 2
    assert names_in(files) == [f"ada/bookmarks/{id}/favicon.png", f"ada/bookmarks/{id}/screenshot.png"]
    found = await ada.bookmark(id)
    assert found["title"] == "Annual report"
    assert found["screenshot"]
    assert found["fav_icon"]
    assert len(await bookmarks.app.artifacts.alist(owner="ada")) == 2

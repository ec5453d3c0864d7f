"""Pages that mean harm. Each costs its own look and nothing else: no process is left, and the next page is seen."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import psutil
import pytest

from bookmarks.browser_looking import PAGES, Served, needs_chromium, nothing_left, pages
from penstock.outbound import Guard
from penstock_recipes.bookmarks.failures import NotThere, PageFailed
from penstock_recipes.bookmarks.providers.browser import Browser, Capture
from tests.kit.fake_http import Answer, Request

pytestmark = needs_chromium
TIMEOUT = 4.0
MAX_BYTES = 300_000
HTML = {"Content-Type": "text/html"}


def script(text: str) -> str:
    return f"<title>mean</title><h1>mean</h1><script>{text}</script>"


def huge(kind: str, told: bool = True) -> Callable[[Request], Answer]:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(16 * 1024):
            yield b"<p>more" + bytes(65529)

    length = {"Content-Length": str(2**30)} if told else {}
    return lambda _: Answer(pieces=pieces(), headers={"Content-Type": kind, **length})


def unending(_: Request) -> Answer:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"<title>endless</title>"
        while True:
            yield b"<p>and on"
            await asyncio.sleep(0.05)

    return Answer(pieces=pieces(), headers=HTML)


async def silent(_: Request) -> Answer:
    await asyncio.Event().wait()
    return Answer()


def round_and_round(request: Request) -> Answer:
    return Answer(302, headers={"Location": f"/?{len(request.path)}{time.monotonic()}"})


DOWNLOAD = Answer(
    body=b"MZ" + bytes(10_000),
    headers={"Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename=a.exe"},
)
FAILING: dict[str, tuple[Served, str]] = {
    "redirects for ever": (round_and_round, "redirects for ever"),
    "a body of 1 GB": (huge("text/html"), "too large"),
    "a body of 1 GB that does not say so": (huge("text/html", told=False), "too large"),
    "a script that never ends": (script("while (true) {}"), "took too long"),
    "a download": (DOWNLOAD, r"a download \(application/octet-stream\), not a page"),
}
LASTING = FAILING.keys() - {"a script that never ends"}
"""Another look would find the same."""
FAILING_AT_LEISURE: dict[str, tuple[Served, str]] = {
    "a download of 1 GB": (huge("application/zip"), r"a download \(application/zip\)|too large"),
    "dialogs for ever": (script("while (true) { alert(1); confirm(2); prompt(3) }"), "took too long"),
    "a heap that grows": (
        script("a = []; while (true) a.push(new Array(1e6).fill(Math.random()))"),
        "crashed|too long",
    ),
    "no answer": (silent, "Network timeout"),
}
SEEN_AT_LEISURE: dict[str, Served] = {
    "scripts that redirect for ever": script("location = '/?' + Math.random()"),
    "windows": script("for (let i = 0; i < 300; i++) open('/?' + i)"),
    "questions": script("alert(1); confirm(2); print(); onbeforeunload = () => 'stay'"),
    "a thousand frames": script(
        "for (let i = 0; i < 1000; i++) { f = document.createElement('iframe'); f.src = '/small?' + i; "
        "document.documentElement.append(f) }"
    ),
    "memory beside the heap": script("a = []; while (true) a.push(new Uint8Array(1e8).fill(1))"),
    "workers that spin": script("for (let i = 0; i < 50; i++) new Worker('data:text/javascript,while (true) {}')"),
    "a history without end": script(
        "setInterval(() => { for (let i = 0; i < 1e4; i++) history.pushState(0, '', i) }, 0)"
    ),
    "an endless document": unending,
    "a broken PDF": Answer(body=b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
    "a style sheet that never comes": "<title>mean</title><link rel=stylesheet href=/silent><h1>x</h1>",
}


async def look_at(served: Served, seconds: float = TIMEOUT) -> Capture:
    """A look at the page, and at a good one afterwards."""
    site: dict[str, Served] = {
        "/": served, "/good": "<title>good</title>", "/small": "<p>small", "/huge.png": huge("image/png"),
        "/silent": silent,
    }  # fmt: skip
    browser = Browser(Guard([PAGES]), timeout=seconds, max_bytes=MAX_BYTES)
    async with pages(site) as server:
        before = time.monotonic()
        try:
            async with nothing_left():
                return await browser.capture(server.url)
        finally:
            assert time.monotonic() - before < seconds + 30
            assert psutil.Process().memory_info().rss < 1_000_000_000
            good = await Browser(Guard([PAGES])).capture(server.at(PAGES, "/good"))
            assert good.title == "good"


@pytest.mark.parametrize("what", FAILING)
async def test_a_hostile_page_costs_one_failure(what: str) -> None:
    served, problem = FAILING[what]
    with pytest.raises(PageFailed, match=problem) as failed:
        await look_at(served)
    assert isinstance(failed.value, NotThere) == (what in LASTING)


@pytest.mark.slow
@pytest.mark.parametrize("what", FAILING_AT_LEISURE)
async def test_other_hostile_pages_cost_one_failure(what: str) -> None:
    served, problem = FAILING_AT_LEISURE[what]
    with pytest.raises(PageFailed, match=problem):
        await look_at(served)


async def test_a_picture_of_1_gb_is_left_out_of_the_picture() -> None:
    capture = await look_at(script("onload = () => { document.images[0].src = '/huge.png' }") + "<img>", 30.0)
    assert capture.title == "mean"


async def test_memory_beside_the_heap_is_limited_too() -> None:
    """2 GB for a process; without a limit all 40 are to be had."""
    hog = "a = []; try { while (a.length < 40) a.push(new Uint8Array(1e8)) } catch {} document.title = a.length"
    capture = await look_at(script(hog), 30.0)
    assert capture.title is not None
    assert 1 <= int(capture.title) <= 20


@pytest.mark.slow
@pytest.mark.parametrize("what", SEEN_AT_LEISURE)
async def test_what_only_annoys_is_seen_or_fails_in_time(what: str) -> None:
    with suppress(PageFailed):
        capture = await look_at(SEEN_AT_LEISURE[what])
        assert capture.image.startswith(b"\x89PNG")

"""Pictures of pages, by a real Chromium, from a server on loopback that the guard is told to allow."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

import psutil
import pytest
from PIL import Image

from bookmarks.browser_looking import PAGES, needs_chromium, nothing_left, pages, runs
from penstock.outbound import Guard
from penstock_recipes.bookmarks.failures import PageFailed
from penstock_recipes.bookmarks.providers.browser import Browser, NoBrowser
from penstock_recipes.bookmarks.providers.browser.executable import find_chromium
from penstock_recipes.bookmarks.providers.browser.facts import facts_from
from tests.kit.certificates import certified
from tests.kit.fake_http import Answer, Request, fake_server

GUARD = Guard([PAGES])
HOUSE = """<!doctype html><html lang=en><head><title> The
  house </title><meta name=Description content=" Of   many rooms "><meta property=og:image content="/pictures/a.png">
<base href=/deep/><link rel="shortcut icon" href=icon.png><style>
body { margin: 0; background: #0a84ff; font: 40px sans-serif; color: #fff } div { height: 5000px }
p { position: absolute; left: 640px; top: 400px; width: 640px; height: 400px; margin: 0; background: #30d158 }
</style></head><body><h1>Grüße 漢字</h1><p>late</p><div></div>
<!-- names that hide the document's own --><img name=title><img name=querySelector><form name=baseURI></form>
<script>document.querySelector = null; String.prototype.slice = () => 'x'.repeat(1e6)</script></body></html>"""


@needs_chromium
@pytest.mark.root
async def test_a_page_is_seen_as_it_looks_and_says_what_it_is() -> None:
    async with pages({"/": Answer(302, headers={"Location": "/house?a=b"}), "/house": HOUSE}) as server:
        capture = await Browser(GUARD).capture(server.url)
    image = Image.open(BytesIO(capture.image))
    assert (image.format, image.size, capture.width, capture.height) == ("PNG", (1280, 800), 1280, 800)
    colours = image.convert("RGB")
    assert [colours.getpixel(at) for at in ((5, 795), (1270, 395))] == [(0x0A, 0x84, 0xFF)] * 2
    assert [colours.getpixel(at) for at in ((645, 795), (1275, 795))] == [(0x30, 0xD1, 0x58)] * 2
    letters = colours.crop((0, 0, 640, 200)).getcolors(100_000)
    assert letters is not None
    assert len(letters) > 20, "letters have many shades: there is a font"
    assert (capture.title, capture.description) == ("The house", "Of many rooms")
    assert capture.og_image == server.at(PAGES, "/pictures/a.png")
    assert capture.favicon == server.at(PAGES, "/deep/icon.png")
    assert capture.url == server.at(PAGES, "/house?a=b")


def test_what_a_page_says_is_cut_and_only_web_addresses_are_addresses() -> None:
    facts = facts_from({"title": "t\0\ud800" * 1000, "description": "d" * 9000, "image": "javascript:1", "icon": 7})
    assert facts.title is not None
    assert (len(facts.title), facts.title[:2], len(facts.description or "")) == (500, "t?", 2000)
    assert (facts.image, facts.icon) == (None, None)
    for address in (
        "data:image/png;base64,x",
        "file:///etc/passwd",
        "http://",
        "http://[::1",
        "https://x/" + "y" * 3000,
    ):
        assert facts_from({"image": address}).image is None
    assert facts_from(None).title is None


@needs_chromium
async def test_what_comes_late_is_waited_for_and_what_never_comes_is_not() -> None:
    async def never(request: Request) -> Answer:
        await asyncio.Event().wait()
        return Answer()

    late = (
        "<title>late</title><script>setTimeout(() => { document.title += ' and there' }, 400)</script><img src=/never>"
    )
    async with pages({"/": late, "/never": never}) as server:
        capture = await Browser(GUARD, timeout=6).capture(server.url)
    assert capture.title == "late and there"


@needs_chromium
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/missing", "HTTP 404"),
        pytest.param("/broken", "HTTP 500", marks=pytest.mark.slow),
        pytest.param("/nothing", "HTTP 204", marks=pytest.mark.slow),
        pytest.param("/closed", "HTTP 401", marks=pytest.mark.slow),
    ],
)
async def test_what_is_no_page_fails_in_words(path: str, problem: str) -> None:
    served = {
        "/broken": Answer(500, b"<h1>sorry</h1>", {"Content-Type": "text/html"}),
        "/nothing": Answer(204),
        "/closed": Answer(401, headers={"WWW-Authenticate": "Basic realm=x"}),
    }
    async with pages(served) as server:
        with pytest.raises(PageFailed, match=problem):
            await Browser(GUARD).capture(server.at(PAGES, path))


@needs_chromium
async def test_tls_is_checked_by_the_browser(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return [PAGES]

    ours, _ = certified("secure.invalid", tmp_path)
    async with fake_server(lambda _: Answer(), tls=ours, host=PAGES) as server:
        with pytest.raises(PageFailed, match=r"certificate is not good \(ERR_CERT_AUTHORITY_INVALID\)"):
            await Browser(Guard([PAGES], resolve=resolve)).capture(server.at("secure.invalid"))
        assert server.requests == []
    with pytest.raises(PageFailed, match="The server does not answer"):
        await Browser(GUARD).capture(server.url)


async def test_a_name_that_leads_nowhere_fails_in_words() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return []

    with pytest.raises(PageFailed, match=r"gone\.invalid has no address"):
        await Browser(Guard(resolve=resolve), executable="/bin/false").capture("https://gone.invalid/")


@needs_chromium
@pytest.mark.root
async def test_the_browser_has_no_rights_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SERVICE_KEY", "a key that no page may see")
    before = psutil.Process().children()
    looked: list[tuple[int, str, str]] = []

    def look(request: Request) -> Answer:
        for each in psutil.Process().children():
            if each not in before:
                status = Path(f"/proc/{each.pid}/status").read_text()
                looked.append((each.uids().real, " ".join(each.environ()), status))
        return Answer(body=b"seen")

    async with nothing_left(), pages({"/": look}) as server:
        await Browser(GUARD).capture(server.url)
    [(uid, environment, status)] = looked
    assert uid != 0
    assert "PENSTOCK" not in environment
    assert "NoNewPrivs:\t1" in status


@pytest.fixture
def open_temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files that others may enter, as the browser is another."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def in_folder(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@needs_chromium
@pytest.mark.parametrize("script", ["", "<script>while (true) {}</script>"])
async def test_a_cancelled_look_leaves_nothing(script: str, open_temporary: Path) -> None:
    opened = asyncio.Event()

    async def never(request: Request) -> Answer:
        opened.set()
        await asyncio.Event().wait()
        return Answer()

    async with nothing_left(), pages({"/": "<img src=/never>" + script, "/never": never}) as server:
        looking = asyncio.create_task(Browser(GUARD).capture(server.url))
        async with asyncio.timeout(30):
            await opened.wait()
        assert in_folder(open_temporary)
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking
    assert in_folder(open_temporary) == []


PROGRAM = f"""
import asyncio, sys
from penstock.outbound import Guard
from penstock_recipes.bookmarks.providers.browser import Browser
asyncio.run(Browser(Guard(["{PAGES}"])).capture(sys.argv[1]))
"""


@needs_chromium
@pytest.mark.root
async def test_a_killed_worker_takes_its_browser_with_it(open_temporary: Path) -> None:
    opened = asyncio.Event()

    def stuck(request: Request) -> Answer:
        opened.set()
        return Answer()

    spinning = "<img src=/stuck><script>setTimeout(() => { while (true) {} }, 50)</script>"
    async with pages({"/": spinning, "/stuck": stuck}) as server:
        ours = {**os.environ, "TMPDIR": str(open_temporary)}
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, server.url, env=ours)
        async with asyncio.timeout(30):
            await opened.wait()
        browser = psutil.Process(worker.pid).children(recursive=True)
        worker.kill()
        await worker.wait()
    assert len(browser) > 3
    _, alive = await asyncio.to_thread(psutil.wait_procs, browser, timeout=30)
    assert [each for each in alive if runs(each)] == []


async def test_what_a_killed_worker_left_on_disk_is_removed_by_the_next(open_temporary: Path) -> None:
    for name in ("penstock-chromium-dead", "penstock-chromium-busy", "somebody-elses"):
        (open_temporary / name).mkdir()
        (open_temporary / name / "stderr").touch()
        if name != "penstock-chromium-busy":
            os.utime(open_temporary / name, (0, 0))
    with pytest.raises(NoBrowser):
        await Browser(GUARD, executable="/bin/false").capture(f"http://{PAGES}/")
    assert {path.name for path in in_folder(open_temporary)} == {"penstock-chromium-busy", "somebody-elses"}


@needs_chromium
async def test_two_looks_at_once_do_not_meet() -> None:
    async with pages({f"/{n}": f"<title>page {n}</title>" for n in range(3)}) as server:
        browser = Browser(GUARD)
        captures = await asyncio.gather(*(browser.capture(server.at(PAGES, f"/{n}")) for n in range(3)))
    assert [capture.title for capture in captures] == ["page 0", "page 1", "page 2"]


async def test_no_browser_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("penstock_recipes.bookmarks.providers.browser.executable._PROJECT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in {"PATH": "", "HOME": str(tmp_path), "PENSTOCK_CHROMIUM": ""}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    with pytest.raises(NoBrowser, match="apt-get install chromium-headless-shell"):
        await Browser(GUARD).capture(f"http://{PAGES}/")
    private = tmp_path / ".chromium" / "chromium"
    private.parent.mkdir()
    private.write_text("#!/bin/sh\necho 'lacks a library' >&2\n")
    private.chmod(0o755)
    assert find_chromium() == str(private)
    monkeypatch.setenv("PENSTOCK_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NoBrowser, match="PENSTOCK_CHROMIUM: there is no program /nowhere/chromium"):
        find_chromium()


async def test_a_browser_that_does_not_start_says_why(open_temporary: Path) -> None:
    program = open_temporary / "chromium"
    program.write_text("#!/bin/sh\necho 'libnss3.so: not found' >&2\nexit 127\n")
    program.chmod(0o755)
    with pytest.raises(NoBrowser, match=r"Chromium does not start: libnss3\.so: not found"):
        await Browser(GUARD, executable=str(program)).capture(f"http://{PAGES}/")

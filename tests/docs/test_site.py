"""The documentation site builds without a warning, is whole, and needs nothing from elsewhere."""

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image
from playwright.async_api import Page, expect

from scripts.docs import nav, site
from scripts.docs.pages import ROOT
from tests.kit.browser import IN_A_BROWSER


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build for all of these tests; strict, so it fails by itself if a link is broken."""
    place = tmp_path_factory.mktemp("site")
    return site.build(place / "site", place / "workshop")


@pytest.fixture
def served(built: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=built.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None: ...


def test_every_page_has_a_place_and_every_place_a_page(built: Path) -> None:
    pages = built.parent.parent / "workshop" / "pages"
    assert nav.reached(pages) == {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")}


def test_the_readme_leads_to_what_there_is(built: Path) -> None:
    """It is no page of the site, so the build does not look at it."""
    links = re.findall(r"\]\(([^)#]+)(?:#([^)]+))?\)", (ROOT / "README.md").read_text("utf-8"))
    assert len(links) > 40
    assert [link for link, _ in links if "://" not in link and not (ROOT / link).exists()] == []
    for link, heading in links:
        if heading:
            page = built / link.removeprefix("docs/").removesuffix(".md") / "index.html"
            assert f'id="{heading}"' in page.read_text("utf-8")


def test_the_readme_leads_to_every_page() -> None:
    """Who reads it in the repository has no other index."""
    readme = (ROOT / "README.md").read_text("utf-8")
    pages = (page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md"))
    led_to = ("docs/index.md", "docs/decisions/")
    assert [page for page in pages if f"({page})" not in readme and not page.startswith(led_to)] == []


def test_no_page_fetches_anything_from_elsewhere(built: Path) -> None:
    fetched = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="?(https?:)?//|<link[^>]*\shref="?(https?:)?//')
    linked = re.compile(r"url\([^)]{0,1}(https?:)?//")
    faulty = [page for page in built.rglob("*.html") if fetched.search(page.read_text("utf-8"))]
    styled = [style for style in built.rglob("*.css") if linked.search(style.read_text("utf-8"))]
    assert (faulty, styled) == ([], [])


def test_the_search_knows_guides_and_reference(built: Path) -> None:
    found = (built / "search.json").read_text("utf-8")
    assert all(
        each in found
        for each in ("penstock.enqueue_jobs", "PENSTOCK_MAX_UPLOAD", "penstock queues pause", "max_snoozes")
    )


def test_a_version_stands_beside_those_before_it(built: Path) -> None:
    versions = built.parent
    assert json.loads((versions / "versions.json").read_text())[0]["aliases"] == ["latest"]
    assert f"url={built.name}/" in (versions / "index.html").read_text()
    (versions / "0.0").mkdir()
    assert site.list_versions(versions) == built.name
    assert [each["version"] for each in json.loads((versions / "versions.json").read_text())] == [built.name, "0.0"]


def test_both_schemes_can_be_chosen(built: Path) -> None:
    page = (built / "index.html").read_text("utf-8")
    assert 'data-md-color-scheme="slate"' in page
    assert 'data-md-color-scheme="default"' in page


@IN_A_BROWSER
async def test_the_site_searches_turns_dark_and_asks_nobody_else(built: Path, tab: Page, served: str) -> None:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    await tab.goto(f"{served}/")  # leads to the newest version
    await expect(tab.locator("h1")).to_contain_text("Penstock", timeout=20_000)
    await expect(tab.locator(".md-version__current")).to_have_text(built.name, timeout=20_000)
    await tab.keyboard.press("Control+k")
    search = tab.get_by_role("dialog", name="Search")
    await search.get_by_label("Search", exact=True).fill("max_running_per_key")
    await search.locator("a", has_text="max_running_per_key").first.click()
    await tab.wait_for_url("**/reference/**")
    await tab.emulate_media(color_scheme="dark")
    await expect(tab.locator("body")).to_have_attribute("data-md-color-scheme", "slate", timeout=20_000)
    assert [url for url in asked if not url.startswith(served)] == []


def test_a_broken_link_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "# One\n\n[no page](nowhere.md), [no heading](index.md#no-such-heading), [sound](index.md#one)\n"
    monkeypatch.setattr(site, "lay_out", lambda pages: (pages / "index.md").write_text(page))
    monkeypatch.setattr(site, "as_toml", lambda pages: '["index.md"]')
    (tmp_path / "pages").mkdir()
    with pytest.raises(SystemExit, match="2 issues found"):
        site.build(tmp_path / "site", tmp_path)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_recording_moves_and_is_small(theme: str) -> None:
    path = ROOT / "docs" / "assets" / f"recording-{theme}.webp"
    assert path.stat().st_size < 1_500_000, "make recording"
    with Image.open(path) as recording:
        assert getattr(recording, "n_frames", 1) > 20
    assert f"docs/assets/{path.name}" in (ROOT / "README.md").read_text()

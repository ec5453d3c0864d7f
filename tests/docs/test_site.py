"""The documentation site builds without a warning, is whole, and needs nothing from elsewhere."""

import json
import re
from pathlib import Path

import pytest

from scripts.docs import nav, site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build for all of these tests; strict, so it fails by itself if a link is broken."""
    place = tmp_path_factory.mktemp("site")
    return site.build(place / "site", place / "workshop")


def test_every_page_has_a_place_and_every_place_a_page(built: Path) -> None:
    pages = built.parent.parent / "workshop" / "pages"
    assert nav.reached(pages) == {page.relative_to(pages).as_posix() for page in pages.rglob("*.md")}


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


def test_a_broken_link_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "# One\n\n[no page](nowhere.md), [no heading](index.md#no-such-heading), [sound](index.md#one)\n"
    monkeypatch.setattr(site, "lay_out", lambda pages: (pages / "index.md").write_text(page))
    monkeypatch.setattr(site, "as_toml", lambda pages: '["index.md"]')
    (tmp_path / "pages").mkdir()
    with pytest.raises(SystemExit, match="2 issues found"):
        site.build(tmp_path / "site", tmp_path)

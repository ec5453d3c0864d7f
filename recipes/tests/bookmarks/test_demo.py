"""What `make demo` shows of the recipe."""

import json
from pathlib import Path

import httpx
import pytest
from rich.progress import Progress

from bookmarks.asking import serving
from penstock import Penstock
from penstock.server.auth import mint
from penstock_recipes.bookmarks import install
from penstock_recipes.bookmarks.demo import demo, guard_for_demo
from shared.asking import names_in
from tests.kit.serving import SECRET


@pytest.mark.slow  # and `make demo`, whose port it needs, shows it too
async def test_it_leaves_what_was_found_out_in_a_folder(url: str, files: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    async with Penstock(url, artifacts=files) as app:
        install(app, guard=guard_for_demo())
        async with serving(app) as bookmarks, bookmarks.worker():
            headers = {"Authorization": f"Bearer {mint(SECRET, subject='ada')}"}
            async with httpx.AsyncClient(base_url=bookmarks.address, headers=headers, timeout=60) as client:
                with Progress(disable=True) as show:
                    saved = await demo(client, made, show)
    assert sorted(str(path.relative_to(made)) for path in saved) == names_in(made)
    assert names_in(made) == [
        "a-page/bookmark.json", "a-page/favicon.png", "a-page/og-image.png", "a-page/screenshot.png",
        "a-pdf/bookmark.json", "a-pdf/screenshot.png",
        "a-picture/bookmark.json", "a-picture/og-image.png",
        "another-page/bookmark.json", "another-page/favicon.png", "another-page/og-image.png",
        "another-page/screenshot.png",
    ]  # fmt: skip
    told = json.loads((made / "a-page" / "bookmark.json").read_text())
    assert told["title"] == "The Old Dam"
    assert "THE OLD DAM" in told["meta_data"]["ocr"]

"""Shows the recipe: bookmarks the pages of a small website, and leaves what was found out about them in a folder."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from penstock_recipes.bookmarks.demo_site import NEED_A_BROWSER, PAGES, PORT, SITE, guard_for_demo, website
from penstock_recipes.bookmarks.providers.browser.executable import NoBrowser, find_chromium
from penstock_recipes.demo_client import follow, save

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["demo", "guard_for_demo"]

_FILES = {"screenshot": "screenshot.png", "og_image": "og-image.png", "fav_icon": "favicon.png"}


async def demo(client: httpx.AsyncClient, folder: Path, show: "Progress") -> list[Path]:
    """Bookmarks the pages on behalf of whoever the client is authorized as, and returns the files that it left. The
    application must have been told `install(app, guard=guard_for_demo())`: websites on one's own machine are refused
    otherwise."""
    pages = dict(PAGES)
    try:
        find_chromium()
    except NoBrowser as error:
        show.console.print(f"Bookmarks without screenshots: {error}")
        pages = {title: path for title, path in PAGES.items() if path not in NEED_A_BROWSER}
    try:
        async with website():
            saving = [_save(client, title, path, folder, show) for title, path in pages.items()]
            return [path for saved in await asyncio.gather(*saving) for path in saved]
    except OSError as error:
        show.console.print(f"No bookmarks: the website for them cannot have port {PORT} ({error.strerror})")
        return []


async def _save(client: httpx.AsyncClient, title: str, path: str, folder: Path, show: "Progress") -> list[Path]:
    """Bookmarks one page, follows what becomes of it, and fetches its files."""
    bar = show.add_task(f"{title}: bookmarked", total=100)
    answer = await client.post("/api/v1/bookmarks/add/data", json={"url": SITE + path})
    answer.raise_for_status()
    bookmark = answer.json()["data"]
    await _finished(client, bookmark["job_id"], show, bar)
    bookmark = (await client.get(f"/api/v1/bookmarks/{bookmark['id']}")).json()["data"]
    show.update(bar, description=f"{title}: {bookmark['title'] or bookmark['meta_data'].get('img_caption')}"[:60])
    below = folder / title.lower().replace(" ", "-")
    await asyncio.to_thread(below.mkdir, parents=True, exist_ok=True)
    links = {name: bookmark.pop(name) for name in _FILES}
    saved = [below / "bookmark.json"]
    await asyncio.to_thread(saved[0].write_text, json.dumps(bookmark, indent=2, ensure_ascii=False))
    for name, link in links.items():
        if link is not None:
            saved.append(await save(client, link, below / _FILES[name]))
    return saved


async def _finished(client: httpx.AsyncClient, job: str, show: "Progress", bar: "TaskID") -> None:
    """Follows the job to its end, or to the end of its first attempt if that failed."""
    state = "lost"
    async for told in follow(client, job):
        show.update(bar, completed=told["progress"]["percent"])
        state = told["state"]
        if state in ("scheduled", "succeeded"):
            break
    if state != "succeeded":
        show.console.print(f"A bookmark is not complete; its message stays in the queue ({state}): job {job}")

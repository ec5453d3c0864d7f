"""Shows the recipe: one reading for two, followed while it is made, and its PDFs and MP3s in a folder."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress

PARAMS: dict[str, Any] = {
    "person1": {
        "name": "Ada",
        "birthDate": "1815-12-10",
        "birthTime": "13:00",
        "timeZone": "Europe/London",
        "latitude": 51.5074,
        "longitude": -0.1278,
    },
    "person2": {
        "name": "Wisława",
        "birthDate": "1923-07-02",
        "birthTime": "11:30",
        "timeZone": "Europe/Warsaw",
        "latitude": 52.2361,
        "longitude": 17.0953,
    },
    "systems": ["vedic", "western", "human_design"],
}


async def demo(client: httpx.AsyncClient, folder: Path, show: Progress) -> list[Path]:
    """Orders a reading on behalf of whoever the client is authorized as, and returns the files that it left."""
    answer = await client.post("/api/jobs/start", json={"type": "nuclear_v2", "params": PARAMS})
    answer.raise_for_status()
    id = answer.json()["id"]
    bar = show.add_task("A reading", total=100)
    job: dict[str, Any] = {}
    async for job in _told(client, id):
        progress = job["progress"]
        done, total = progress["docsComplete"] or 0, progress["docsTotal"] or 16
        title = f"{progress['phase']}, {done} of {total} documents. {progress['message'] or ''}"
        show.update(bar, completed=progress["percent"], description=title)
    if job.get("status") != "completed":
        raise RuntimeError(f"the reading is {job.get('status', 'lost')}: {job.get('error')}")
    shown = (await client.get(f"/api/jobs/{id}")).json()
    fetching = show.add_task("Fetching the files", total=len(shown["artifacts"]))
    saved = []
    # the links themselves say that they may be read; a store would even refuse another word about it
    async with httpx.AsyncClient(base_url=client.base_url, follow_redirects=True) as anybody:
        for artifact in shown["artifacts"]:
            saved.append(await _save(anybody, artifact, folder))
            show.advance(fetching)
    return saved


async def _told(client: httpx.AsyncClient, id: str) -> AsyncIterator[dict[str, Any]]:
    async with client.stream("GET", f"/api/jobs/{id}/stream", timeout=None) as events:
        events.raise_for_status()
        async for line in events.aiter_lines():
            if line.startswith("data: ") and "job" in (told := json.loads(line.removeprefix("data: "))):
                yield told["job"]


async def _save(client: httpx.AsyncClient, artifact: dict[str, Any], folder: Path) -> Path:
    answer = await client.get(artifact["url"])
    answer.raise_for_status()
    path = folder / str(artifact["name"])
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(path.write_bytes, answer.content)
    return path

"""Shows the recipe: one reading for two, followed while it is made, and its PDFs and MP3s in a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from penstock_recipes.demo_client import follow, save

if TYPE_CHECKING:
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


async def demo(client: httpx.AsyncClient, folder: Path, show: "Progress") -> list[Path]:
    """Orders a reading on behalf of whoever the client is authorized as, and returns the files that it left."""
    answer = await client.post("/api/jobs/start", json={"type": "nuclear_v2", "params": PARAMS})
    answer.raise_for_status()
    id = answer.json()["id"]
    bar = show.add_task("A reading", total=100)
    job: dict[str, Any] = {}
    async for job in follow(client, id):
        progress = job["progress"]
        done, total = progress["done"] or 0, progress["total"] or 16
        title = f"{progress['phase'] or job['state']}, {done} of {total} documents. {progress['message'] or ''}"
        show.update(bar, completed=progress["percent"], description=title)
    if job.get("state") != "succeeded":
        raise RuntimeError(f"the reading is {job.get('state', 'lost')}: {job.get('error')}")
    shown = (await client.get(f"/api/jobs/{id}")).json()
    fetching = show.add_task("Fetching the files", total=len(shown["artifacts"]))
    saved = []
    for artifact in shown["artifacts"]:
        saved.append(await save(client, artifact["url"], folder / str(artifact["name"])))
        show.advance(fetching)
    return saved

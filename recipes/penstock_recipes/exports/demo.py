"""Shows the recipe: a few documents, one batch with live progress, the PDFs and the ZIP in a folder."""

import asyncio
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from penstock_recipes.exports.jobs import file_name

if TYPE_CHECKING:
    from rich.progress import Progress

RESUMES: dict[str, dict[str, Any]] = json.loads(
    (files("penstock_recipes.exports") / "page" / "samples.json").read_text("utf-8")
)
"""Those that the page offers too."""


async def demo(client: httpx.AsyncClient, folder: Path, show: "Progress") -> list[Path]:
    """Exports the documents above as one batch, and the first of them in the other templates too, on behalf of whoever
    the client is authorized as; the files that it left."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    documents = {
        (await _ask(client, "POST", "/api/v1/documents", json={"title": title, "data": data}))["id"]: title
        for title, data in RESUMES.items()
    }
    options = {"pageSize": "A4", "margins": {"top": 0.8, "bottom": 0.8, "left": 0.8, "right": 0.8}, "quality": "high"}
    asked = {"documentIds": list(documents), "templateSlug": "modern", "options": options}
    batch = await _ask(client, "POST", "/api/v1/export/batch", json=asked)
    saving = [_save(client, each["jobId"], documents[each["documentId"]], folder, show) for each in batch["jobs"]]
    saved = list(await asyncio.gather(*saving))
    first, title = next(iter(documents.items()))
    for template in ("minimal", "classic"):
        asked = {"documentId": first, "templateSlug": template, "options": options}
        job = await _ask(client, "POST", "/api/v1/export/pdf", json=asked)
        saved.append(await _save(client, job["jobId"], f"{title}, {template}", folder, show))
    answer = await client.get(f"/api/v1/export/batch/{batch['batchId']}/download")
    answer.raise_for_status()
    archive = folder / f"resumes-{batch['batchId']}.zip"
    await asyncio.to_thread(archive.write_bytes, answer.content)
    return [*saved, archive]


async def _save(client: httpx.AsyncClient, job: str, title: str, folder: Path, show: "Progress") -> Path:
    """Follows an export to its end, and fetches what it made."""
    bar = show.add_task(title, total=100)
    url = None
    async with client.stream("GET", f"/api/v1/export/job/{job}/stream", timeout=None) as events:
        events.raise_for_status()
        name = ""
        async for line in events.aiter_lines():
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                told = json.loads(value)
                if name == "progress":
                    show.update(bar, completed=told["progress"])
                elif name == "completed":
                    url = told["resultUrl"]
                elif name == "failed":
                    raise RuntimeError(f"{title}: {told['error']}")
    if url is None:
        raise RuntimeError(f"{title}: the stream ended early")
    # the link itself says that it may be read; a store would even refuse another word about it
    async with httpx.AsyncClient() as anybody:
        answer = await anybody.get(client.base_url.join(url))
    answer.raise_for_status()
    path = folder / file_name(title)
    await asyncio.to_thread(path.write_bytes, answer.content)
    return path


async def _ask(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> dict[str, Any]:
    answer = await client.request(method, path, **options)
    answer.raise_for_status()
    data: dict[str, Any] = answer.json()["data"]
    return data

"""What the demonstrations of the recipes do as clients of the API."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx


async def follow(client: httpx.AsyncClient, job: str) -> AsyncIterator[dict[str, Any]]:
    """The job, each time that something is told of it, until it has ended."""
    async with client.stream("GET", f"/api/jobs/{job}/stream", timeout=None) as events:
        events.raise_for_status()
        async for line in events.aiter_lines():
            if line.startswith("data: ") and "id" in (told := json.loads(line.removeprefix("data: "))):
                yield told


async def save(client: httpx.AsyncClient, link: str, path: Path) -> Path:
    """A file by its link. That itself says that it may be read; a store would even refuse another word about it."""
    async with httpx.AsyncClient(base_url=client.base_url, follow_redirects=True) as anybody:
        answer = (await anybody.get(link)).raise_for_status()
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(path.write_bytes, answer.content)
    return path

"""The storm itself: readings and exports asked for over HTTP, workers killed meanwhile, files compared in the end."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.auth import mint
from penstock_recipes.exports.demo import RESUMES
from penstock_recipes.readings.demo import PARAMS
from shared.programs import environment as program_environment
from storm.program import make_app

SECRET = "a-secret-of-the-storm-of-32-bytes"
WITHIN = 1200.0
Files = dict[str, tuple[str, float | None]]
"""What a reading has made: the type and duration of each file, by its name."""


@dataclass(frozen=True)
class Plan:
    readings: int
    exports: int
    chapters: int
    kill_every: float
    kills: int = 10_000
    """At most so many."""


@dataclass
class Report:
    readings: int = 0
    exports: int = 0
    kills: int = 0
    runs: int = 0
    jobs: int = 0
    wrong: list[str] = field(default_factory=list)


async def run_storm(plan: Plan, url: str, files: Path, progress: Progress) -> Report:
    """One reading undisturbed, then all of them and the exports under fire; what differs is wrong."""
    environment = {"DATABASE_URL": url, "PENSTOCK_ARTIFACTS": str(files), "STORM_CHAPTERS": str(plan.chapters)}
    app = make_app(url, str(files), plan.chapters)
    await asyncio.to_thread(app.migrate)
    report = Report()
    async with asking(app) as ask, working(environment) as crew:
        calm = await ask.start_reading()
        await ask.until_ended([calm], "undisturbed", progress)
        expected = await ask.files_of(calm)
        documents = [await ask.add_document(title, data) for title, data in RESUMES.items()]
        exports = [await ask.start_export(documents[n % len(documents)], n) for n in range(plan.exports)]
        readings = [await ask.start_reading(number) for number in range(plan.readings)]
        killing = asyncio.create_task(kill_now_and_then(crew, environment, plan, report))
        try:
            await ask.until_ended([*exports, *readings], "under fire", progress)
        finally:
            killing.cancel()
        for id in readings:
            made = await ask.files_of(id)
            if made != expected:
                report.wrong.append(f"reading {id} has made {sorted(made)} and not {sorted(expected)}")
            report.readings += 1
        for id in exports:
            if (content := await ask.pdf_of(id))[:5] != b"%PDF-":
                report.wrong.append(f"export {id} has made {content[:40]!r}")
            report.exports += 1
        await ask.count_runs([*exports, *readings], report)
    return report


class Ask:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def _ask(self, method: str, path: str, **options: Any) -> Any:
        answer = await self._client.request(method, path, **options)
        answer.raise_for_status()
        return answer.json()

    async def start_reading(self, number: int = 0) -> str:
        """Each for somebody born a hair's breadth further north: the same twice would be one reading."""
        person = PARAMS["person1"]
        moved = PARAMS | {"person1": person | {"latitude": person["latitude"] + number * 1e-7}}
        asked = {"type": "nuclear_v2", "params": moved}
        return str((await self._ask("POST", "/api/jobs/start", json=asked))["id"])

    async def add_document(self, title: str, data: dict[str, Any]) -> str:
        return str((await self._ask("POST", "/api/v1/documents", json={"title": title, "data": data}))["data"]["id"])

    async def start_export(self, document: str, number: int) -> str:
        """Each with margins of its own: the same twice would be one export."""
        margins = {"top": 0.5 + number / 1000, "bottom": 0.5, "left": 0.5, "right": 0.5}
        asked = {"documentId": document, "options": {"margins": margins}}
        return str((await self._ask("POST", "/api/v1/export/pdf", json=asked))["data"]["jobId"])

    async def until_ended(self, ids: Sequence[str], what: str, progress: Progress) -> None:
        task = progress.add_task(what, total=len(ids))
        left = set(ids)
        async with asyncio.timeout(WITHIN):
            while left:
                for id in list(left):
                    job = await self._ask("GET", f"/api/jobs/{id}")
                    if job["state"] in ("failed", "cancelled"):
                        raise AssertionError(f"{job['kind']} {id} {job['state']}: {job['error']}")
                    if job["state"] == "succeeded":
                        left.discard(id)
                        progress.advance(task)
                await asyncio.sleep(0.5)

    async def files_of(self, id: str) -> Files:
        job = await self._ask("GET", f"/api/jobs/{id}")
        return {each["name"]: (each["type"], each["duration"]) for each in job["artifacts"]}

    async def pdf_of(self, id: str) -> bytes:
        job = await self._ask("GET", f"/api/jobs/{id}")
        [artifact] = job["artifacts"]
        return (await self._client.get(artifact["url"])).content

    async def count_runs(self, ids: Sequence[str], report: Report) -> None:
        for id in ids:
            children = (await self._ask("GET", "/api/jobs", params={"parent": id, "limit": 200}))["jobs"]
            for job in children or [await self._ask("GET", f"/api/jobs/{id}")]:
                report.jobs += 1
                report.runs += job["attempt"]


@asynccontextmanager
async def asking(app: Penstock) -> AsyncIterator[Ask]:
    server = Server(app, ServerSettings(jwt_secret=SECRET, service_key="a-service-key-of-the-storm"))
    headers = {"Authorization": f"Bearer {mint(SECRET, subject='ada', seconds=7200)}"}
    transport = httpx.ASGITransport(server.asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://storm", headers=headers, timeout=60) as client:
        yield Ask(client)
    await server.aclose()
    await app.aclose()


Crew = list[asyncio.subprocess.Process]


@asynccontextmanager
async def working(environment: dict[str, str]) -> AsyncIterator[Crew]:
    """Two worker processes; who kills one starts another."""
    crew = [await start_worker(environment) for _ in range(2)]
    try:
        yield crew
    finally:
        for worker in crew:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            await worker.wait()


async def start_worker(environment: dict[str, str]) -> asyncio.subprocess.Process:
    command = ("worker", "storm.program:app", "--lease", "2", "--no-log-jobs", "--log-level", "error")
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "penstock.cli", *command, env=program_environment(**environment), start_new_session=True
    )


async def kill_now_and_then(crew: Crew, environment: dict[str, str], plan: Plan, report: Report) -> None:
    """With everything it has started: a worker speaks and prints in processes of its own."""
    for _ in range(plan.kills):
        await asyncio.sleep(random.uniform(0.5, 1.5) * plan.kill_every)
        place = random.randrange(len(crew))
        os.killpg(crew[place].pid, signal.SIGKILL)
        await crew[place].wait()
        report.kills += 1
        crew[place] = await start_worker(environment)

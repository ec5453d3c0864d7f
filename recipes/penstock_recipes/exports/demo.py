"""Shows the recipe: a few documents, one batch with live progress, the PDFs and the ZIP in a folder."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from penstock_recipes.exports.jobs import file_name

if TYPE_CHECKING:
    from rich.progress import Progress

RESUMES: dict[str, dict[str, Any]] = {
    "Ada Wiśniewska": {
        "profile": {
            "name": "Ada Wiśniewska",
            "headline": "Staff engineer, data platforms",
            "email": "ada@example.com",
            "phone": "+48 600 100 200",
            "location": "Łódź, Poland",
            "website": "https://ada.example.com",
            "summary": "Builds the pipelines that other teams stop thinking about. Twelve years from embedded firmware "
            "to petabyte warehouses; happiest where correctness is measurable and the on-call phone stays quiet.",
        },
        "experience": [
            {
                "company": "Northwind Freight",
                "position": "Staff Engineer, Data Platform",
                "location": "Łódź",
                "startDate": "2021-03",
                "summary": "Leads the six people who own ingestion, storage and access of all operational data.",
                "highlights": [
                    "Replaced a nightly batch of 400 jobs by one event log; figures that took a day are now eleven "
                    "seconds old.",
                    "Cut warehouse spending by 46 % by letting queries say what they cost before they run.",
                    "Wrote the incident handbook that five other teams adopted.",
                ],
            },
            {
                "company": "Kepler Instruments",
                "position": "Senior Software Engineer",
                "location": "Kraków",
                "startDate": "2016-09",
                "endDate": "2021-02",
                "highlights": [
                    "Designed the storage engine of a telescope archive: 3 PB, 99.995 % available over four years.",
                    "Introduced property-based tests; found eleven defects in a protocol in use since 2009.",
                ],
            },
        ],
        "education": [
            {
                "institution": "Łódź University of Technology",
                "degree": "MSc",
                "field": "Computer Science",
                "startDate": "2007",
                "endDate": "2012",
            }
        ],
        "projects": [
            {
                "name": "pgmirror",
                "role": "Author",
                "url": "https://github.com/example/pgmirror",
                "startDate": "2019",
                "summary": "Logical replication for humans; used by two national libraries.",
            }
        ],
        "skills": [
            {"name": "Languages", "items": ["Python", "Rust", "SQL", "C"]},
            {"name": "Systems", "items": ["PostgreSQL", "Kafka", "Linux", "Kubernetes"]},
        ],
        "languages": [
            {"name": "Polish", "level": "native"},
            {"name": "English", "level": "C2"},
            {"name": "German", "level": "B1"},
        ],
        "certifications": [{"name": "PostgreSQL Professional", "issuer": "EDB", "date": "2020-05"}],
    },
    "Tomás Ferreira": {
        "profile": {
            "name": "Tomás Ferreira",
            "headline": "Chef de cuisine",
            "email": "tomas@example.com",
            "location": "Porto, Portugal",
            "links": [{"label": "casaferreira.example.com", "url": "https://casaferreira.example.com"}],
            "summary": "Cooks the Atlantic: short menus, whole fish, bread from the same flour since 2009.",
        },
        "experience": [
            {
                "company": "Casa Ferreira",
                "position": "Owner and chef",
                "location": "Porto",
                "startDate": "2014",
                "highlights": [
                    "Forty seats, full since the second year; a star in 2019, kept every year since.",
                    "Halved food waste by selling tomorrow's soup today.",
                ],
            },
            {
                "company": "Le Phare",
                "position": "Sous-chef",
                "location": "Brest",
                "startDate": "2009",
                "endDate": "2014",
                "highlights": ["Ran the fish station, then the kitchen on Mondays."],
            },
        ],
        "education": [{"institution": "Escola de Hotelaria do Porto", "degree": "Diploma", "endDate": "2008"}],
        "skills": ["Fish and shellfish", "Sourdough", "Menus", "Training apprentices"],
        "languages": [{"name": "Portuguese"}, {"name": "French"}, {"name": "English"}],
        "awards": [{"name": "Young Chef of the Year", "issuer": "Guia da Mesa", "date": "2016"}],
    },
    "Lina Haddad": {
        "profile": {
            "name": "Lina Haddad · لينا حداد",
            "headline": "Translator: Arabic, French, English",
            "email": "lina@example.com",
            "location": "Beirut",
            "summary": "Literary and legal translation; twelve novels, and contracts that were never disputed.",
        },
        "experience": [
            {
                "company": "Freelance",
                "position": "Translator",
                "startDate": "2011",
                "highlights": ["Novels for three publishers.", "Sworn translator at the Court of Appeal."],
            }
        ],
        "skills": [{"name": "Tools", "items": ["memoQ", "OmegaT", "Patience"]}],
        "languages": [{"name": "العربية", "level": "native"}, {"name": "Français", "level": "C2"}],
    },
}


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

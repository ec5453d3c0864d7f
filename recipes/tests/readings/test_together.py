"""The recipe where it is used: on S3, beside other recipes in one application, in its own demonstration."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from rich.progress import Progress

from penstock import Penstock
from penstock.server.auth import mint
from penstock_recipes import exports, readings
from penstock_recipes.readings.demo import demo
from readings.conftest import MakeApp
from readings.people import ADA, BOTH, ShortWriter
from readings.reading import QUEUES, reading
from readings.test_reading import assert_complete
from tests.kit.serving import SECRET, served
from tests.kit.working import working
from tests.storage.seaweed import KEY, Seaweed, seaweed_in
from tests.storage.seaweed import SECRET as SEAWEED_SECRET


@pytest.fixture
def seaweed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seaweed]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SEAWEED_SECRET)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    with seaweed_in(tmp_path) as server:
        yield server


async def test_a_reading_is_kept_on_s3(make: MakeApp, seaweed: Seaweed) -> None:
    async with reading(make(artifacts=seaweed.address(uuid4().hex))) as ada:
        job = await ada.ended(await ada.start(BOTH))
        assert all(artifact["url"].startswith(seaweed.endpoint) for artifact in job["artifacts"])
        folder = job["output"]["pdf"].partition(f"/{job['id']}/")[0]
        await assert_complete(ada, job, chapters=2, folder=folder)
        assert folder == "ada"


async def test_it_lives_beside_exports_in_one_application(empty_url: str, tmp_path: Path) -> None:
    async with Penstock(empty_url, migrate=True, artifacts=tmp_path) as app:
        exports.install(app)
        readings.install(app, text=ShortWriter(), chapters=1, per_day=1)
        async with reading(app) as ada:
            id = await ada.start({"person1": ADA})
            assert (await ada.ended(id))["status"] == "completed"
            again = await ada.ask("POST", "/api/jobs/start", json={"type": "nuclear_v2", "params": {"person1": ADA}})
            assert again.status_code == 429
            assert (await ada.ask("GET", "/api/v1/documents")).status_code == 200


async def test_the_demonstration_leaves_every_file(make: MakeApp, tmp_path: Path) -> None:
    app = make()
    async with served(app) as server, working(app, QUEUES):
        headers = {"Authorization": f"Bearer {mint(SECRET, subject='ada')}"}
        async with httpx.AsyncClient(base_url=server.address, headers=headers) as authorized:
            with Progress(disable=True) as show:
                saved = await demo(authorized, tmp_path / "demo", show)
    assert len(saved) == 8
    assert (tmp_path / "demo" / "pdf" / "full_nuclear.pdf").read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "demo" / "audio" / "chapter2.mp3").stat().st_size > 10_000

"""How much one user may do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from exports.asking import Exports, Person, serving, stored_in
from penstock import Penstock
from penstock_recipes.exports import install
from tests.kit.fixtures import Connect

pytestmark = pytest.mark.usefixtures("kept_processes")


@asynccontextmanager
async def limited(url: str, files: Path, **limits: Any) -> AsyncIterator[Exports]:
    async with Penstock(url, artifacts=files) as app:
        install(app, **limits)
        async with serving(app) as exports:
            yield exports


async def test_so_many_exports_a_day(url: str, files: Path) -> None:
    async with limited(url, files, per_day=3) as exports:
        ada = exports.user("ada")
        documents = [await ada.document(f"Number {number}") for number in range(3)]
        await ada.batch(*documents[:2])
        job = await ada.export(documents[2])
        assert await ada.export(documents[2]) == job, "what is only repeated costs nothing"
        await ada.batch(*documents)
        refused = await ada.post("/export/pdf", {"documentId": documents[0], "templateSlug": "classic"})
        assert (refused.status_code, refused.headers["content-type"]) == (429, "application/problem+json")
        assert refused.json()["detail"] == (
            "Daily export limit reached (3 exports a day). Please try again tomorrow (UTC)."
        )
        assert 0 < int(refused.headers["retry-after"]) <= 24 * 3600
        behalf = await exports.service.post("/export/batch", {"documentIds": documents, "templateSlug": "modern"})
        assert behalf.status_code == 429, "also when the service asks for them"
        eve = exports.user("eve")
        await eve.export(await eve.document())


async def test_a_batch_that_is_too_much_is_not_begun(url: str, files: Path) -> None:
    async with limited(url, files, per_day=1) as exports:
        ada = exports.user("ada")
        documents = [await ada.document(f"Number {number}") for number in range(2)]
        key = {"Idempotency-Key": "b1"}
        assert (await ada.post("/export/batch", {"documentIds": documents}, headers=key)).status_code == 429
        assert (await exports.app.jobs.alist(owner="ada")).jobs == []
        begun = await ada.post("/export/batch", {"documentIds": documents[:1]}, headers=key)
        assert begun.status_code == 202, "the key stands for nothing yet"


async def filled(exports: Exports, connect: Connect) -> tuple[Person, str, dict[str, Any]]:
    """Somebody whose one export takes all the room there is, their document, and the export."""
    ada = exports.user("ada")
    document = await ada.document()
    async with exports.worker():
        made = await ada.completed(await ada.export(document))
    connect().execute("update penstock.quotas set storage = %s", [made["fileSize"]])
    return ada, document, made


async def test_files_fill_a_quota_until_they_are_deleted(exports: Exports, connect: Connect) -> None:
    ada, document, made = await filled(exports, connect)
    for path, body in (("/export/pdf", {"documentId": document}), ("/export/batch", {"documentIds": [document]})):
        refused = await ada.post(path, body)
        told = refused.json()
        assert (refused.status_code, refused.headers["content-type"]) == (507, "application/problem+json")
        assert told["detail"].startswith("Storage quota exceeded (0.0")
        assert told["detail"].endswith("Delete old exports to continue.")
        assert told["usedMB"] == round(made["fileSize"] / 1024 / 1024, 2)
    assert (await ada.delete(f"/export/history/{made['historyId']}")).status_code == 204
    await ada.export(document)


async def test_an_expired_file_takes_no_room(exports: Exports, connect: Connect) -> None:
    ada, document, _ = await filled(exports, connect)
    assert (await ada.post("/export/pdf", {"documentId": document})).status_code == 507
    connect().execute("update penstock.artifacts set expires_at = now()")
    await ada.export(document)


async def test_a_file_for_which_there_is_no_room_says_so_and_is_not_tried_again(url: str, files: Path) -> None:
    async with limited(url, files, storage=1000) as exports:
        ada = exports.user("ada")
        async with exports.worker():
            failed = await ada.ended(await ada.export(await ada.document()))
        assert (failed["status"], failed["attempts"]) == ("failed", 1)
        assert failed["error"].startswith("Storage quota exceeded (")
        assert failed["error"].endswith("Delete old exports to continue.")
        assert stored_in(files) == []

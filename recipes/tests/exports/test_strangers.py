"""Everybody has their own documents, jobs, files and history, and nobody else's."""

from typing import Any

import psycopg
import pytest

from exports.asking import Exports
from exports.resumes import SHORT
from tests.kit.fixtures import Connect


async def test_what_is_somebody_elses_is_not_there(exports: Exports) -> None:
    ada, eve = exports.user("ada"), exports.user("eve")
    document = await ada.document()
    async with exports.worker():
        batch = await ada.batch(document)
        made = await ada.completed(batch["jobs"][0]["jobId"])
    for method, path in (
        ("GET", f"/documents/{document}"), ("DELETE", f"/documents/{document}"), ("GET", f"/export/job/{made['id']}"),
        ("DELETE", f"/export/job/{made['id']}"), ("GET", f"/export/job/{made['id']}/stream"),
        ("GET", f"/export/batch/{batch['batchId']}"), ("GET", f"/export/batch/{batch['batchId']}/download"),
        ("GET", f"/export/download/{made['historyId']}"), ("DELETE", f"/export/history/{made['historyId']}"),
    ):  # fmt: skip
        answer = await eve(method, path)
        assert answer.status_code == 404, (method, path, answer.text)
    assert (await eve.put(f"/documents/{document}", {"title": "Eve's"})).status_code == 404
    assert (await eve.post("/export/pdf", {"documentId": document})).status_code == 404
    assert (await eve.post("/export/batch", {"documentIds": [document]})).status_code == 404
    assert await eve.history() == []
    assert (await eve.get("/documents")).json()["data"]["documents"] == []
    assert (await eve.post("/export/cleanup")).status_code == 403
    [line] = await ada.history()
    assert line["downloadCount"] == 0
    assert (await ada.get(f"/documents/{document}")).json()["data"]["title"] == "Ada's résumé"


async def test_a_job_does_not_print_somebody_elses_document(exports: Exports) -> None:
    """Started past the routes, which would have refused it."""
    document = await exports.user("ada").document()
    eve = exports.user("eve")
    started = await eve.post("/api/jobs", {"kind": "export_pdf", "args": {"document_id": document}})
    async with exports.worker():
        job = await eve.ended(started.json()["id"])
    assert (job["status"], job["error"]) == ("failed", "document not found")


async def test_the_database_itself_keeps_users_apart(exports: Exports, connect: Connect) -> None:
    ada = exports.user("ada")
    async with exports.worker():
        await ada.completed(await ada.export(await ada.document()))
    connection = connect()

    def count(table: str) -> int:
        [found] = connection.execute(f"select count(*) from exports.{table}".encode()).fetchone() or [0]
        return int(found)

    for subject, seen in (("ada", 1), ("eve", 0)):
        with connection.transaction():
            connection.execute("set local role authenticated")
            connection.execute("select set_config('request.jwt.claims', %s, true)", [f'{{"sub": "{subject}"}}'])
            assert (count("documents"), count("export_history")) == (seen, seen)
            assert connection.execute("update exports.documents set title = 'x'").rowcount == seen
            for forbidden in (
                "update exports.export_history set file_size = 0",
                "update exports.documents set user_id = 'eve'",
                "insert into exports.documents (user_id, title, data) values ('ada', 't', '{}')",
                "select * from exports.unrecorded",
                "insert into exports.export_history default values",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(forbidden.encode())
    with connection.transaction():
        connection.execute("set local role anon")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            count("documents")


async def test_only_the_service_stores_documents_for_others(exports: Exports) -> None:
    body: dict[str, Any] = {"title": "For Ada", "data": SHORT, "userId": "ada"}
    assert (await exports.user("eve").post("/documents", body)).status_code == 403
    assert (await exports.service.post("/documents", body)).status_code == 201
    assert (await exports.service.post("/documents", body | {"userId": None})).status_code == 400
    [document] = (await exports.user("ada").get("/documents")).json()["data"]["documents"]
    assert document["title"] == "For Ada"

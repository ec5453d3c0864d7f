"""One export, from the request to the file."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from exports.asking import Exports
from exports.pages import opened
from exports.resumes import resume_of
from penstock.testing import arun_inline
from tests.kit.fixtures import Connect
from tests.kit.until import until

pytestmark = pytest.mark.usefixtures("kept_processes")


async def test_a_document_becomes_a_pdf(exports: Exports, files: Path) -> None:
    ada = exports.user()
    document = await ada.document("Ada's résumé", resume_of(4))
    job = await ada.export(document, "classic")
    waiting = await ada.job(job)
    assert (waiting["status"], waiting["progress"], waiting["resultUrl"], waiting["error"]) == (
        "pending",
        0,
        None,
        None,
    )
    assert waiting["documentId"] == document
    assert (waiting["attempts"], waiting["maxAttempts"]) == (0, 5)
    async with exports.worker():
        pdf = await ada.pdf(job)
    made = await ada.job(job)
    assert (made["id"], made["status"], made["progress"], made["error"]) == (job, "completed", 100, None)
    with opened(pdf) as pages:
        assert made["pageCount"] == len(pages) == 2
    assert made["fileSize"] == len(pdf)

    [line] = await ada.history()
    expected = {
        "id": made["historyId"],
        "jobId": job,
        "documentId": document,
        "documentVersion": 1,
        "format": "pdf",
        "templateSlug": "classic",
        "fileName": "Ada's résumé.pdf",
        "fileSize": len(pdf),
        "pageCount": 2,
        "downloadCount": 0,
    }
    assert line.items() >= expected.items()
    assert re.fullmatch(rf"ada/{document}_\d+\.pdf", line["filePath"])
    assert (files / line["filePath"]).read_bytes() == pdf
    left = datetime.fromisoformat(line["expiresAt"]) - datetime.now(UTC)
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


async def test_a_download_is_a_fresh_link_for_an_hour_and_is_counted(exports: Exports) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    async with exports.worker():
        made = await ada.completed(job)
    download = f"/export/download/{made['historyId']}"
    sent = await ada.get(download)
    assert sent.status_code == 307
    fetched = await exports.nobody.get(sent.headers["location"])
    assert (fetched.status_code, fetched.headers["content-type"]) == (200, "application/pdf")
    assert "filename*=UTF-8''Ada%27s%20r%C3%A9sum%C3%A9.pdf" in fetched.headers["content-disposition"]
    told = (await ada.get(download, params={"format": "json"})).json()["data"]
    left = datetime.fromisoformat(told["expiresAt"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    assert [line["downloadCount"] for line in await ada.history()] == [2]


async def test_progress_goes_from_0_to_100_by_quarters(exports: Exports) -> None:
    document = await exports.user().document()
    handler = exports.app.handler("export_pdf").using(owner="ada")
    run = await arun_inline(handler, document_id=document)
    assert [report["percent"] for report in run.progress] == [0, 25, 50, 75, 90, 100]
    assert all(report["message"] for report in run.progress)
    [pdf] = run.artifacts.values()
    assert pdf.startswith(b"%PDF-")


@pytest.mark.parametrize("by_address", [False, True])
async def test_the_stream_tells_progress_and_then_the_result(exports: Exports, by_address: bool) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    watching = asyncio.create_task(ada.events(job, by_address=by_address))
    async with exports.worker():
        events = await watching
    *before, (name, last) = events
    assert {name for name, _ in before} == {"progress"}
    assert [event["progress"] for _, event in before] == sorted(event["progress"] for _, event in before)
    assert before[-1][1] == {"jobId": job, "status": "completed", "progress": 100}
    assert (name, last["jobId"], last["error"]) == ("completed", job, None)
    assert (await exports.nobody.get(last["resultUrl"])).content.startswith(b"%PDF-")
    assert [name for name, _ in await ada.events(job)] == ["progress", "completed"], "told again to whoever comes late"


async def test_a_waiting_job_is_told_as_pending(exports: Exports) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    watching = asyncio.create_task(ada.events(job))
    await until(lambda: exports.server.services.hub.watchers)
    assert (await ada.delete(f"/export/job/{job}")).status_code == 200
    events = await watching
    assert events[0] == ("progress", {"jobId": job, "status": "pending", "progress": 0})
    assert events[-1] == ("cancelled", {"jobId": job, "resultUrl": None, "error": "cancelled by its owner"})


async def test_the_same_request_again_gets_the_same_job(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    first = await ada.export(document)
    same = {"margins": {"top": 1}, "pageSize": "Letter", "templateSlug": "minimal"}
    again = await ada.post("/export/pdf", {"documentId": document, "options": same})
    assert again.json()["data"] == {"jobId": first, "created": False}, "what is left out is the same as the default"
    assert await ada.export(document, pageSize="A4") != first
    assert await ada.export(document, "modern") != first
    async with exports.worker():
        await ada.completed(first)
        assert await ada.export(document) != first, "one that has ended stands for nothing"


async def test_what_is_changed_while_an_export_runs_is_exported_too(exports: Exports, connect: Connect) -> None:
    """The one that runs has read what there was; it waits at its end until the test lets it go."""
    ada = exports.user()
    document = await ada.document("Before")
    holding = connect()
    async with exports.worker():
        with holding.transaction():
            holding.execute("lock table exports.export_history in exclusive mode")
            first = await ada.export(document)
            await ada.until(first, lambda job: job["progress"] == 90)
            assert await ada.export(document) == first, "of what has not changed it is the same"
            assert (await ada.put(f"/documents/{document}", {"title": "After"})).status_code == 200
            second = await ada.export(document)
            [member] = (await ada.batch(document))["jobs"]
        made = [await ada.completed(job) for job in (first, second)]
    assert second != first
    assert member["jobId"] == second
    assert [job["documentVersion"] for job in made] == [1, 2]
    assert {line["fileName"]: line["documentVersion"] for line in await ada.history()} == {
        "Before.pdf": 1,
        "After.pdf": 2,
    }


async def test_what_is_changed_while_an_export_waits_is_printed_by_it(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document("Before")
    first, other = await ada.export(document), await ada.export(document, "modern")
    assert (await ada.put(f"/documents/{document}", {"title": "After"})).status_code == 200
    assert await ada.export(document) == first
    assert [each["jobId"] for each in (await ada.batch(document, templateSlug="modern"))["jobs"]] == [other]
    behalf = await exports.service.post("/export/pdf", {"documentId": document})
    assert behalf.json()["data"] == {"jobId": first, "created": False}
    async with exports.worker():
        assert (await ada.completed(first))["documentVersion"] == 2


async def test_an_idempotency_key_stands_for_its_first_request(exports: Exports) -> None:
    ada = exports.user()
    body = {"documentId": await ada.document()}
    key = {"Idempotency-Key": "k1"}
    first = (await ada.post("/export/pdf", body, headers=key)).json()["data"]["jobId"]
    async with exports.worker():
        await ada.completed(first)
    stands = {"jobId": first, "created": False}
    assert (await ada.post("/export/pdf", body, headers=key)).json()["data"] == stands
    await ada.put(f"/documents/{body['documentId']}", {"title": "Edited meanwhile"})
    assert (await ada.post("/export/pdf", body, headers=key)).json()["data"] == stands, "the request is the same"
    other = await ada.post("/export/pdf", body | {"templateSlug": "modern"}, headers=key)
    assert (other.status_code, other.json()["errors"][0]["field"]) == (422, "Idempotency-Key")
    behalf = await exports.service.post("/export/pdf", body, headers=key)
    assert behalf.json()["data"]["created"], "the service's keys are its own"


async def test_a_pending_export_is_cancelled_at_once(exports: Exports) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    answer = await ada.delete(f"/export/job/{job}")
    assert (answer.status_code, answer.json()) == (200, {"success": True, "data": {"message": "Job cancelled"}})
    assert (await ada.job(job))["status"] == "cancelled"
    assert (await ada.delete(f"/export/job/{job}")).status_code == 200, "again is no mistake"


async def test_what_has_ended_is_not_cancelled(exports: Exports) -> None:
    ada = exports.user()
    job = await ada.export(await ada.document())
    async with exports.worker():
        await ada.completed(job)
    assert (await ada.delete(f"/export/job/{job}")).status_code == 409


async def test_the_service_exports_on_the_owners_behalf(exports: Exports) -> None:
    ada = exports.user()
    job = await exports.service.export(await ada.document())
    async with exports.worker():
        await ada.completed(job)
    assert [line["jobId"] for line in await ada.history()] == [job]


async def test_history_comes_in_pages_and_can_be_deleted(exports: Exports, files: Path) -> None:
    ada = exports.user()
    first, second = await ada.document("First"), await ada.document("Second")
    async with exports.worker():
        for document in (first, second, first):
            await ada.completed(await ada.export(document))
    page = (await ada.get("/export/history", params={"limit": 2})).json()["data"]
    rest = (await ada.get("/export/history", params={"cursor": page["nextCursor"]})).json()["data"]
    assert [line["fileName"] for line in page["exports"] + rest["exports"]] == ["First.pdf", "Second.pdf", "First.pdf"]
    assert rest["nextCursor"] is None
    assert len(await ada.history(documentId=first)) == 2
    [line] = await ada.history(documentId=second)
    assert (await ada.delete(f"/export/history/{line['id']}")).status_code == 204
    assert not (files / line["filePath"]).exists()
    assert (await ada.get(f"/export/download/{line['id']}")).status_code == 404


async def test_a_file_that_is_gone_is_not_found(exports: Exports) -> None:
    ada = exports.user()
    async with exports.worker():
        made = await ada.completed(await ada.export(await ada.document()))
    [artifact] = await exports.app.artifacts.alist(owner="ada")
    await exports.app.artifacts.adelete(artifact.id)
    answer = await ada.get(f"/export/download/{made['historyId']}")
    assert (answer.status_code, answer.json()["detail"]) == (404, "File not found in storage")
    assert (await ada.job(made["id"]))["resultUrl"] is None


async def test_a_deleted_document_leaves_its_exports(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    async with exports.worker():
        made = await ada.completed(await ada.export(document))
    assert (await ada.delete(f"/documents/{document}")).status_code == 204
    [line] = await ada.history()
    assert (line["documentId"], line["id"]) == (None, made["historyId"])
    assert (await ada.get(f"/export/download/{line['id']}")).status_code == 307


async def test_what_is_no_export_is_not_found(exports: Exports) -> None:
    @exports.app.job(users=True)
    def other() -> None: ...

    other_job = other.using(owner="ada").enqueue()
    ada = exports.user()
    for id in (other_job.id, uuid4()):
        for path in (
            f"/export/job/{id}",
            f"/export/job/{id}/stream",
            f"/export/batch/{id}",
            f"/export/batch/{id}/download",
        ):
            answer: httpx.Response = await ada.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert (await ada.delete(f"/export/job/{id}")).status_code == 404

"""Several documents at once, and their ZIP."""

import asyncio
import io
import zipfile
from datetime import timedelta
from uuid import uuid4

import pytest

from exports.asking import Exports
from exports.pages import opened
from penstock.engine import commands
from tests.kit.fixtures import Connect
from tests.kit.looks import Looks

pytestmark = pytest.mark.usefixtures("kept_processes")


async def test_a_batch_becomes_a_zip(exports: Exports) -> None:
    ada = exports.user()
    titles = ["Résumé: 2026", "Łódź", "Łódź"]
    documents = [await ada.document(title) for title in titles]
    batch = await ada.batch(*documents, pageSize="A4")
    assert [each["documentId"] for each in batch["jobs"]] == documents
    async with exports.worker():
        for each in batch["jobs"]:
            await ada.completed(each["jobId"])
    answer = await ada.get(f"/export/batch/{batch['batchId']}/download")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert answer.headers["content-disposition"] == f'attachment; filename="resumes-{batch["batchId"]}.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["Résumé_ 2026.pdf", "Łódź.pdf", "Łódź (2).pdf"]
        for name in archive.namelist():
            with opened(archive.read(name)) as pages:
                assert len(pages) == 1
    told = (await ada.get(f"/export/batch/{batch['batchId']}")).json()["data"]
    assert (told["status"], told["progress"], told["completedCount"], told["totalCount"]) == ("completed", 100, 3, 3)
    assert {job["status"] for job in told["jobs"]} == {"completed"}


async def test_a_batch_that_is_not_complete_says_what_is(exports: Exports) -> None:
    ada = exports.user()
    good, bad = await ada.document("Good"), await ada.document("Bad")
    batch = await ada.batch(good, bad)
    await ada.delete(f"/documents/{bad}")
    path = f"/export/batch/{batch['batchId']}/download"
    nothing = await ada.get(path)
    assert (nothing.status_code, nothing.json()["detail"]) == (404, "Batch not found or incomplete")
    async with exports.worker():
        jobs = [await ada.ended(each["jobId"]) for each in batch["jobs"]]
    assert [(job["status"], job["error"]) for job in jobs] == [("completed", None), ("failed", "document not found")]
    answer = await ada.get(path)
    assert answer.status_code == 206
    assert answer.json() == {
        "success": True,
        "data": {
            "message": "Batch partially complete",
            "completedCount": 1,
            "totalCount": 2,
            "completedJobs": [jobs[0]["id"]],
        },
    }
    partial = await ada.get(path, params={"partial": True})
    assert (partial.status_code, partial.headers["content-type"]) == (206, "application/zip")
    with zipfile.ZipFile(io.BytesIO(partial.content)) as archive:
        assert archive.namelist() == ["Good.pdf"]
    told = (await ada.get(f"/export/batch/{batch['batchId']}")).json()["data"]
    assert (told["status"], told["progress"], told["completedCount"], told["failedCount"]) == ("completed", 50, 1, 1)


async def test_never_more_than_three_run_at_once(
    exports: Exports, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits at its end until the test lets them go: as many as may are there at the same time."""
    ada = exports.user()
    documents = [await ada.document(f"Number {number}") for number in range(5)]
    holding = connect()
    most = 0
    async with exports.worker(slots=5) as first, exports.worker(slots=5) as second:
        looks = [Looks(worker.engine, monkeypatch) for worker in (first, second)]
        with holding.transaction():
            holding.execute("lock table exports.export_history in exclusive mode")
            batch = await ada.batch(*documents)
            while most < 3:
                told = (await ada.get(f"/export/batch/{batch['batchId']}")).json()["data"]
                running = [job for job in told["jobs"] if job["status"] == "processing"]
                most = max(most, len(running))
            # the workers have slots for the others, and look for them
            look_again = [each.another("exports") for each in looks]
            await exports.app.engine.arun(commands.Wake("exports", 2))
            await asyncio.gather(*look_again)
            told = (await ada.get(f"/export/batch/{batch['batchId']}")).json()["data"]
            assert [job["status"] for job in told["jobs"]].count("processing") == 3
            assert [job["status"] for job in told["jobs"]].count("pending") == 2
            refused = await ada.post("/export/pdf", {"documentId": documents[0], "options": {"pageSize": "Legal"}})
        for each in batch["jobs"]:
            await ada.completed(each["jobId"])
    assert refused.status_code == 429
    assert refused.json()["detail"] == "Export queue full. Please wait for current exports to complete."
    assert int(refused.headers["retry-after"]) >= 1


async def test_one_users_batch_does_not_keep_another_waiting_to_its_end(exports: Exports) -> None:
    ada, eve = exports.user("ada"), exports.user("eve")
    batch = await ada.batch(*[await ada.document(f"Number {number}") for number in range(10)])
    hers = await eve.export(await eve.document("Eve's"))
    async with exports.worker(slots=1):
        done = await eve.completed(hers)
        ends = [(await ada.completed(each["jobId"]))["completedAt"] for each in batch["jobs"]]
    assert sum(end < done["completedAt"] for end in ends) <= 3


async def test_the_same_document_twice_is_printed_once(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    assert len((await ada.batch(document, document))["jobs"]) == 1


async def test_an_export_that_is_under_way_is_not_begun_again_by_a_batch(exports: Exports) -> None:
    ada = exports.user()
    one, two = await ada.document("One"), await ada.document("Two")
    alone = await ada.export(one)
    batch = await ada.batch(two, one)
    assert [each["documentId"] for each in batch["jobs"]] == [two, one]
    assert batch["jobs"][1]["jobId"] == alone
    assert await ada.batch(two, one) == batch, "a second click"
    answer = await exports.service.post("/export/batch", {"documentIds": [two, one]})
    assert answer.json()["data"] == batch, "and the service on their behalf"
    async with exports.worker():
        events = await ada.events(batch["batchId"], "batch")
    assert len(await ada.history()) == 2
    assert events[-1][0] == "completed"
    answer = await ada.get(f"/export/batch/{batch['batchId']}/download")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["Two.pdf", "One.pdf"]


async def test_the_stream_of_a_batch_tells_of_all_its_exports(exports: Exports) -> None:
    ada = exports.user()
    good, bad = await ada.document("Good"), await ada.document("Bad")
    batch = await ada.batch(good, bad)
    await ada.delete(f"/documents/{bad}")
    watching = asyncio.create_task(ada.events(batch["batchId"], "batch", by_address=True))
    async with exports.worker():
        *before, (name, last) = await watching
    assert {name for name, _ in before} == {"progress"}
    told = [event for _, event in before]
    assert [event["progress"] for event in told] == sorted(event["progress"] for event in told)
    assert {event["progress"] for event in told} == {0, 50}
    assert told[-1] == (await ada.get(f"/export/batch/{batch['batchId']}")).json()["data"]
    assert [job["status"] for job in told[-1]["jobs"]] == ["completed", "failed"]
    url = f"/api/v1/export/batch/{batch['batchId']}/download"
    assert (name, last["batchId"], last["error"]) == ("completed", batch["batchId"], None)
    assert last["resultUrl"].endswith(url)
    stranger = await exports.user("eve").get(f"/export/batch/{batch['batchId']}/stream")
    assert stranger.status_code == 404


async def test_a_batch_of_which_nothing_is_made_is_not_completed(exports: Exports) -> None:
    ada = exports.user()
    gone = await ada.batch(await ada.document("One"), await ada.document("Two"))
    for job in gone["jobs"]:
        await ada.delete(f"/documents/{job['documentId']}")
    async with exports.worker():
        *_, (_, told), failed = await ada.events(gone["batchId"], "batch")
    assert told == (await ada.get(f"/export/batch/{gone['batchId']}")).json()["data"]
    assert (told["status"], told["progress"], told["completedCount"], told["failedCount"]) == ("failed", 0, 0, 2)
    assert {job["error"] for job in told["jobs"]} == {"document not found"}
    error = "none of its exports was completed"
    assert failed == ("failed", {"batchId": gone["batchId"], "resultUrl": None, "error": error})
    unwanted = await ada.batch(await ada.document("Three"), await ada.document("Four"))
    for job in unwanted["jobs"]:
        await ada.delete(f"/export/job/{job['jobId']}")
    (_, told), (name, last) = await ada.events(unwanted["batchId"], "batch")
    assert (told["status"], told["progress"], told["cancelledCount"]) == ("cancelled", 0, 2)
    assert (name, last["error"]) == ("cancelled", "its exports were cancelled")


async def test_a_key_of_a_batch_is_for_one_request(exports: Exports) -> None:
    ada = exports.user()
    documents = [await ada.document("One"), await ada.document("Two")]
    key = {"Idempotency-Key": "b1"}
    first = await ada.post("/export/batch", {"documentIds": documents}, headers=key)
    another = await ada.post("/export/batch", {"documentIds": documents[:1]}, headers=key)
    assert (first.status_code, another.status_code) == (202, 409)
    behalf = await exports.service.post("/export/batch", {"documentIds": documents[:1]}, headers=key)
    assert behalf.status_code == 202, "the service's keys are its own"
    async with exports.worker():
        await ada.events(first.json()["data"]["batchId"], "batch")
    again = await ada.post("/export/batch", {"documentIds": documents}, headers=key)
    assert again.json() == first.json(), "also when it is done"


async def test_a_repeated_batch_is_the_first_one(exports: Exports) -> None:
    ada = exports.user()
    body = {"documentIds": [await ada.document("One"), await ada.document("Two")]}
    answers = [await ada.post("/export/batch", body, headers={"Idempotency-Key": "b1"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()


async def test_a_key_is_kept_though_its_exports_were_begun_without_one(exports: Exports) -> None:
    ada = exports.user()
    documents = [await ada.document("One"), await ada.document("Two")]
    body, key = {"documentIds": documents}, {"Idempotency-Key": "b1"}
    before = await ada.post("/export/batch", body)
    keyed = await ada.post("/export/batch", body, headers=key)
    assert keyed.json() == before.json()
    assert (await ada.post("/export/batch", {"documentIds": documents[:1]}, headers=key)).status_code == 409
    async with exports.worker():
        await ada.events(before.json()["data"]["batchId"], "batch")
    assert (await ada.post("/export/batch", body, headers=key)).json() == before.json(), "also when it is done"


async def test_of_requests_that_use_a_key_at_once_one_is_its(exports: Exports) -> None:
    ada = exports.user()
    documents = [await ada.document(f"Number {number}") for number in range(4)]
    key = {"Idempotency-Key": "b1"}
    answers = await asyncio.gather(
        *(ada.post("/export/batch", {"documentIds": [each]}, headers=key) for each in documents for _ in range(2))
    )
    assert sorted(answer.status_code for answer in answers) == [202] * 2 + [409] * 6
    assert len({answer.json()["data"]["batchId"] for answer in answers if answer.is_success}) == 1


async def test_a_batch_whose_files_have_expired_is_gone(exports: Exports, connect: Connect) -> None:
    ada = exports.user()
    batch = await ada.batch(await ada.document())
    async with exports.worker():
        await ada.completed(batch["jobs"][0]["jobId"])
    connect().execute("update penstock.artifacts set expires_at = now() - %s", [timedelta(seconds=1)])
    answer = await ada.get(f"/export/batch/{batch['batchId']}/download")
    assert (answer.status_code, answer.json()["detail"]) == (410, "Export expired and has been deleted")
    assert (await ada.get(f"/export/batch/{uuid4()}/download")).status_code == 404

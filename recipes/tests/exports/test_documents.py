"""Documents: stored, changed, listed and deleted."""

import re

import pytest

from exports.asking import Exports
from exports.resumes import SHORT

pytestmark = pytest.mark.usefixtures("kept_processes")


async def test_a_document_is_kept_as_it_was_written(exports: Exports) -> None:
    ada = exports.user()
    answer = await ada.post("/documents", {"title": "Ada", "data": SHORT})
    stored = answer.json()["data"]
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/api/v1/documents/{stored['id']}", answer.headers["location"])
    assert (await ada.get(f"/documents/{stored['id']}")).json() == {"success": True, "data": stored}
    plain = {"items": ["Patience"]}
    assert stored["data"] == SHORT | {"skills": [SHORT["skills"][0], plain]}
    assert (stored["title"], stored["version"]) == ("Ada", 1)


async def test_each_change_is_another_version(exports: Exports) -> None:
    ada = exports.user()
    path = f"/documents/{await ada.document()}"
    renamed = (await ada.put(path, {"title": "Other"})).json()["data"]
    assert (renamed["title"], renamed["version"]) == ("Other", 2)
    changed = (await ada.put(path, {"data": {"profile": {"name": "Grace"}}})).json()["data"]
    assert (changed["data"], changed["title"], changed["version"]) == ({"profile": {"name": "Grace"}}, "Other", 3)
    assert (await ada.put(path, {"title": "Other"})).json()["data"]["version"] == 3, "nothing has changed"
    late = await ada.put(path, {"title": "Late", "version": 2})
    assert (late.status_code, late.json()["version"]) == (409, 3)
    assert (await ada.put(path, {"title": "In time", "version": 3})).json()["data"]["version"] == 4


async def test_an_export_is_of_the_version_that_there_is(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    job = await ada.export(document)
    await ada.put(f"/documents/{document}", {"title": "Second"})
    async with exports.worker():
        await ada.completed(job)
    [line] = await ada.history()
    assert (line["documentVersion"], line["fileName"]) == (2, "Second.pdf")


async def test_documents_come_in_pages_newest_first(exports: Exports) -> None:
    ada = exports.user()
    ids = [await ada.document(f"Number {number}") for number in range(3)]
    page = (await ada.get("/documents", params={"limit": 2})).json()["data"]
    rest = (await ada.get("/documents", params={"limit": 2, "cursor": page["nextCursor"]})).json()["data"]
    assert [each["id"] for each in page["documents"] + rest["documents"]] == ids[::-1]
    assert rest["nextCursor"] is None
    assert "data" not in page["documents"][0]


async def test_a_deleted_document_is_gone(exports: Exports) -> None:
    ada = exports.user()
    path = f"/documents/{await ada.document()}"
    assert (await ada.delete(path)).status_code == 204
    for answer in (await ada.get(path), await ada.delete(path), await ada.put(path, {"title": "t"})):
        assert (answer.status_code, answer.json()["detail"]) == (404, "Document not found")

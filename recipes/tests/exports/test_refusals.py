"""What the API refuses: with the seed's statuses, as problems that name what is wrong."""

from typing import Any
from uuid import uuid4

import pytest

from exports.asking import Exports
from shared.hostile import MANY, assert_broken_json_names_the_body, assert_refused_in_short

SOMEWHERE = str(uuid4())
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("/export/pdf", {}, "documentId"),
    ("/export/pdf", {"documentId": "d1"}, "documentId"),
    ("/export/pdf", {"documentId": SOMEWHERE, "templateSlug": "fancy"}, "templateSlug"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"pageSize": "A3"}}, "options.pageSize"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"margins": {"top": 2.1}}}, "options.margins.top"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"margins": {"left": -0.1}}}, "options.margins.left"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"margins": {"bottom": 0}}}, "options.margins.bottom"),
    ("/export/batch", {"documentIds": [SOMEWHERE], "options": {"margins": {"top": 0.1}}}, "options.margins.top"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"margins": {"middle": 1}}}, "options.margins.middle"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"quality": "best"}}, "options.quality"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"colorMode": "sepia"}}, "options.colorMode"),
    ("/export/pdf", {"documentId": SOMEWHERE, "options": {"metadata": {"title": 1}}}, "options.metadata.title"),
    ("/export/pdf", {"documentId": SOMEWHERE, "format": "docx"}, "format"),
    ("/export/batch", {"documentIds": []}, "documentIds"),
    ("/export/batch", {"documentIds": [str(uuid4()) for _ in range(11)]}, "documentIds"),
    ("/export/batch", {"documentIds": "all"}, "documentIds"),
    ("/documents", {"title": "", "data": {"profile": {"name": "Ada"}}}, "title"),
    ("/documents", {"title": "t", "data": {}}, "data.profile"),
    ("/documents", {"title": "t", "data": {"profile": {"name": "Ada", "shoeSize": 39}}}, "data.profile.shoeSize"),
    ("/documents", {"title": "t", "data": {"profile": {"name": "A\0da"}}}, "data.profile.name"),
    ("/documents", {"title": "t", "data": {"profile": {"name": "Ada"}, "skills": [7]}}, "data.skills.0"),
]


async def test_what_does_not_fit_is_named(exports: Exports) -> None:
    ada = exports.user()
    for path, body, field in WRONG:
        answer = await ada.post(path, body)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), body
        assert [error["field"] for error in answer.json()["errors"]] == [field], answer.text


WRONG_LINES = {"title": "t", "highlights": [0] * 100}
HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown fields": ("/export/pdf", MANY),
    "margins that nobody knows": ("/export/batch", {"documentIds": [SOMEWHERE], "options": {"margins": MANY}}),
    "metadata that nobody knows": ("/export/pdf", {"documentId": SOMEWHERE, "options": {"metadata": MANY}}),
    "parts that nobody knows": ("/documents", {"title": "t", "data": {"profile": MANY}}),
    "labels that are none": ("/documents", {"title": "t", "data": {"profile": {"name": "A"}, "labels": MANY}}),
    "wrong lines in every entry": (
        "/documents",
        {"title": "t", "data": {"profile": {"name": "A"}, "sections": [{"entries": [WRONG_LINES] * 100}] * 9}},
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_of_many_faults_a_few_are_told_at_once(exports: Exports, what: str) -> None:
    await assert_refused_in_short(exports.user().post, *HOSTILE[what])


async def test_what_is_no_json_is_called_so(exports: Exports) -> None:
    for path in ("/export/pdf", "/export/batch", "/documents"):
        await assert_broken_json_names_the_body(exports.user().post, path)


async def test_ids_in_the_address_are_checked(exports: Exports) -> None:
    for path in (
        "/export/job/7",
        "/export/job/7/stream",
        "/export/batch/7/download",
        "/export/download/7",
        "/documents/7",
    ):
        answer = await exports.user().get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")


async def test_a_job_started_past_these_routes_is_held_to_the_same(exports: Exports) -> None:
    ada = exports.user()
    for wrong in (2.1, 0.1):
        args: dict[str, Any] = {"document_id": await ada.document(), "margins": {"top": wrong}}
        answer = await ada.post("/api/jobs", {"kind": "export_pdf", "args": args})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "args.margins.top")


async def test_nobody_may_do_anything(exports: Exports) -> None:
    ada = exports.user()
    document = await ada.document()
    job = await ada.export(document)
    for method, path in (
        ("POST", "/documents"), ("GET", "/documents"), ("GET", f"/documents/{document}"),
        ("PUT", f"/documents/{document}"),
        ("DELETE", f"/documents/{document}"), ("POST", "/export/pdf"), ("POST", "/export/batch"),
        ("GET", f"/export/job/{job}"), ("DELETE", f"/export/job/{job}"), ("GET", f"/export/job/{job}/stream"),
        ("GET", f"/export/batch/{job}"), ("GET", f"/export/batch/{job}/download"), ("GET", "/export/history"),
        ("GET", f"/export/download/{job}"), ("DELETE", f"/export/history/{job}"), ("POST", "/export/cleanup"),
    ):  # fmt: skip
        body: dict[str, Any] = {"json": {}} if method in ("POST", "PUT") else {}
        assert (await exports.nobody(method, path, **body)).status_code in (400, 401), (method, path)
        if not body:
            assert (await exports.nobody(method, path)).status_code == 401, (method, path)


async def test_an_unknown_document_is_not_found(exports: Exports) -> None:
    ada = exports.user()
    answer = await ada.post("/export/pdf", {"documentId": SOMEWHERE})
    assert (answer.status_code, answer.json()["detail"]) == (404, "Document not found")
    known = await ada.document()
    answer = await ada.post("/export/batch", {"documentIds": [known, SOMEWHERE]})
    assert (answer.status_code, answer.json()["documentIds"]) == (404, [SOMEWHERE])
    assert await exports.app.jobs.alist(owner="ada") == (await exports.app.jobs.alist(owner="nobody"))

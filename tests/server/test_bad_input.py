"""What no JSON Schema forbids and no database can hold is refused by the name of its field, never by a 500."""

import json
from typing import Any

import httpx
import pytest

from penstock import Penstock
from penstock.engine import commands
from tests.server.api import Api

_JSON = {"Content-Type": "application/json"}


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    def export(value: Any) -> None: ...

    return app


def refused(answer: httpx.Response, *fields: str) -> None:
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert {each["field"] for each in answer.json()["errors"]} == set(fields)


@pytest.mark.parametrize(
    "value",
    [r'"\u0000"', r'{"\u0000": 1}', r'"\ud800"', r'{"\ud800": 1}', "NaN", "[Infinity]", "1e999"],
    ids=["NUL", "NUL in a name", "surrogate", "surrogate in a name", "NaN", "Infinity", "too large"],
)
async def test_arguments_that_cannot_be_stored_are_named(api: Api, value: str) -> None:
    job = f'{{"kind": "export", "args": {{"value": {value}}}}}'
    for path, body, field in (
        ("/api/jobs", job, "args"),
        ("/api/jobs/batch", f'{{"jobs": [{job}]}}', "jobs.0.args"),
    ):
        answer = await api.user().post(path, content=body, headers=_JSON)
        assert answer.status_code == 422, answer.text
        [error] = answer.json()["errors"]
        assert error["field"].startswith(field)


@pytest.mark.parametrize("value", ["9" * 400, "-" + "9" * 4000, "1e308", "0." + "1" * 500, "[" * 500 + "]" * 500])
async def test_odd_numbers_come_back_or_are_refused(api: Api, value: str) -> None:
    body = f'{{"kind": "export", "args": {{"value": {value}}}}}'
    answer = await api.user().post("/api/jobs", content=body, headers=_JSON)
    assert answer.status_code in (202, 422), answer.text
    if answer.status_code == 202:
        for asked in (api.user(), api.service):
            for path in (answer.headers["location"], "/api/jobs"):
                assert (await asked.get(path)).status_code == 200


@pytest.mark.parametrize("name", [r"\u0000", r"\ud800"])
async def test_a_field_whose_name_is_no_text_is_refused(api: Api, name: str) -> None:
    for body in (
        f'{{"kind": "export", "{name}": 1}}',
        f'{{"kind": "{name}"}}',
        f'{{"kind": "export", "org": "{name}"}}',
    ):
        answer = await api.user().post("/api/jobs", content=body, headers=_JSON)
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"]


async def test_a_body_that_is_no_json_is_refused(api: Api) -> None:
    for body in (b"{", b"\xff", b'"\xff"', b"[" * 100_000, b'{"kind":' + b"9" * 10_000 + b"}", b""):
        for headers in (
            _JSON,
            {"Content-Type": "application/json; charset=utf-16"},
            {"Content-Type": "text/plain"},
            {},
        ):
            answer = await api.user().post("/api/jobs", content=body, headers=headers)
            assert answer.status_code in (400, 413, 422), (body[:10], answer.text)
            assert answer.headers["content-type"] == "application/problem+json"


async def test_odd_bytes_in_headers_do_no_harm(api: Api) -> None:
    start = json.dumps({"kind": "export", "args": {"value": 1}}).encode()
    for value in (b"\xff\xfe", b"\xc3\xa9", b"\x7f", b"x" * 300, b"a\tb"):
        answer = await api.user().post("/api/jobs", content=start, headers=_JSON | {"Idempotency-Key": value})
        assert answer.status_code in (202, 422), answer.text
        for header in ("Authorization", "Accept", "Host", "If-None-Match", "Range"):
            assert (await api.nobody.get("/api/jobs", headers={header: value})).status_code == 401
    job = await api.user().start("export", value=2)
    assert (await api.user().get(f"/api/jobs/{job}", headers={"If-None-Match": b"\xff"})).status_code == 200


async def test_moments_are_written_out_and_lie_within_the_calendar(api: Api) -> None:
    for moment in (
        "0.5",
        "1700000000",
        "2026-01-31T12:00:00",
        "9999-12-31T23:00:00-02:00",
        "0001-01-01T00:00:00+02:00",
    ):
        refused(await api.user().get("/api/jobs", params={"created_after": moment}), "created_after")
    for moment in ("9999-12-31T23:00:00Z", "0001-01-01T00:00:00Z", "2026-01-31T12:00:00+23:59"):
        assert (await api.user().get("/api/jobs", params={"created_before": moment})).status_code == 200


async def test_texts_of_queries_and_paths_are_checked(api: Api) -> None:
    for name in ("kind", "org"):
        refused(await api.user().get("/api/jobs", params={name: "a\0b"}), "kind.0" if name == "kind" else name)
    refused(await api.user().get("/api/jobs", params={"limit": str(2**70)}), "limit")
    refused(await api.service.get("/api/queues/a%00b/scale"), "name")
    assert (await api.service.get("/api/queues/%ED%A0%80/scale")).status_code == 200
    refused(await api.service.post("/api/work/backlog", {"queues": ["x" * 256]}), "queues.0")


async def test_a_worker_is_told_which_field_is_at_fault(api: Api, app: Penstock) -> None:
    job = await api.user().start("export", value=1)
    lease = await app.engine.arun(commands.OpenLease("test"))
    [held] = await app.engine.arun(commands.Claim(lease, "default", 1))
    asked = f"/api/work/jobs/{job}"
    by = {"lease": str(lease), "claims": str(held.claims)}
    step = {"lease": lease, "id": job, "claims": held.claims, "output": 1}
    twice = [{"id": job, "claims": 1}] * 2
    refused(await api.service.post("/api/work/release", {"lease": lease, "jobs": twice}), "jobs")
    refused(await api.service.post("/api/work/claim", {"lease": True, "queue": "default"}), "lease")
    refused(await api.service.post("/api/work/claim", {"lease": lease, "queue": "default", "wait": "1"}), "wait")
    queues = {"lease": lease, "queues": ["default", "default"]}
    assert (await api.service.post("/api/work/wait-for-work", queues)).status_code == 200
    assert (await api.service.post("/api/work/heartbeat", queues | {"wait": 0.01})).status_code == 200
    assert (await api.service.post("/api/work/remember-step", step | {"name": "é" * 500})).status_code == 200
    refused(await api.service.post("/api/work/remember-step", step | {"name": "é" * 501}), "name")
    surrogate = json.dumps(step | {"name": "a", "output": "\ud800"})
    refused(await api.service.post("/api/work/remember-step", content=surrogate, headers=_JSON), "body")
    for file in ("x" * 256, "é" * 200, "a" * 1000, "a/" * 400 + "b", "\u202e", "con.", " "):
        answer = await api.service("PUT", f"{asked}/artifacts/{file}", params=by, content=b"x")
        assert answer.status_code in (200, 422), (file, answer.text)
    for name, value in (
        ("duration", "nan"), ("duration", "inf"), ("duration", "-1"), ("expires_in", "nan"), ("expires_in", "1e300"),
        ("expires_in", "-5"), ("metadata", '{"a": "\\u0000"}'), ("metadata", '{"a": "\\ud800"}'), ("type", "a\0b"),
        ("content_type", "a\nb"), ("path", "../../x"), ("path", "a\0"), ("metadata", '{"a":' + "[" * 5000),
        ("type", "x" * 5000),
        ("content_type", "text/" + "x" * 5000), ("path", "x" * 5000), ("metadata", '{"a": 1e999}'),
    ):  # fmt: skip
        answer = await api.service("PUT", f"{asked}/artifacts/a.txt", params=by | {name: value}, content=b"x")
        assert answer.status_code in (200, 422), (name, value[:20], answer.text)
        if answer.status_code == 422:
            refused(answer, name)
    further: list[dict[str, Any]] = [
        {"options": {"a": "\0"}}, {"rollup": {"a": "\0"}}, {"run_at": "9999-12-31T23:59:59-01:00"}, {"delay": 1e9},
        {"weight": 1e-300}, {"after": [job] * 3}, {"idempotency_ttl": 1e9, "idempotency_key": "k"},
        {"args": {"a": "\ud800"}},
        {"unique_key": "é" * 200}, {"rollup": {"phases": 5}},
        {"options": {"backoff": "x"}}, {"id": job}, {"parent": job},
    ]  # fmt: skip
    for each in further:
        body = {
            "lease": lease,
            "job": {"id": job, "claims": held.claims + 1},
            "enqueue": [{"kind": "export", **each}],
        }
        answer = await api.service.post("/api/work/complete-and-enqueue", content=json.dumps(body), headers=_JSON)
        assert answer.status_code in (200, 409, 422), (each, answer.text)
        assert answer.status_code != 422 or all(error["field"] for error in answer.json()["errors"])
    await app.engine.arun(commands.CloseLease(lease))

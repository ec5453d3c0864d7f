"""An idempotency key stands for one request, all of it; a user's keys and the back end's have nothing to do with each
other."""

from typing import Any
from uuid import uuid4

import pytest

from penstock import Flow, Penstock
from penstock.errors import IdempotencyMismatch
from penstock.job import NewJob
from tests.server.api import Api, Asking


def give_kinds(app: Penstock) -> None:
    @app.job(users=True)
    async def export(document: str) -> None: ...

    @app.job
    async def chapter(number: int, mark: str) -> None: ...

    @app.flow(users=True)
    def book(chapters: int) -> Flow:
        flow = Flow()
        for number in range(chapters):
            flow.add(chapter.prepare(number, str(uuid4())))
        return flow


def _export(document: str) -> dict[str, Any]:
    return {"kind": "export", "args": {"document": document}}


REQUESTS: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "/api/jobs",
        {"kind": "export", "args": {"document": "d1"}},
        [{"args": {"document": "d2"}}, {"org": "alices"}, {"kind": "book", "args": {"chapters": 2}}],
    ),
    (
        "/api/jobs",
        {"kind": "book", "args": {"chapters": 2}},
        [{"args": {"chapters": 3}}, {"org": "alices"}, {"kind": "export", "args": {"document": "d1"}}],
    ),
    (
        "/api/jobs/batch",
        {"jobs": [_export("d1"), _export("d2")]},
        [
            {
                "jobs": [
                    {"kind": "export", "args": {"document": "d1"}},
                    {"kind": "export", "args": {"document": "x"}},
                ]
            },
            {"jobs": [{"kind": "export", "args": {"document": "d1"}}]},
            {"org": "alices"},
        ],
    ),
]


@pytest.mark.parametrize("who", ["a user", "the service", "the service, on a user's behalf"])
async def test_the_same_key_with_another_request_is_refused(app: Penstock, api: Api, who: str) -> None:
    give_kinds(app)
    asking = api.user("alice", org="alices") if who == "a user" else api.service
    behalf = {"owner": "alice"} if who.endswith("behalf") else {}
    for place, (path, body, others) in enumerate(REQUESTS):
        key = {"Idempotency-Key": f"key {place}"}
        first = await asking.post(path, body | behalf, headers=key)
        again = await asking.post(path, body | behalf, headers=key)
        assert (first.status_code, again.status_code) == (202, 202), first.text + again.text
        assert again.json()["id"] == first.json()["id"]
        assert (first.json()["created"], again.json()["created"]) == (True, False)
        before = await _jobs(api.service)
        for other in [*others, *([{"quota": False}] if behalf else [])]:
            refused = await asking.post(path, body | other | behalf, headers=key)
            assert refused.status_code == 422, f"{other}: {refused.text}"
            assert "Idempotency-Key" in refused.text or "idempotency" in refused.text
        assert await _jobs(api.service) == before


async def test_a_user_cannot_take_the_key_that_the_back_end_will_use(app: Penstock, api: Api) -> None:
    give_kinds(app)
    for path, body, _ in REQUESTS:
        key = {"Idempotency-Key": f"order 17 {path} {body.get('kind')}"}
        theirs = await api.user("alice").post(path, body, headers=key)
        behalf = await api.service.post(path, body | {"owner": "alice"}, headers=key)
        assert (theirs.status_code, behalf.status_code) == (202, 202), behalf.text
        assert behalf.json()["created"]
        assert behalf.json()["id"] != theirs.json()["id"]


async def _jobs(service: Asking) -> set[str]:
    return {job["id"] for job in (await service.get("/api/jobs", params={"limit": 200})).json()["jobs"]}


OTHERS: list[dict[str, Any]] = [
    {"kind": "other"}, {"args": b'{"n": 2}'}, {"queue": "mail"}, {"priority": 3}, {"delay": 5.0}, {"org": "acme"},
    {"max_attempts": 9}, {"options": {"timeout": 3}}, {"phase": "p"}, {"limit_key": "l"}, {"unique_key": "u"},
]  # fmt: skip


def test_from_python_the_whole_job_counts(url: str) -> None:
    asked: dict[str, Any] = {"kind": "work", "args": b'{"n": 1}', "idempotency_key": "k", "owner": "ada"}
    with Penstock(url) as app:
        [first] = app.engine.enqueue([NewJob(**asked)])
        carried = {"carried": {"traceparent": "another trace"}}
        assert app.engine.enqueue([NewJob(**asked, options=carried)])[0].id == first.id
        for other in OTHERS:
            with pytest.raises(IdempotencyMismatch, match="k was used for another job"):
                app.engine.enqueue([NewJob(**(asked | other))])


def test_from_python_every_job_of_a_flow_counts(url: str) -> None:
    def flow(*numbers: int, wait: bool = False) -> list[NewJob]:
        made = Flow(then=NewJob(kind="end", idempotency_key="k"))
        before = None
        for number in numbers:
            before = made.add(
                NewJob(kind="part", args=b'{"n": %d}' % number), after=[before] if wait and before else []
            )
        return made.jobs()

    with Penstock(url) as app:
        first = app.engine.enqueue(flow(1, 2))
        again = app.engine.enqueue(flow(1, 2))
        assert (again[0].id, again[0].created) == (first[0].id, False)
        for other in (flow(1, 3), flow(1), flow(1, 2, 3), flow(2, 1), flow(1, 2, wait=True)):
            with pytest.raises(IdempotencyMismatch):
                app.engine.enqueue(other)

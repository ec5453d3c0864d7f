"""Starting jobs over HTTP: by users what is open to them, by the service anything."""

from typing import Any
from uuid import UUID

import pytest

from penstock import Context, Flow, Penstock
from penstock.engine import commands
from tests.server.api import Api


def handlers(app: Penstock) -> None:
    @app.job(users=True, queue="exports", max_attempts=7)
    async def export(ctx: Context, document_id: str, pages: int = 1) -> None: ...

    @app.job(users=True, unique=True)
    def render(document_id: str) -> None: ...

    @app.job
    def internal(number: int) -> None: ...

    @app.flow(users=True)
    def book(chapters: int) -> Flow:
        flow = Flow(then=internal.prepare(number=0))
        for number in range(chapters):
            flow.add(internal.prepare(number=number))
        return flow

    @app.flow
    def closed_book(chapters: int) -> Flow:
        return book(chapters)


@pytest.fixture
def app(app: Penstock) -> Penstock:
    handlers(app)
    return app


async def test_a_user_starts_a_job_that_is_theirs(api: Api, app: Penstock) -> None:
    answer = await api.user("alice").post("/api/jobs", {"kind": "export", "args": {"document_id": "d1"}})
    assert answer.status_code == 202
    body = answer.json()
    assert body == {"id": body["id"], "state": "ready", "created": True}
    assert answer.headers["location"] == f"http://test/api/jobs/{body['id']}"
    [job] = (await app.jobs.alist()).jobs
    assert (job.owner, job.org, job.queue, job.max_attempts) == ("alice", None, "exports", 7)
    assert job.args == {"document_id": "d1"}


async def test_arguments_that_do_not_fit_are_named_and_nothing_is_written(api: Api, app: Penstock) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "args.document_id"),
        ({"document_id": 5}, "args.document_id"),
        ({"document_id": "d", "pages": "many"}, "args.pages"),
        ({"document_id": "d", "page": 1}, "args.page"),
    ]
    for args, field in cases:
        for asking in (api.user(), api.service):
            answer = await asking.post("/api/jobs", {"kind": "export", "args": args})
            assert answer.status_code == 422
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["errors"][0]["field"] == field
    assert not (await app.jobs.alist()).jobs


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": ""}, "kind"),
        ({"kind": "export", "args": []}, "args"),
        ({"kind": "export", "colour": 1}, "colour"),
        ({"kind": "export", "args": {"document_id": "d"}, "org": 5}, "org"),
    ],
)
async def test_a_wrong_request_names_the_field(api: Api, body: dict[str, Any], field: str) -> None:
    answer = await api.user().post("/api/jobs", body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


async def test_a_kind_that_is_not_open_is_refused_to_users(api: Api, app: Penstock) -> None:
    told = []
    for kind in ("internal", "infernal"):  # there is no telling which of the two exists
        for path, asked in (("", {"kind": kind}), ("/batch", {"jobs": [{"kind": kind}]})):
            answer = await api.user().post(f"/api/jobs{path}", asked)
            told.append((answer.status_code, answer.json()["detail"].replace(kind, "…")))
    assert told == [(403, "kind: '…' is not open to users")] * 4
    misspelt = await api.user().post("/api/jobs", {"kind": "exprot"})
    assert "did you mean 'export'?" in misspelt.json()["detail"]
    assert not (await app.jobs.alist()).jobs
    started = await api.service.post("/api/jobs", {"kind": "internal", "args": {"number": 1}})
    assert started.status_code == 202


async def test_a_kind_closed_since_is_closed_in_the_database_too(api: Api, app: Penstock, url: str) -> None:
    await api.user().start("render", document_id="d")
    async with Penstock(url) as later:

        @later.job
        def render(document_id: str) -> None: ...

        await later.declare()
    answer = await api.user().post("/api/jobs", {"kind": "render", "args": {"document_id": "e"}})
    assert answer.status_code == 403


async def test_the_service_starts_on_behalf_of_a_user(api: Api, app: Penstock) -> None:
    asked = {"kind": "export", "args": {"document_id": "d"}, "owner": "bob", "org": "acme"}
    assert (await api.service.post("/api/jobs", asked)).status_code == 202
    [job] = (await app.jobs.alist()).jobs
    assert (job.owner, job.org) == ("bob", "acme")


async def test_a_user_cannot_start_for_others(api: Api, app: Penstock) -> None:
    for more in ({"owner": "bob"}, {"org": "acme"}):
        for kind, args in (("export", {"document_id": "d"}), ("book", {"chapters": 1})):
            asked = {"kind": kind, "args": args, **more}
            assert (await api.user("alice", org="zoo").post("/api/jobs", asked)).status_code == 403
    assert not (await app.jobs.alist()).jobs


async def test_a_job_is_shared_with_an_organisation_when_asked(api: Api, app: Penstock) -> None:
    asked = {"kind": "export", "args": {"document_id": "d"}, "org": "acme"}
    answer = await api.user("alice", org="acme").post("/api/jobs", asked)
    id = answer.json()["id"]
    assert (await api.user("bob", org="acme").get(f"/api/jobs/{id}")).status_code == 200
    assert (await api.user("eve", org="zoo").get(f"/api/jobs/{id}")).status_code == 404


async def test_an_unfinished_job_stands_for_its_duplicate_but_not_for_another_users(api: Api, app: Penstock) -> None:
    first = await api.user("alice").start("render", document_id="d")
    again = await api.user("alice").post("/api/jobs", {"kind": "render", "args": {"document_id": "d"}})
    assert again.json() == {"id": first, "state": "ready", "created": False}
    lease = await app.engine.arun(commands.OpenLease("test"))
    assert len(await app.engine.arun(commands.Claim(lease, "default", 1))) == 1
    again = await api.user("alice").post("/api/jobs", {"kind": "render", "args": {"document_id": "d"}})
    assert again.json() == {"id": first, "state": "running", "created": False}
    assert await api.user("bob").start("render", document_id="d") != first


async def test_an_idempotency_key_gives_the_first_job(api: Api, app: Penstock) -> None:
    asked = {"kind": "export", "args": {"document_id": "d"}}
    for asking in (api.user("alice"), api.user("bob"), api.service):
        first = await asking.post("/api/jobs", asked, headers={"Idempotency-Key": "k1"})
        again = await asking.post("/api/jobs", asked, headers={"Idempotency-Key": "k1"})
        assert first.json()["created"] is True
        assert again.json() == first.json() | {"created": False}
    other = {"kind": "export", "args": {"document_id": "e"}}
    refused = await api.user("alice").post("/api/jobs", other, headers={"Idempotency-Key": "k1"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "Idempotency-Key"
    assert len((await app.jobs.alist()).jobs) == 3


async def test_a_flow_is_started_by_its_name(api: Api, app: Penstock) -> None:
    id = await api.user("alice").start("book", chapters=3)
    jobs = (await app.jobs.alist()).jobs
    assert len(jobs) == 4
    assert {job.owner for job in jobs} == {"alice"}
    assert {str(job.parent) for job in jobs if str(job.id) != id} == {id}
    assert (await api.user().post("/api/jobs", {"kind": "closed_book", "args": {"chapters": 1}})).status_code == 403
    wrong = await api.user().post("/api/jobs", {"kind": "book", "args": {"chapters": "x"}})
    assert wrong.json()["errors"][0]["field"] == "args.chapters"


async def test_a_flows_idempotency_key_gives_the_first_flow(api: Api, app: Penstock) -> None:
    asked = {"kind": "book", "args": {"chapters": 2}}
    for asking in (api.user("alice"), api.service):
        first = await asking.post("/api/jobs", asked, headers={"Idempotency-Key": "k"})
        again = await asking.post("/api/jobs", asked, headers={"Idempotency-Key": "k"})
        assert again.json() == first.json() | {"created": False}
    assert len((await app.jobs.alist()).jobs) == 6


async def test_a_batch_is_one_job_that_waits_for_its_jobs(api: Api, app: Penstock) -> None:
    asked = {"jobs": [{"kind": "export", "args": {"document_id": str(n)}} for n in range(3)]}
    for asking, owner in ((api.user("alice"), "alice"), (api.service, None)):
        answer = await asking.post("/api/jobs/batch", asked)
        assert answer.status_code == 202
        body = answer.json()
        assert [each["kind"] for each in body["jobs"]] == ["export"] * 3
        batch = await app.handle(UUID(body["id"])).arefresh()
        assert (batch.kind, batch.state, batch.owner) == ("batch", "blocked", owner)
        for n, each in enumerate(body["jobs"]):
            job = await app.handle(UUID(each["id"])).arefresh()
            assert (str(job.parent), job.args["document_id"], job.queue) == (body["id"], str(n), "exports")


async def test_a_batch_with_one_wrong_job_starts_none(api: Api, app: Penstock) -> None:
    good = {"kind": "export", "args": {"document_id": "d"}}
    for wrong, status in (
        ({"kind": "export", "args": {}}, 422),
        ({"kind": "nothing", "args": {}}, 403),
        ({"kind": "book", "args": {"chapters": 1}}, 422),
        ({"kind": "internal", "args": {"number": 1}}, 403),
    ):
        answer = await api.user().post("/api/jobs/batch", {"jobs": [good, wrong]})
        assert answer.status_code == status
        if status == 422:
            assert answer.json()["errors"][0]["field"].startswith("jobs.1.")
    assert (await api.user().post("/api/jobs/batch", {"jobs": []})).status_code == 422
    assert not (await app.jobs.alist()).jobs


async def test_a_batchs_idempotency_key(api: Api, app: Penstock) -> None:
    asked = {"jobs": [{"kind": "export", "args": {"document_id": "d"}}]}
    for asking in (api.user("alice"), api.service):
        first = await asking.post("/api/jobs/batch", asked, headers={"Idempotency-Key": "k"})
        again = await asking.post("/api/jobs/batch", asked, headers={"Idempotency-Key": "k"})
        assert (again.json()["id"], again.json()["created"]) == (first.json()["id"], False)
    other = {"jobs": [{"kind": "export", "args": {"document_id": "e"}}]}
    refused = await api.user("alice").post("/api/jobs/batch", other, headers={"Idempotency-Key": "k"})
    assert refused.status_code == 422
    assert len((await app.jobs.alist()).jobs) == 4

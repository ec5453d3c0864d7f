"""Looking at jobs, listing, cancelling and retrying them over HTTP."""

import json
from uuid import UUID, uuid4

import pytest

from penstock import Context, Fail, Flow, Penstock
from penstock.engine import commands
from penstock.server.auth import mint
from penstock.server.live.states import State
from penstock.testing import adrain
from tests.kit import saying
from tests.kit.serving import SECRET
from tests.server.api import Api

NOTHING_YET = {
    "percent": 0, "phase": None, "done": None, "total": None, "failed": None, "message": None, "reason": None,
}  # fmt: skip


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    async def greet(ctx: Context, name: str) -> str:
        await ctx.progress(50, "half way", phase="text", done=7, total=16)
        return f"Hello {name}"

    @app.job(users=True, max_attempts=1)
    async def stumble(how: str) -> Fail | None:
        if how == "politely":
            return Fail("the document has no pages")
        raise ValueError("select secret from /etc/passwd")

    @app.flow(users=True)
    def greetings(names: list[str]) -> Flow:
        flow = Flow(phases={"text": (10, 90)})
        for name in names:
            flow.add(greet.prepare(name=name), phase="text")
        return flow

    return app


async def test_the_status_has_the_shape_that_clients_poll(api: Api, app: Penstock) -> None:
    alice = api.user("alice")
    id = await alice.start("greet", name="Ann")
    waiting = (await alice.get(f"/api/jobs/{id}")).json()
    assert waiting["state"] == "ready"
    assert waiting["progress"] == NOTHING_YET
    await adrain(app)
    answer = await alice.get(f"/api/jobs/{id}")
    assert answer.status_code == 200
    job = answer.json()
    assert job["progress"] == NOTHING_YET | {
        "percent": 100, "phase": "text", "done": 7, "total": 16, "message": "half way",
    }  # fmt: skip
    moments = {name: job.pop(name) for name in ("created_at", "run_at", "started_at", "finished_at")}
    assert job == {
        "id": id, "kind": "greet", "queue": "default", "state": "succeeded", "priority": 0, "attempt": 1,
        "max_attempts": 5, "parent": None, "owner": "alice", "org": None, "cancel_requested": False,
        "args": {"name": "Ann"}, "progress": job["progress"], "output": "Hello Ann", "error": None, "artifacts": [],
    }  # fmt: skip
    assert moments["created_at"] <= moments["started_at"] <= moments["finished_at"]


async def test_what_the_service_does_to_a_job_is_on_record_and_what_its_owner_does_is_not(
    api: Api, app: Penstock
) -> None:
    alice = api.user("alice")
    [one, two] = [await alice.start("greet", name=name) for name in ("Ann", "Ben")]
    token = {"Authorization": f"Bearer {mint(SECRET, role='service_role')}"}
    assert (await alice.delete(f"/api/jobs/{one}")).status_code == 200
    assert (await alice.post(f"/api/jobs/{one}/retry")).status_code == 202
    assert await app.audit.alist() == []
    for _ in range(2):  # the second changes nothing
        await api.service.delete(f"/api/jobs/{one}")
    assert (await api.service.post(f"/api/jobs/{one}/retry")).status_code == 202
    assert (await api.service.post(f"/api/jobs/{one}/retry")).status_code == 409
    assert (await api.nobody.delete(f"/api/jobs/{two}", headers=token)).status_code == 200
    assert (await api.service.delete(f"/api/jobs/{uuid4()}")).status_code == 404
    lines = [(line.who, line.action, line.details["filter"]["ids"], line.jobs) for line in await app.audit.alist()]
    assert lines == [
        ("a service token", "cancel", [two], 1),
        ("the service key", "retry", [one], 1),
        ("the service key", "cancel", [one], 1),
    ]


async def test_a_running_job_tells_its_phase_and_message(api: Api, app: Penstock) -> None:
    id = await api.user().start("greet", name="Ann")
    lease = await app.engine.arun(commands.OpenLease("test"))
    jobs = await app.engine.arun(commands.Claim(lease, "default", 1))
    await app.engine.arun(saying.report_progress(lease, jobs, [{"percent": 45, "phase": "text", "message": "Hunger…"}]))
    job = (await api.user().get(f"/api/jobs/{id}")).json()
    assert job["state"] == "running"
    assert job["progress"] == NOTHING_YET | {"percent": 45, "phase": "text", "message": "Hunger…"}


async def test_a_job_that_is_tried_again_says_so_in_status_list_and_stream(api: Api, app: Penstock) -> None:
    id = await api.user().start("greet", name="Ann")
    lease = await app.engine.arun(commands.OpenLease("test"))
    jobs = await app.engine.arun(commands.Claim(lease, "default", 1))
    await app.engine.arun(saying.report_progress(lease, jobs, [{"percent": 90, "phase": "text"}]))
    secret = {"error": "password=hunter2", "traceback": "…", "retry_in": 60}
    await app.engine.arun(saying.fail(lease, jobs, [secret]))
    seen = await app.engine.arun(commands.SeeJob(UUID(id)))
    assert seen is not None
    told = [
        (await api.user().get(f"/api/jobs/{id}")).json()["progress"],
        (await api.user().get("/api/jobs")).json()["jobs"][0]["progress"],
        json.loads(State(seen).piece("")["body"].split(b"data: ")[1])["progress"],
    ]
    assert told == [NOTHING_YET | {
        "message": "Attempt 2 of 5: it failed by an internal error", "reason": "it failed by an internal error",
    }] * 3  # fmt: skip


async def test_a_flow_waits_for_its_jobs_and_tells_how_far_they_are(api: Api, app: Penstock) -> None:
    id = await api.user().start("greetings", names=["a", "b"])
    assert (await api.user().get(f"/api/jobs/{id}")).json()["state"] == "blocked"
    lease = await app.engine.arun(commands.OpenLease("test"))
    await app.engine.arun(saying.complete(lease, await app.engine.arun(commands.Claim(lease, "default", 1))))
    job = (await api.user().get(f"/api/jobs/{id}")).json()
    assert (job["state"], job["progress"]["percent"], job["progress"]["phase"]) == ("blocked", 50, "text")
    assert (job["progress"]["done"], job["progress"]["total"]) == (1, 2)


async def test_an_etag_saves_the_body_until_something_changes(api: Api, app: Penstock) -> None:
    id = await api.user().start("greet", name="Ann")
    first = await api.user().get(f"/api/jobs/{id}")
    headers = {"If-None-Match": f'"other", {first.headers["etag"]}'}
    same = await api.user().get(f"/api/jobs/{id}", headers=headers)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
    await adrain(app)
    changed = await api.user().get(f"/api/jobs/{id}", headers=headers)
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


async def test_what_a_handler_says_is_shown_and_what_it_stumbled_over_is_not(api: Api, app: Penstock) -> None:
    said = await api.user().start("stumble", how="politely")
    fell = await api.user().start("stumble", how="badly")
    await adrain(app)
    service = api.service
    for asking in (api.user(), service):
        job = (await asking.get(f"/api/jobs/{said}")).json()
        assert (job["state"], job["error"]) == ("failed", "the document has no pages")
        answer = await asking.get(f"/api/jobs/{fell}")
        assert answer.json()["error"] == "it failed by an internal error"
        assert ("passwd" in answer.text) is (asking is service)
    assert "passwd" not in (await api.user().get("/api/jobs")).text
    assert "passwd" in str((await app.handle(UUID(fell)).arefresh()).errors)


@pytest.mark.parametrize("method_and_path", ["GET /api/jobs/{}", "DELETE /api/jobs/{}", "POST /api/jobs/{}/retry"])
async def test_an_unknown_job_is_not_found(api: Api, method_and_path: str) -> None:
    method, path = method_and_path.split()
    for asking in (api.user(), api.service):
        answer = await asking(method, path.format(uuid4()))
        assert answer.status_code == 404
        assert (await asking(method, path.format("no-id"))).json()["errors"][0]["field"] == "id"


async def test_a_page_continues_where_the_last_one_ended(api: Api) -> None:
    alice = api.user("alice")
    ids = [await alice.start("greet", name=str(n)) for n in range(5)]
    await api.user("bob").start("greet", name="bob")
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = (await alice.get("/api/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["next_cursor"]
    assert seen == ids[::-1]
    assert cursor is None


async def test_a_list_is_filtered(api: Api, app: Penstock) -> None:
    alice = api.user("alice", org="acme")
    done = await alice.start("greet", name="x")
    await adrain(app)
    waiting = await alice.start("stumble", how="badly")
    flow = await alice.start("greetings", names=["a", "b"])
    shared = (await alice.post("/api/jobs", {"kind": "greet", "args": {"name": "s"}, "org": "acme"})).json()["id"]

    async def ids(**params: object) -> set[str]:
        answer = await alice.get("/api/jobs", params=params)
        assert answer.status_code == 200, answer.text
        return {job["id"] for job in answer.json()["jobs"]}

    assert await ids(state="succeeded") == {done}
    assert await ids(kind="stumble") == {waiting}
    assert await ids(kind=["stumble", "greet"], state=["ready", "scheduled"]) >= {waiting, shared}
    assert len(await ids(parent=flow)) == 2
    assert await ids(org="acme") == {shared}
    assert await ids(created_after="2999-01-01T00:00:00Z") == set()
    assert done in await ids(created_before="2999-01-01T00:00:00Z")
    assert {job["id"] for job in (await api.user("bob", org="acme").get("/api/jobs?org=acme")).json()["jobs"]} == {
        shared
    }
    assert (await api.user("bob").get("/api/jobs?org=acme")).json()["jobs"] == []
    assert (await alice.get("/api/jobs?owner=bob")).status_code == 403
    assert len((await api.service.get("/api/jobs?owner=alice")).json()["jobs"]) == 6
    assert (await alice.get("/api/jobs?error=x")).status_code == 403


async def test_the_service_searches_by_queue_and_by_what_errors_say(api: Api, app: Penstock) -> None:
    fell = await api.user().start("stumble", how="badly")
    await adrain(app)
    ids = [await api.user().start("greet", name=str(n)) for n in range(3)]
    said = (await app.jobs.aget(UUID(fell))).last_error  # type: ignore[union-attr]
    assert said
    page = (await api.service.get("/api/jobs", params={"error": said[2:]})).json()
    assert [job["id"] for job in page["jobs"]] == [fell]
    assert (page["next_cursor"], page["searched_back_to"]) == (None, None)
    page = (await api.service.get("/api/jobs", params={"queue": "default", "limit": 2})).json()
    assert ([job["id"] for job in page["jobs"]], page["next_cursor"]) == (ids[:0:-1], ids[1])
    assert page["searched_back_to"] is not None
    page = (await api.service.get("/api/jobs", params={"cursor": page["next_cursor"]})).json()
    assert [job["id"] for job in page["jobs"]] == [ids[0], fell]


@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=0", "limit"), ("limit=1000", "limit"), ("cursor=x", "cursor"), ("state=odd", "state.0"),
     ("created_after=yesterday", "created_after"), ("parent=1", "parent")],
)  # fmt: skip
async def test_a_senseless_filter_is_named(api: Api, query: str, field: str) -> None:
    answer = await api.user().get(f"/api/jobs?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


async def test_cancelling_ends_a_job_and_is_the_same_twice(api: Api, app: Penstock) -> None:
    for asking in (api.user(), api.service):
        id = await asking.start("greet", name="x")
        for _ in range(2):
            answer = await asking.delete(f"/api/jobs/{id}")
            assert (answer.status_code, answer.json()) == (
                200,
                {"id": id, "state": "cancelled", "cancel_requested": False},
            )
        job = (await asking.get(f"/api/jobs/{id}")).json()
        assert job["state"] == "cancelled"
        assert job["error"].startswith("cancelled by")


async def test_what_has_ended_cannot_be_cancelled(api: Api, app: Penstock) -> None:
    id = await api.user().start("greet", name="x")
    await adrain(app)
    for asking in (api.user(), api.service):
        assert (await asking.delete(f"/api/jobs/{id}")).status_code == 409


async def test_a_failed_job_is_retried(api: Api, app: Penstock) -> None:
    for asking in (api.user(), api.service):
        id = await asking.start("stumble", how="badly")
        assert (await asking.post(f"/api/jobs/{id}/retry")).status_code == 409
        await adrain(app)
        answer = await asking.post(f"/api/jobs/{id}/retry")
        assert (answer.status_code, answer.json()) == (202, {"id": id, "state": "ready"})
        assert (await asking.get(f"/api/jobs/{id}")).json()["state"] == "ready"
        await asking.delete(f"/api/jobs/{id}")

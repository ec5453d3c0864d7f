"""A job asks a person: who may answer, and that one answer counts."""

import asyncio
from uuid import UUID, uuid4

import pytest

from penstock import Approval, Context, JobState, NothingAsked, Penstock, SyncContext
from penstock.errors import WaitTimeout
from penstock.testing import FakeClock, adrain
from tests.kit.fixtures import Connect
from tests.kit.until import until
from tests.server.api import Api
from tests.server.dashboard.browsing import Browser, token_of
from tests.server.dashboard.conftest import operator, stranger, web

__all__ = ["operator", "stranger", "web"]


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    async def ship(ctx: Context, order: str) -> Approval:
        return await ctx.approve(f"Ship {order}?", details={"order": order, "password": "x"})

    @app.job(users=True)
    def publish(ctx: SyncContext, hours: float = 1) -> str | None:
        try:
            return ctx.approve("Publish it?", by="owner", timeout=hours * 3600).comment
        except WaitTimeout:
            return "nobody came"

    @app.job
    async def ask_twice(ctx: Context) -> list[bool]:
        return [bool(await ctx.approve("May it?", name=name)) for name in ("one", "two")]

    return app


async def test_the_service_answers_once_and_sees_what_is_asked(api: Api, app: Penstock) -> None:
    ids = [await api.user().start("ship", order=order) for order in ("1", "2", "3")]
    await adrain(app)
    first = (await api.service.get("/api/approvals", params={"limit": 2})).json()
    rest = (await api.service.get("/api/approvals", params={"cursor": first["next_cursor"]})).json()
    assert [each["job"] for each in [*first["approvals"], *rest["approvals"]]] == ids
    assert rest["next_cursor"] is None
    for wrong in ("zzz", first["next_cursor"][1:], first["next_cursor"] + "\n"):
        refused = await api.service.get("/api/approvals", params={"cursor": wrong})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "cursor")
    shown = first["approvals"][0]
    assert (shown["question"], shown["details"]["order"], shown["owner"], shown["by"]) == (
        "Ship 1?", "1", "alice", "operator",
    )  # fmt: skip
    path = f"/api/jobs/{ids[0]}/approve"
    answers = await asyncio.gather(
        *(api.service.post(path, {"approved": yes, "comment": "so", "by": "grace"}) for yes in (True, True, True))
    )
    assert sorted(each.status_code for each in answers) == [200, 409, 409]
    await adrain(app)
    job = await app.jobs.aget(UUID(ids[0]))
    assert job is not None
    assert (job.state, job.output["approved"], job.output["by"], job.output["comment"]) == (
        JobState.SUCCEEDED, True, "grace", "so",
    )  # fmt: skip
    assert (await api.service.post(path, {"approved": False})).status_code == 409
    [line] = [each for each in await app.audit.alist() if each.target == ids[0]]
    assert (line.who, line.action, line.details["comment"]) == ("grace", "approve", "so")
    assert (await api.service.post(f"/api/jobs/{uuid4()}/approve", {"approved": True})).status_code == 404
    await app.jobs.acancel(UUID(ids[1]))
    assert (await api.service.post(f"/api/jobs/{ids[1]}/approve", {"approved": True})).status_code == 409
    assert [each["job"] for each in (await api.service.get("/api/approvals")).json()["approvals"]] == [ids[2]]


async def test_of_two_answers_at_once_the_second_waits_and_is_refused(app: Penstock, connect: Connect) -> None:
    handle = await app.handler("ship").aenqueue("1")
    await adrain(app)
    first, look = connect(), connect()

    async def second_waits() -> bool:
        waits = "datname = current_database() and wait_event_type = 'Lock'"
        [(waiting,)] = look.execute(f"select count(*) from pg_stat_activity where {waits}".encode()).fetchall()
        return bool(waiting)

    with first.transaction():
        first.execute("select penstock.approve(%s, true, 'ada')", [handle.id])
        second = asyncio.create_task(app.operator("bob").aapprove(handle.id, approved=False))
        await until(second_waits)
    with pytest.raises(NothingAsked):
        await second
    await adrain(app)
    assert (await handle.aresult(5)).by == "ada"


async def test_its_owner_answers_where_the_owner_is_asked_and_nobody_else(api: Api, app: Penstock) -> None:
    asked = await api.user("alice", org="acme").post("/api/jobs", {"kind": "publish", "org": "acme"})
    mine, others = asked.json()["id"], await api.user().start("ship", order="1")
    await adrain(app)
    yes = {"approved": True, "comment": "go"}
    for who, id, status in (
        (api.nobody, mine, 401),
        (api.user("bob"), mine, 404),
        (api.user("bob", org="acme"), mine, 403),
        (api.user("alice"), others, 403),
    ):
        refused = await who.post(f"/api/jobs/{id}/approve", yes)
        assert refused.status_code == status, refused.text
    seen = (await api.user().get(f"/api/jobs/{mine}/approval")).json()
    assert (seen["question"], seen["step"], seen["by"], seen["owner"]) == (
        "Publish it?",
        "approve: Publish it?",
        "owner",
        "alice",
    )
    assert (await api.service.get(f"/api/jobs/{others}/approval")).json()["question"] == "Ship 1?"
    for who, id, status in (
        (api.nobody, mine, 401),
        (api.user("bob"), mine, 404),
        (api.user("bob", org="acme"), mine, 404),
        (api.user("alice"), others, 404),
        (api.service, str(uuid4()), 404),
    ):
        hidden = await who.get(f"/api/jobs/{id}/approval")
        assert hidden.status_code == status, hidden.text
        assert "it?" not in hidden.text
    for body in (yes | {"by": "root"}, {}):
        assert (await api.user().post(f"/api/jobs/{mine}/approve", body)).status_code in (403, 422)
    for who in (api.nobody, api.user()):
        assert (await who.get("/api/approvals")).status_code in (401, 403)
    answers = [await api.user().post(f"/api/jobs/{mine}/approve", yes) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 409]
    assert (await api.user().get(f"/api/jobs/{mine}/approval")).status_code == 404, "it was answered"
    await adrain(app)
    assert (await api.user().get(f"/api/jobs/{mine}")).json()["output"] == "go"


async def test_an_answer_that_is_late_is_refused_and_so_is_one_to_another_question(api: Api, app: Penstock) -> None:
    with FakeClock(app) as clock:
        id = await api.user().start("publish", hours=2)
        both = await app.handler("ask_twice").aenqueue()
        await adrain(app)
        ada = app.operator("ada")
        for name, approved in (("one", True), ("two", False)):
            with pytest.raises(NothingAsked):
                await ada.aapprove(both.id, step="another")
            await ada.aapprove(both.id, step=name, approved=approved)
            await adrain(app)
        assert await both.aresult(5) == [True, False]
        clock.move(hours=3)
        await adrain(app)
        with pytest.raises(NothingAsked):
            await ada.aapprove(UUID(id))
        assert (await api.user().get(f"/api/jobs/{id}")).json()["output"] == "nobody came"


async def test_operators_answer_on_the_dashboard(app: Penstock, operator: Browser) -> None:
    handle = await app.handler("ship").aenqueue("<7>")
    await adrain(app)
    page = (await operator.get("/approvals")).text
    assert "Ship &lt;7&gt;?" in page
    assert '"x"' not in page
    form = {"job": str(handle.id), "step": "approve: Ship <7>?", "comment": "in stock"}
    await operator.do("/approvals/answer", "/approvals", answer="no", **form)
    again = await operator.do("/approvals/answer", "/", answer="yes", **form)
    assert again.status_code == 303
    await adrain(app)
    answered = await handle.aresult(5)
    assert (answered.approved, answered.comment) == (False, "in stock")
    assert "Nothing waits for a person" in (await operator.get("/approvals")).text
    assert "in stock" in (await operator.get("/audit")).text
    viewer = await operator.sign_in(token_of("vera", "viewer"))
    assert (await viewer.do("/approvals/answer", answer="yes", **form)).status_code == 403


async def test_a_jobs_page_tells_what_it_waits_for(app: Penstock, operator: Browser) -> None:
    @app.job
    async def pack() -> str:
        return "packed"

    @app.job
    async def sell(ctx: Context) -> None:
        await ctx.step("charge", str, "charged")
        await ctx.sleep(seconds=0)
        await ctx.call(pack)
        await ctx.wait_for("paid", key="7", timeout=3600)
        await ctx.approve("Ship it?")
        await ctx.sleep(days=3)

    handle = await sell.aenqueue()
    path = f"/jobs/{handle.id}"
    await adrain(app)
    page = (await operator.get(path)).text
    assert "waits for paid 7, at most until" in page
    [child] = (await app.jobs.alist(parent=handle.id)).jobs
    assert page.count(f"/jobs/{child.id}") >= 1
    assert page.index("charge") < page.index("sleep") < page.index("call pack")
    await app.aemit("paid", key="7", payload={"amount": 12})
    await adrain(app)
    page = (await operator.get(path)).text
    assert "waits for a person: Ship it?" in page
    assert "Answer it" in page
    assert "amount" in page
    await app.operator("ada").aapprove(handle.id)
    await adrain(app)
    assert "sleeps until" in (await operator.get(path)).text

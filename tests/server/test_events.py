"""Events over HTTP: a back end in any language tells a job what it waits for."""

import pytest

from penstock import Context, Penstock
from penstock.testing import adrain
from tests.server.api import Api


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True)
    async def wait(ctx: Context, order: str) -> object:
        return await ctx.wait_for("paid", key=order)

    return app


async def test_an_event_reaches_the_job_that_waits_or_will(api: Api, app: Penstock) -> None:
    id = await api.user().start("wait", order="7")
    await adrain(app)
    told = await api.service.post("/api/events", {"event": "paid", "key": "7", "payload": {"amount": 12}})
    assert (told.status_code, told.json()) == (202, {"job": id})
    kept = await api.service.post("/api/events", {"event": "paid", "key": "8", "keep": 60})
    assert (kept.status_code, kept.json()) == (202, {"job": None})
    later = await api.user().start("wait", order="8")
    await adrain(app)
    jobs = [(await api.user().get(f"/api/jobs/{each}")).json() for each in (id, later)]
    assert [(each["state"], each["output"]) for each in jobs] == [("succeeded", {"amount": 12}), ("succeeded", None)]


async def test_events_are_the_services_and_a_wrong_one_names_the_field(api: Api, app: Penstock) -> None:
    for who, status in ((api.nobody, 401), (api.user(), 403)):
        assert (await who.post("/api/events", {"event": "paid"})).status_code == status
    for body, field in (
        ({}, "event"),
        ({"event": ""}, "event"),
        ({"event": "ж" * 400}, "event"),
        ({"event": "penstock.approval"}, "event"),
        ({"event": "paid", "key": None}, "key"),
        ({"event": "paid", "key": "a\0"}, "key"),
        ({"event": "paid", "key": "k" * 501}, "key"),
        ({"event": "paid", "keep": -1}, "keep"),
        ({"event": "paid", "keep": True}, "keep"),
        ({"event": "paid", "sent": 1}, "sent"),
        ({"event": "paid", "payload": {"name": "a\0"}}, "payload.name"),
    ):
        refused = await api.service.post("/api/events", body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field), body
    id = await api.user().start("wait", order="")
    await adrain(app)
    assert (await api.user().get(f"/api/jobs/{id}")).json()["state"] == "blocked"

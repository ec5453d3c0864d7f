"""What operators do on pages: it happens, it is on record, and nobody else can."""

import html
import re
from uuid import UUID, uuid4

import pytest

from penstock import Fail, Penstock
from penstock.job import Job, JobState
from penstock.server import Server, ServerSettings
from tests.kit.until import until
from tests.server.dashboard.browsing import COOKIE, SAME, Browser, token_of


@pytest.fixture
async def failed(app: Penstock) -> UUID:
    @app.job(queue="mail")
    async def send(n: int = 0, fails: bool = False) -> Fail | None:
        return Fail("refused") if fails else None

    handle = await app.aenqueue(send.prepare(fails=True))
    await app.atick(queues={"mail": 1})
    return handle.id


async def enqueue(app: Penstock, count: int = 1, **options: object) -> list[UUID]:
    send = app.handler("send").using(**options)  # type: ignore[arg-type]
    return [handle.id for handle in await app.aenqueue_many([send.prepare(n=n) for n in range(count)])]


async def the(app: Penstock, id: UUID) -> Job:
    job = await app.jobs.aget(id)
    assert job is not None
    return job


async def last_line(app: Penstock) -> tuple[str, str, int | None]:
    [line] = await app.audit.alist(limit=1)
    return line.who, line.action, line.jobs


async def test_one_job_is_retried_moved_given_another_priority_cancelled_and_deleted(
    operator: Browser, app: Penstock, failed: UUID
) -> None:
    page = f"/jobs/{failed}"
    answer = await operator.do(f"{page}/retry", page)
    assert answer.headers["location"] == f"http://test{page}"
    assert "It is alive again." in (await operator.get(page)).text
    assert "It is alive again." not in (await operator.get(page)).text, "said once"
    assert (await the(app, failed)).state is JobState.READY
    assert await last_line(app) == ("the service key", "retry", 1)

    await operator.do(f"{page}/move", page, queue="slow lane")
    assert (await the(app, failed)).queue == "slow lane"
    await operator.do(f"{page}/priority", page, priority="7")
    assert (await the(app, failed)).priority == 7
    await operator.do(f"{page}/cancel", page, reason="no longer wanted")
    assert (await the(app, failed)).state is JobState.CANCELLED
    assert await last_line(app) == ("the service key", "cancel", 1)
    answer = await operator.do(f"{page}/purge", page)
    assert answer.headers["location"] == "http://test/jobs"
    assert await app.jobs.aget(failed) is None


async def test_a_queue_is_paused_resumed_and_limited(operator: Browser, app: Penstock, failed: UUID) -> None:
    async def settings() -> tuple[bool, dict[str, object]]:
        [queue] = [each for each in await app.queues.alist() if each.name == "mail"]
        return queue.paused, queue.settings

    await operator.do("/queues/pause", "/queues/mail", name="mail")
    assert (await settings())[0]
    assert await last_line(app) == ("the service key", "pause_queue", None)
    await operator.do("/queues/resume", "/queues/mail", name="mail")
    limits = {"max_running": "3", "rate": "100", "rate_period": "60", "max_running_per_key": ""}
    await operator.do("/queues/limits", "/queues/mail", name="mail", **limits)
    assert await settings() == (False, {"max_running": 3, "rate": 100, "rate_period": 60})
    seen = {f"seen-{key}": value for key, value in limits.items()}
    await operator.do("/queues/limits", "/queues/mail", name="mail", **limits, **seen | {"seen-rate": "5"})
    assert (await app.audit.alist(limit=1))[0].details == {"settings": {"rate": 100}}, "what is as it was seen stays"
    await operator.do("/queues/limits", "/queues/mail", name="mail", **limits, **seen)
    assert "Nothing was changed." in (await operator.get("/queues/mail")).text
    await operator.do("/queues/limits", "/queues/mail", name="mail", max_running="", rate="")
    assert (await settings())[1] == {}
    for wrong in ({"max_running": "many"}, {"max_running": "-1"}, {"rate_period": "x"}, {"name": " "}):
        answer = await operator.do("/queues/limits", "/queues/mail", **{"name": "mail", **wrong})
        assert answer.status_code == 422, wrong
        assert next(iter(wrong)) in answer.text
    assert (await settings())[1] == {}


async def test_many_are_changed_by_selection_or_by_filter_after_a_look_at_how_many(
    operator: Browser, app: Penstock, failed: UUID
) -> None:
    ids = await enqueue(app, 5)
    await enqueue(app, 3, queue="other")
    look = "/jobs/change?action=cancel&" + "&".join(f"ids={id}" for id in [*ids[:2], failed])
    page = html.unescape((await operator.get(look)).text)
    assert "Cancel 2 jobs?" in page
    assert "3 selected" in page

    def filter_on(page: str) -> str:
        found = re.search(r'name="filter" value="([^"]*)"', page)
        assert found
        return html.unescape(found[1])

    await operator.do("/jobs/change", look, action="cancel", filter=filter_on(page))
    assert [(await the(app, id)).state for id in ids] == [JobState.CANCELLED] * 2 + [JobState.READY] * 3

    look = "/jobs/change?action=set_priority&queue=mail&kind=send&state=ready"
    page = (await operator.get(look)).text
    assert "of 3 jobs?" in page
    await operator.do("/jobs/change", look, action="set_priority", filter=filter_on(page), priority="9")
    assert {(await the(app, id)).priority for id in ids[2:]} == {9}
    look = "/jobs/change?action=move&queue=mail"
    await operator.do("/jobs/change", look, action="move", filter="queue=mail&state=ready", to_queue="other")
    assert {(await the(app, id)).queue for id in ids[2:]} == {"other"}
    log = (await operator.get("/audit")).text
    assert (await operator.do("/operations/cancel", id="x")).status_code == 422
    assert (await operator.do("/operations/cancel")).status_code == 422
    for word in ("cancel", "set priority", "move", "the service key"):
        assert word in log


async def test_more_than_a_thousand_go_on_in_the_background_without_any_worker(
    operator: Browser, app: Penstock, failed: UUID
) -> None:
    await enqueue(app, 1200)
    look = "/jobs/change?action=cancel&queue=mail"
    assert "Cancel 1,200 jobs?" in (await operator.get(look)).text
    answer = await operator.do("/jobs/change", look, action="cancel", filter="queue=mail")
    page = answer.headers["location"].removeprefix("http://test")
    assert page.startswith("/operations/")
    shown = (await operator.get(page)).text
    assert "the service key" in shown
    operation = UUID(page.rpartition("/")[2])
    await until(lambda: app.operations.aget(operation), so=lambda found: found is not None and found.done == 1200)
    assert "1,200 changed" in (await operator.get(page)).text
    for missing in (uuid4(), "x"):
        answer = await operator.get(f"/operations/{missing}")
        assert answer.status_code == 404
        assert "there is no such operation" in answer.text
        assert '<a class="button" href="/audit">' in answer.text


async def test_a_server_that_starts_goes_on_with_what_was_under_way_without_any_worker(
    app: Penstock, settings: ServerSettings, failed: UUID
) -> None:
    await enqueue(app, 1200)
    operation = await app.operator("somebody").acancel(queue="mail")
    assert not operation.finished
    server = Server(app, settings)
    try:
        await server.get_ready()
        found = await until(lambda: app.operations.aget(operation.id), so=lambda found: found and found.finished)
        assert found is not None
        assert found.done == 1200
    finally:
        await server.aclose()


async def test_what_is_under_way_can_be_stopped(operator: Browser, app: Penstock, failed: UUID) -> None:
    await enqueue(app, 1200)
    operation = await app.operator("somebody").acancel(queue="mail")
    page = f"/operations/{operation.id}"
    assert "0 changed" in (await operator.get(page)).text
    await operator.do("/operations/cancel", page, id=str(operation.id))
    assert "cancelled" in (await operator.get(page)).text


async def test_a_filter_without_a_state_is_said_to_mean_what_failed(
    operator: Browser, app: Penstock, failed: UUID
) -> None:
    told = "Only those that failed"
    [done] = await enqueue(app, queue="done")
    await app.atick(queues={"done": 1})
    for action, verb in (("purge", "Delete"), ("retry", "Retry")):
        page = (await operator.get(f"/jobs/change?action={action}&queue=done")).text
        assert f"{verb} 0 jobs?" in page
        assert told in page
        assert "in a state for this" not in page
        assert 'href="/jobs?queue=done"' in page, "where a state can be chosen"
        assert told in (await operator.get(f"/jobs/change?action={action}&queue=mail")).text
        for exact in (f"ids={done}", "queue=done&state=succeeded"):
            assert told not in (await operator.get(f"/jobs/change?action={action}&{exact}")).text
    assert told not in (await operator.get("/jobs/change?action=cancel&queue=done")).text


@pytest.mark.parametrize("filter", ["", "ids=x", "state=dead", "a=b"])
async def test_nobody_changes_everything_by_leaving_out_a_word(operator: Browser, app: Penstock, filter: str) -> None:
    for path in (f"/jobs/change?action=purge&{filter}", "/jobs/change?action=explode&queue=a", "/jobs/change"):
        assert (await operator.get(path)).status_code == 422, path
    assert (await operator.do("/jobs/change", action="purge", filter=filter)).status_code == 422
    assert await app.audit.alist() == []


@pytest.mark.parametrize(
    ("path", "sent", "wrong"),
    [
        ("/jobs/change", {"action": "set_priority", "priority": "99999999999"}, "priority"),
        ("/jobs/change", {"action": "set_priority"}, "priority"),
        ("/jobs/change", {"action": "move", "to_queue": "\x00"}, "to_queue"),
        ("/jobs/change", {"action": "cancel", "reason": "\x00"}, "reason"),
        ("/jobs/{id}/priority", {"priority": "99999999999"}, "priority"),
        ("/jobs/{id}/move", {"queue": "\x00"}, "queue"),
        ("/queues/pause", {"name": "\x00"}, "name"),
        ("/queues/limits", {"name": "mail", "rate_period": "1e11"}, "rate_period"),
        ("/schedules/run", {"name": "\x00"}, "name"),
        ("/approvals/answer", {"answer": "yes", "job": str(uuid4()), "comment": "\x00"}, "comment"),
    ],
)
async def test_what_a_form_says_wrong_is_named_and_changes_nothing(
    operator: Browser, app: Penstock, failed: UUID, path: str, sent: dict[str, str], wrong: str
) -> None:
    await enqueue(app)
    answer = await operator.do(path.replace("{id}", str(failed)), filter="queue=mail", **sent)
    assert answer.status_code == 422
    assert f"<h1>{wrong}: must be" in answer.text
    assert await app.audit.alist() == []


@pytest.mark.parametrize(
    ("referrer", "back"),
    [
        ("http://test/jobs/change?action=move&queue=mail", "/jobs/change?action=move&amp;queue=mail"),
        ("http://test/queues/mail", "/queues/mail"),
        ("http://test//evil.example/jobs", "/queues"),
        ("https://evil.example/jobs", "/queues"),
        ("http://test/login?next=/jobs", "/queues"),
        ("http://[", "/queues"),
        ("", "/queues"),
    ],
)
async def test_a_refused_form_leads_back_to_the_page_that_it_stood_on(
    operator: Browser, referrer: str, back: str
) -> None:
    token = await operator.form_token()
    answer = await operator.send("/queues/limits", {**SAME, "Referer": referrer}, name=" ", token=token)
    assert answer.status_code == 422
    assert re.findall(r'<a class="button" href="([^"]*)"', answer.text) == [back]


async def test_to_show_secrets_is_on_record(operator: Browser, app: Penstock, failed: UUID) -> None:
    await operator.get(f"/jobs/{failed}?reveal=1")
    [line] = await app.audit.alist()
    assert (line.action, line.target) == ("reveal_secrets", str(failed))


def actions_of(web: Server) -> list[str]:
    assert web.dashboard is not None
    found = [route.path for route in web.dashboard.routes() if "POST" in (route.methods or ())]
    return [path for path in found if path not in ("/login", "/logout")]


async def test_a_viewer_sees_no_buttons_and_can_do_nothing(
    stranger: Browser, web: Server, app: Penstock, failed: UUID
) -> None:
    await stranger.sign_in(token_of("vera", "viewer"))
    for page in ("/", "/jobs", f"/jobs/{failed}", "/queues/mail", "/audit"):
        text = (await stranger.get(page)).text
        assert set(re.findall(r'method="post" action="([^"]+)"', text)) == {"/logout"}, page
        assert 'name="ids"' not in text
    assert (await stranger.get("/jobs/change?action=purge&queue=mail")).status_code == 403
    for path in actions_of(web):
        at = path.replace("{id}", str(failed))
        answer = await stranger.do(at, name="mail", queue="x", priority="1", action="purge", filter="queue=mail")
        assert answer.status_code == 403, path
    assert (await the(app, failed)).state is JobState.FAILED
    assert await app.audit.alist() == []


async def test_no_action_without_the_token_of_the_form_or_from_elsewhere(
    operator: Browser, web: Server, app: Penstock, failed: UUID
) -> None:
    assert web.dashboard is not None
    token, cookie = await operator.form_token(), operator.cookie
    another = web.dashboard.sessions.form_token(web.dashboard.sessions.open("eve", "operator"))
    form = {"name": "mail", "queue": "x", "priority": "1", "action": "purge", "filter": "queue=mail"}
    for path in actions_of(web):
        at = path.replace("{id}", str(failed))
        for sent in ({}, {"token": ""}, {"token": token[:-1]}, {"token": another}):
            assert (await operator.send(at, SAME, **form, **sent)).status_code == 403, path
        for site in ("cross-site", "same-site", "none"):
            answer = await operator.send(at, {"Sec-Fetch-Site": site}, **form, token=token)
            assert answer.status_code == 403, path
        json = await operator.client.post(at, json=form | {"token": token}, headers=SAME)
        assert json.status_code == 415, path
        assert (await operator.get(f"{at}?token={token}")).status_code in (404, 405, 422), "an address does nothing"
        operator.client.cookies.clear()
        assert (await operator.send(at, SAME, **form, token=token)).status_code == 303
        operator.cookie = cookie
    assert COOKIE in operator.client.cookies
    assert (await the(app, failed)).state is JobState.FAILED
    assert await app.audit.alist() == []

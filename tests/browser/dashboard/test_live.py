"""Pages of the dashboard that are open in a real Chromium, while what they show changes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, Route, expect

from penstock import batch
from penstock.engine import commands
from penstock.engine.commands.work import AlikeErrors
from penstock.server.dashboard.answers import FRESH
from penstock.server.dashboard.pages import errors
from penstock.worker.maintenance import Maintenance
from tests.browser.dashboard.scene import Scene
from tests.browser.dashboard.test_actions import an_operation
from tests.kit.browser import IN_A_BROWSER
from tests.kit.until import until

pytestmark = IN_A_BROWSER
expect.set_options(timeout=20_000)


async def a_queue(shown: Scene, name: str) -> None:
    await shown.app.queues.aset(name, max_running=1)


async def a_worker(shown: Scene, name: str) -> None:
    await shown.app.engine.arun(commands.OpenLease(name, queues=["mail"]))


async def a_schedule(shown: Scene, name: str) -> None:
    await shown.app.schedules.aset(name, "0 8 * * MON", "send_mail", {"to": "x@example.com"})


async def a_question(shown: Scene, version: str) -> None:
    await shown.app.aenqueue(shown.app.handler("publish_release").prepare(version=version))


async def an_event(shown: Scene, name: str) -> None:
    await shown.app.aemit(name, key="1")


async def an_action(shown: Scene, who: str) -> None:
    await shown.app.operator(who).acancel(ids=[shown.scheduled], kind="nothing")


async def an_error(shown: Scene, message: str) -> None:
    lease = await shown.app.engine.arun(commands.OpenLease("fails", seconds=1))
    alike = AlikeErrors("send_mail", "mail", message, attempts=1, jobs=1, example=shown.failed)
    await shown.app.engine.arun(commands.ReportStatistics(lease, errors=[alike]))
    await shown.app.engine.arun(commands.Maintain())


async def a_run(shown: Scene, org: str) -> None:
    await shown.app.aenqueue(shown.app.handler("collect").using(org=org).prepare())


@pytest.mark.parametrize(
    ("path", "region", "change"),
    [
        ("/queues", "queues", a_queue),
        ("/queues/mail", "workers", a_worker),
        ("/workers", "workers", a_worker),
        ("/schedules", "schedules", a_schedule),
        ("/approvals", "approvals", a_question),
        ("/approvals", "events", an_event),
        ("/audit", "operations", an_action),
        ("/audit", "lines", an_action),
        ("/errors", "errors", an_error),
        ("/usage", "usage", a_run),
    ],
)
async def test_an_open_page_shows_what_is_new(
    shown: Scene,
    operator: Page,
    path: str,
    region: str,
    change: Callable[[Scene, str], Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(errors, "GOOD_FOR", FRESH)
    await operator.goto(f"{shown.address}{path}")
    place, new = operator.locator(f"[data-live={region}]"), f"seen on {path} in {region}"
    await expect(place).not_to_contain_text(new)
    await change(shown, new)
    await expect(place).to_contain_text(new)


async def test_the_pages_of_a_flow_and_of_a_change_follow_it_to_the_end(
    shown: Scene, operator: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect, call = (shown.app.handler(kind) for kind in ("collect", "transcribe_call"))
    flow = await shown.app.aenqueue(batch([collect.prepare(), call.prepare(recording="flow.ogg")]))
    await operator.goto(f"{shown.address}/flows/{flow.id}")
    await expect(operator.locator("[data-live=graph] .is-running")).to_have_count(1)
    shown.goes_on["flow.ogg"].set()
    await expect(operator.locator("[data-live=head]")).to_contain_text("succeeded")
    await expect(operator.locator("[data-live=graph] .is-running")).to_have_count(0)

    with monkeypatch.context() as held:
        held.setattr(Maintenance, "_operate", lambda _: asyncio.sleep(0.1))
        await operator.goto(f"{shown.address}/operations/{await an_operation(shown)}")
        await expect(operator.locator("h1 .state")).to_have_text("running")
    await expect(operator.locator("h1 .state")).to_have_text("done")
    await expect(operator.get_by_role("button", name="Stop")).to_have_count(0)


async def test_the_overview_is_live_and_leaves_focus_and_typing_alone(shown: Scene, operator: Page) -> None:
    await expect(operator.locator("penstock-live")).to_have_attribute("data-state", "live")
    await operator.keyboard.press("/")
    await operator.keyboard.type("timed out")
    await operator.evaluate("globalThis.kept = document.querySelector('[data-live=queues] table')")
    await shown.app.queues.aset("seen-live", max_running=2)
    await expect(operator.locator("[data-live=queues]")).to_contain_text("seen-live")
    assert await operator.evaluate("kept.isConnected"), "what is the same stays the same element"
    await expect(operator.locator("#search")).to_be_focused()
    await expect(operator.locator("#search")).to_have_value("timed out")
    await operator.keyboard.press("Enter")
    await expect(operator.locator("#error")).to_have_value("timed out")


async def test_a_page_that_nobody_sees_has_no_stream(shown: Scene, operator: Page) -> None:
    """A browser has six connections to a server: the seventh tab would wait for ever."""
    dashboard = shown.served.server.dashboard
    assert dashboard is not None
    await until(lambda: dashboard.live.watchers == 1)
    for hidden, watchers in (("true", 0), ("false", 1)):
        await operator.evaluate(
            f"Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        await until(lambda wanted=watchers: dashboard.live.watchers == wanted)  # type: ignore[misc]


async def test_a_job_page_follows_its_job_to_the_end(shown: Scene, operator: Page) -> None:
    handle = await shown.app.aenqueue(shown.app.handler("transcribe_call").prepare(recording="live.ogg"))
    await operator.goto(f"{shown.address}/jobs/{handle.id}")
    await expect(operator.locator("progress")).to_have_attribute("value", "42.0")
    await expect(operator.locator("main")).to_contain_text("worker-berlin-1")
    shown.goes_on["live.ogg"].set()
    await expect(operator.locator("h1")).to_contain_text("succeeded")
    await expect(operator.locator("main")).to_contain_text("They agreed to meet on Thursday.")


async def test_files_that_are_made_while_one_looks_are_shown_like_those_of_before(shown: Scene, operator: Page) -> None:
    await shown.app.queues.apause("exports")
    handle = await shown.app.aenqueue(shown.app.handler("render_invoice").prepare(number=7))
    await operator.goto(f"{shown.address}/jobs/{handle.id}")
    await expect(operator.locator("penstock-live")).to_have_attribute("data-state", "live")
    await shown.app.queues.aresume("exports")
    files = operator.locator("[data-live=files]")
    await expect(files.get_by_role("link", name="invoice-7.pdf")).to_be_visible()
    shows_pdf = await operator.evaluate("navigator.pdfViewerEnabled")
    await expect(files.locator("[data-pdf]")).to_be_visible(visible=shows_pdf)
    await files.locator("li", has_text="lines.json").locator("summary").click()
    await expect(files.get_by_text("Consulting")).to_be_visible()


@pytest.mark.parametrize("status", [502, 404])
async def test_a_stream_that_is_refused_for_a_while_is_asked_for_again(
    shown: Scene, operator: Page, status: int
) -> None:
    """As by a proxy while the server behind it is replaced, whatever that says."""
    asked: list[str] = []

    async def refuse(route: Route) -> None:
        asked.append(route.request.resource_type)
        await route.fulfill(status=status, content_type="text/html", body="nobody is here")

    async def seconds_pass() -> str | None:
        await operator.clock.run_for(5000)
        return await operator.locator("penstock-live").get_attribute("data-state")

    await operator.clock.install()
    await operator.route("**/dashboard/events*", refuse)
    await operator.goto(f"{shown.address}/queues")
    await until(seconds_pass, so=lambda _: asked.count("eventsource") > 2)
    await operator.unroute("**/dashboard/events*")
    await until(seconds_pass, so=lambda state: state == "live")


async def test_who_is_signed_out_is_told_to_open_the_page_again(shown: Scene, operator: Page) -> None:
    live = operator.locator("penstock-live")
    await expect(live).to_have_attribute("data-state", "live")
    await operator.context.clear_cookies()
    await operator.evaluate("dispatchEvent(new Event('pagehide')); dispatchEvent(new Event('pageshow'))")
    await expect(live).to_have_attribute("data-state", "over")


async def test_all_on_a_page_are_selected_and_those_stay_that_leave_the_list(shown: Scene, operator: Page) -> None:
    mail = shown.app.handler("send_mail").using(delay=3600, queue="chosen")
    handles = await shown.app.aenqueue_many([mail.prepare(to=f"{n}@example.com") for n in range(3)])
    await operator.goto(f"{shown.address}/jobs?queue=chosen&state=scheduled")
    table, rows = operator.locator("[data-live=jobs]"), operator.locator("[data-live=jobs] tbody tr")
    all, selected = operator.get_by_label("Select all on this page"), operator.locator("#change .label")
    await all.check()
    await expect(selected).to_have_text("3 selected")
    await operator.uncheck(f"input[value='{handles[0].id}']")
    await expect(selected).to_have_text("2 selected")
    await expect(all).to_have_js_property("indeterminate", True)
    ada = shown.app.operator("ada")
    await ada.acancel(ids=[handle.id for handle in handles[:2]])
    await expect(operator.locator("tr[data-gone]")).to_have_count(1)
    await expect(rows).to_have_count(2)
    await expect(all).to_be_checked()
    await ada.acancel(ids=[handles[2].id])
    await expect(table).to_contain_text("No job fits")
    await expect(rows).to_have_count(2)
    await expect(selected).to_have_text("2 selected")
    await operator.click(f"input[value='{handles[1].id}']")
    await expect(rows).to_have_count(1)
    await shown.app.aenqueue(mail.prepare(to="new@example.com"))
    await expect(table).not_to_contain_text("No job fits")
    await expect(rows).to_have_count(2)
    await all.check()
    await all.uncheck()
    await expect(rows).to_have_count(1)
    await expect(selected).to_have_text("Select jobs to change them")
    await expect(operator.get_by_role("button", name="Retry", exact=True)).to_be_disabled()


async def test_a_dialog_stays_with_its_row_when_rows_come_and_go(shown: Scene, operator: Page) -> None:
    """Also as a modal one: an element that is moved is none any more."""
    schedules = shown.app.schedules
    for name in ("m of it", "n"):
        await schedules.aset(name, "0 8 * * MON", "send_mail", {"to": "x@example.com"})
    await operator.goto(f"{shown.address}/schedules")
    await operator.locator('tr[data-key="n"]').get_by_role("button", name="Run now").click()
    dialog = operator.locator('tr[data-key="n"] dialog:modal')
    await expect(dialog).to_be_visible()
    await schedules.aset("a", "0 8 * * MON", "send_mail", {"to": "x@example.com"})
    await expect(operator.locator('tr[data-key="a"]')).to_have_count(1)
    await expect(dialog).to_be_visible()
    await schedules.aremove("m of it")
    await expect(operator.locator('tr[data-key="m of it"]')).to_have_count(0)
    await expect(dialog).to_be_visible()
    await expect(dialog).to_have_accessible_name("Run n now?")
    await schedules.aremove("a")
    await schedules.aremove("n")


async def test_limits_that_somebody_else_sets_meanwhile_stay(shown: Scene, operator: Page) -> None:
    await shown.app.queues.aset("shared", max_running=5, rate=10, rate_period=60)
    await operator.goto(f"{shown.address}/queues/shared")
    await operator.get_by_role("button", name="Limits").click()
    await operator.fill("#max_running", "7")
    await shown.app.queues.aset("shared", rate=99, max_running_per_key=2)
    await expect(operator.locator("#rate")).to_have_value("99")
    await expect(operator.locator("#max_running")).to_have_value("7")
    await operator.get_by_role("button", name="Change the limits").click()
    await expect(operator.get_by_role("status")).to_be_visible()
    [queue] = [queue for queue in await shown.app.queues.alist() if queue.name == "shared"]
    assert queue.settings == {"max_running": 7, "rate": 99, "rate_period": 60, "max_running_per_key": 2}

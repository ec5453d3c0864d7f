"""Pages of the dashboard that are open in a real Chromium, while what they show changes."""

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.dashboard.scene import Scene
from tests.kit.browser import IN_A_BROWSER
from tests.kit.until import until

pytestmark = IN_A_BROWSER
expect.set_options(timeout=20_000)


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

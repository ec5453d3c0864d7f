"""The dashboard in a real Chromium: live, by keyboard, in both themes, on a phone, as operator, viewer and stranger."""

import io

import pytest
from axe_playwright_python.async_playwright import Axe
from PIL import Image
from playwright.async_api import Page, expect

from penstock.job import JobState
from tests.browser.dashboard.conftest import sign_in
from tests.browser.dashboard.scene import Scene
from tests.browser.dashboard.screenshots import pages
from tests.kit.browser import DESK, IN_A_BROWSER, PHONE, refuse_barriers
from tests.kit.serving import KEY
from tests.kit.until import until
from tests.server.dashboard.browsing import token_of

pytestmark = IN_A_BROWSER
expect.set_options(timeout=20_000)

ALIKE = ("jobs", "job-running", "job-flow", "queues", "flow", "missing")
"""Pages that have nothing on them which another has not."""
WIDE = ("overview", "jobs-failed", "job-failed", "flow-wide", "workers", "schedules", "approvals", "errors")
"""Those that are laid out otherwise on a large screen."""


async def test_a_stranger_signs_in_and_out(shown: Scene, tab: Page) -> None:
    await tab.goto(f"{shown.address}/jobs?state=failed")
    await expect(tab).to_have_title("Sign in · Penstock")
    await tab.keyboard.type("wrong")
    await tab.keyboard.press("Enter")
    await expect(tab.get_by_role("alert")).to_contain_text("That did not work")
    await refuse_barriers(tab)
    await tab.fill("#credential", KEY)
    await tab.keyboard.press("Enter")
    await expect(tab).to_have_url(f"{shown.address}/jobs?state=failed")
    assert await tab.evaluate("document.cookie") == "", "no script reads the session"
    await tab.click("text=Sign out")
    await tab.goto(f"{shown.address}/")
    await expect(tab).to_have_title("Sign in · Penstock")


async def test_the_first_job_of_all_is_seen_in_a_chart(shown: Scene, operator: Page) -> None:
    """One minute alone makes no line, and there is no half of a failure."""
    drawn = """(chart) => {
        const points = JSON.parse(chart.dataset.points);
        const values = points.times.map((_, at) => at === 3 && chart.dataset.kind !== "bars" ? 2 : null);
        points.series.forEach((each) => { each.values = values; });
        chart.dataset.points = JSON.stringify(points);
        const axis = [...chart.querySelectorAll(".axis")].map((each) => each.textContent);
        return [chart.querySelectorAll("circle.point").length, axis];
    }"""
    took = operator.locator("penstock-chart[data-kind=line]").first
    failures = operator.locator("penstock-chart[data-kind=bars]").first
    assert (await took.evaluate(drawn))[0] == 3
    assert (await failures.evaluate(drawn))[1][:2] == ["0", "1"]


async def test_one_job_is_cancelled_by_a_dialog_and_an_open_one_survives_updates(shown: Scene, operator: Page) -> None:
    mail = shown.app.handler("send_mail").using(delay=3600)
    handle = await shown.app.aenqueue(mail.prepare(to="x@example.com"))
    await operator.goto(f"{shown.address}/jobs/{handle.id}")
    await operator.get_by_role("button", name="Cancel").click()
    await operator.keyboard.press("Escape")
    await expect(operator.locator("dialog[open]")).to_have_count(0)
    await operator.get_by_role("button", name="Cancel").click()
    await operator.fill("#cancel-reason", "not needed")
    await shown.app.operator("ada").aset_priority(5, ids=[handle.id])
    await expect(operator.locator("[data-live=facts]")).to_contain_text("Priority5")
    await expect(operator.locator("#cancel-reason")).to_have_value("not needed")
    await operator.get_by_role("button", name="Cancel the job").click()
    await expect(operator.get_by_role("status")).to_contain_text("It is cancelled")
    job = await shown.app.jobs.aget(handle.id)
    assert job is not None
    assert job.state is JobState.CANCELLED


async def test_the_id_of_a_job_is_copied(shown: Scene, operator: Page) -> None:
    await operator.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await operator.goto(f"{shown.address}/jobs/{shown.failed}")
    await operator.get_by_role("button", name="Copy the id").click()
    await until(lambda: operator.evaluate("navigator.clipboard.readText()"), so=str(shown.failed).__eq__)


async def test_a_selection_is_changed_after_a_look_at_how_many(shown: Scene, operator: Page) -> None:
    mail = shown.app.handler("send_mail").using(delay=3600, queue="picked")
    handles = await shown.app.aenqueue_many([mail.prepare(to=f"{n}@example.com") for n in range(3)])
    await operator.goto(f"{shown.address}/jobs?queue=picked")
    await expect(operator.get_by_role("button", name="Priority", exact=True)).to_be_disabled()
    for handle in handles[:2]:
        await operator.check(f"input[value='{handle.id}']")
    await expect(operator.locator("#change")).to_contain_text("2 selected")
    await operator.get_by_role("button", name="Priority", exact=True).click()
    await expect(operator.locator("h1")).to_have_text("Change priority of 2 jobs?")
    await operator.fill("#priority", "11")
    await operator.get_by_role("button", name="Change priority of them").click()
    await expect(operator.get_by_role("status")).to_contain_text("2 of 2 jobs changed")
    jobs = [await shown.app.jobs.aget(handle.id) for handle in handles]
    assert [job.priority for job in jobs if job] == [11, 11, 0]


async def test_a_filter_takes_the_states_that_are_ticked_and_no_empty_field(shown: Scene, operator: Page) -> None:
    await operator.goto(f"{shown.address}/jobs")
    for state in ("failed", "cancelled"):
        await operator.locator(".filters").get_by_text(state, exact=True).click()
    await operator.fill("#queue", "mail")
    await operator.get_by_role("button", name="Find").click()
    await expect(operator).to_have_url(f"{shown.address}/jobs?state=failed&state=cancelled&queue=mail")
    await expect(operator.locator(".filters input[name=state]:checked")).to_have_count(2)
    await expect(operator.locator("[data-live=jobs] .state.is-failed").first).to_be_visible()
    await expect(operator.locator("[data-live=jobs] .state:not(.is-failed, .is-cancelled)")).to_have_count(0)


async def test_a_queue_is_paused_and_resumed(shown: Scene, operator: Page) -> None:
    async def paused() -> bool:
        return any(queue.paused for queue in await shown.app.queues.alist() if queue.name == "default")

    await operator.goto(f"{shown.address}/queues/default")
    await operator.get_by_role("button", name="Pause").click()
    await operator.get_by_role("button", name="Pause it").click()
    await expect(operator.locator("h1")).to_contain_text("paused")
    await until(paused)
    await operator.get_by_role("button", name="Resume").click()
    await operator.locator("dialog[open]").get_by_role("button", name="Resume").click()
    await expect(operator.locator("h1")).not_to_contain_text("paused")


async def test_a_viewer_reads_and_finds_nothing_to_press(shown: Scene, tab: Page) -> None:
    await sign_in(tab, shown, token_of("vera", "viewer"))
    await tab.goto(f"{shown.address}/jobs/{shown.failed}")
    await expect(tab.locator("main")).to_contain_text("connection refused")
    await expect(tab.locator("main dialog")).to_have_count(0)
    await expect(tab.get_by_role("button", name="Retry")).to_have_count(0)
    await expect(tab.locator("main")).not_to_contain_text("sk-live")


async def test_every_page_fits_a_phone_and_keeps_nobody_out(shown: Scene, operator: Page) -> None:
    await operator.set_viewport_size(PHONE)
    for name, path in pages(shown).items():
        await operator.goto(f"{shown.address}{path}")
        wide = await operator.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} px wider than a phone"
        cards = operator.locator(".scroll:has(> .stacks)")
        cut = await cards.evaluate_all("cards => cards.filter((each) => each.scrollWidth > each.clientWidth).length")
        assert cut == 0, f"a card of {name} is cut off"
        if name not in ALIKE:
            await refuse_barriers(operator)


async def test_what_belongs_together_stands_in_line(shown: Scene, operator: Page) -> None:
    """Charts beside each other, however many lines their legends take; on a phone a state and its job."""

    async def places(selector: str, side: str) -> set[float]:
        found = operator.locator(selector)
        await found.last.wait_for()
        return set(await found.evaluate_all(f"all => all.map((each) => each.getBoundingClientRect().{side})"))

    await operator.set_viewport_size(DESK)
    assert len(await places(".drawing > svg", "top")) == 1
    await operator.set_viewport_size(PHONE)
    await operator.goto(f"{shown.address}/jobs/{shown.flow}")
    assert len(await places("tr > .what, tr > .what > .state", "left")) == 1


async def test_at_a_desk_no_page_keeps_anybody_out_nor_does_a_dialog(shown: Scene, operator: Page) -> None:
    """The phone's layout is another one: there are tables here, a rail, and wide drawings."""
    await operator.set_viewport_size(DESK)
    there = pages(shown)
    for name in WIDE:
        await operator.goto(f"{shown.address}{there[name]}")
        found = await Axe().run(operator)
        assert found.violations_count == 0, (name, found.generate_report())
    await operator.goto(f"{shown.address}/queues/mail")
    await operator.get_by_role("button", name="Limits").click()
    await expect(operator.locator("dialog[open]")).to_be_visible()
    await refuse_barriers(operator)


async def test_where_colours_are_the_readers_own_one_sees_how_far_a_job_is_and_whether_the_page_is_live(
    shown: Scene, operator: Page
) -> None:
    await operator.goto(f"{shown.address}/jobs/{shown.running}")
    await expect(operator.locator("penstock-live")).to_have_attribute("data-state", "live")
    await operator.emulate_media(forced_colors="active")
    done, rest = await colours(operator, "main progress", 0.2, 0.8)
    assert done != rest, "42 % of it are filled"
    dot, beside = await colours(operator, ".live .dot", 0.5, 0.0)
    assert dot != beside
    await operator.emulate_media(forced_colors="none")


async def colours(tab: Page, selector: str, *places: float) -> list[object]:
    """Of an element in the middle of its height, at so much of its width."""
    taken = Image.open(io.BytesIO(await tab.locator(selector).first.screenshot())).convert("RGB")
    heights = (taken.height // 2 if place else 0 for place in places)
    return [taken.getpixel((int(taken.width * place), y)) for place, y in zip(places, heights, strict=True)]


async def test_the_theme_is_chosen_and_stays(shown: Scene, operator: Page) -> None:
    async def paper() -> str:
        return str(await operator.evaluate("getComputedStyle(document.body).backgroundColor"))

    before = await paper()
    await operator.click("[data-theme-switch]")
    after = await paper()
    assert after != before
    await operator.goto(f"{shown.address}/jobs")
    assert await paper() == after


async def test_the_keyboard_reaches_the_content(shown: Scene, operator: Page) -> None:
    await operator.goto(f"{shown.address}/queues")
    await operator.keyboard.press("Tab")
    await expect(operator.locator(".skip")).to_be_focused()
    await operator.keyboard.press("Enter")
    await expect(operator.locator("#content")).to_be_focused()
    await operator.keyboard.press("Tab")
    await expect(operator.locator("main a").first).to_be_focused()


@pytest.mark.parametrize("file", ["chart.png", "beep.wav"])
async def test_files_are_shown_on_the_page(shown: Scene, operator: Page, file: str) -> None:
    await operator.goto(f"{shown.address}/jobs/{shown.succeeded}")
    await expect(operator.locator("main")).to_contain_text(file)
    if file == "chart.png":
        await until(lambda: operator.evaluate("document.querySelector('.files img').naturalWidth === 320"))
    else:
        await operator.evaluate("document.querySelector('audio').load()")
        await operator.evaluate("document.querySelector('audio').preload = 'auto'")
        await until(lambda: operator.evaluate("document.querySelector('audio').readyState > 0"))


async def test_a_pdf_is_shown_where_the_browser_can_and_offered_only_there(shown: Scene, operator: Page) -> None:
    """Debian's headless shell has no viewer of PDF: told that it has one, it asks for the file in the frame, as our
    policy lets it, and saves what it gets. A whole Chromium (PENSTOCK_CHROMIUM) shows it."""
    page = f"{shown.address}/jobs/{shown.succeeded}"
    await operator.goto(page)
    preview = operator.locator("[data-pdf]")
    await expect(operator.locator("main")).to_contain_text("invoice-2041.pdf")
    if await operator.evaluate("navigator.pdfViewerEnabled"):
        await preview.locator("summary").click()
        await until(lambda: any(each.url.startswith("chrome-extension:") for each in operator.frames))
        return
    await expect(preview).to_be_hidden()
    await operator.add_init_script("Object.defineProperty(navigator, 'pdfViewerEnabled', {value: true})")
    await operator.goto(page)
    async with operator.expect_download() as saved:
        await preview.locator("summary").click()
    file = await saved.value
    assert (file.suggested_filename[-4:], await file.failure()) == (".pdf", None)

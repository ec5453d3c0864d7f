"""<penstock-progress>: what it shows, says and tells, in each state of a job."""

from typing import Any

from playwright.async_api import Page, expect

from tests.browser.site import Site
from tests.browser.test_module import start
from tests.kit.browser import IN_A_BROWSER, refuse_barriers
from tests.kit.until import until

pytestmark = IN_A_BROWSER

ADD = """
({job, more}) => {
  const element = document.createElement('penstock-progress');
  for (const [name, value] of Object.entries({job, ...more})) element.setAttribute(name, value);
  globalThis.told = [];
  for (const name of ['progress', 'succeeded', 'failed', 'cancelled', 'problem']) {
    document.addEventListener(name, event => told.push([name, event.detail.state ?? event.detail.message]));
  }
  document.querySelector('#here').replaceChildren(element);
}
"""


async def add(page: Page, job: str, **more: str) -> None:
    await page.evaluate(ADD, {"job": job, "more": more})


async def told(page: Page) -> list[list[str]]:
    return list(await page.evaluate("globalThis.told"))


def part(page: Page, name: str) -> Any:
    return page.locator(f"penstock-progress [part={name}]")


async def test_a_job_that_succeeds(opened: Page, tried: Site) -> None:
    id = await start(opened, name="shown", steps_to_go=4)
    await add(opened, id, label="To the top", cancel="")
    bar = opened.get_by_role("progressbar", name="To the top")
    await expect(part(opened, "state")).to_have_text("Running")
    await expect(part(opened, "message")).to_have_text("Step 1")
    tried.let("shown", 2)
    await expect(bar).to_have_attribute("aria-valuenow", "50")
    await expect(part(opened, "count")).to_have_text("2 of 4")
    await expect(part(opened, "phase")).to_have_text("up")
    await expect(part(opened, "cancel")).to_be_visible()
    tried.let("shown", 2)
    await expect(part(opened, "state")).to_have_text("Done")
    await expect(bar).to_have_attribute("aria-valuenow", "100")
    await expect(part(opened, "cancel")).to_be_hidden()
    link = part(opened, "artifact")
    await expect(link).to_have_text("view.txt")
    answer = await opened.request.get(str(await link.get_attribute("href")))
    assert await answer.body() == b"far and wide"
    await expect(opened.get_by_role("status")).to_contain_text("To the top: Done")
    names = [name for name, _ in await told(opened)]
    assert (names[0], names[-1]) == ("progress", "succeeded")
    assert names.count("succeeded") == 1


async def test_a_job_that_is_tried_again_and_fails(opened: Page, tried: Site) -> None:
    id = await start(opened, name="falls", steps_to_go=1, fail="the rope broke", stumble=True)
    await add(opened, id, retry="")
    tried.let("falls", 1)
    await expect(part(opened, "attempt")).to_contain_text("Attempt 2 of 3")
    tried.let("falls", 1)
    await expect(part(opened, "state")).to_have_text("Failed")
    await expect(part(opened, "message")).to_have_text("the rope broke")
    await expect(part(opened, "attempt")).to_be_hidden()
    await opened.get_by_role("button", name="Try again").click()
    await expect(part(opened, "state")).to_have_text("Running")
    tried.let("falls", 3)
    await expect(part(opened, "state")).to_have_text("Failed")


async def test_the_button_stops_a_job(opened: Page, tried: Site) -> None:
    id = await start(opened, name="stops")
    await add(opened, id, cancel="")
    await opened.get_by_role("button", name="Cancel").press("Enter")
    await expect(part(opened, "state")).to_have_text("Cancelled")
    assert (await told(opened))[-1] == ["cancelled", "cancelled"]


async def test_a_job_that_is_not_there(opened: Page) -> None:
    await add(opened, "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f")
    await expect(opened.get_by_role("alert")).to_contain_text("no such job")
    await expect(opened.locator("penstock-progress")).to_have_attribute("data-state", "problem")
    [[name, message]] = await told(opened)
    assert name == "problem"
    assert "no such job" in message


async def test_another_job_in_its_place_and_none(opened: Page, tried: Site) -> None:
    first, second = [await start(opened, name="each", steps_to_go=1) for _ in range(2)]
    await add(opened, first, label="One")
    await until(lambda: tried.served.hub.watchers, so=lambda count: count == 1)
    await opened.evaluate("id => { document.querySelector('penstock-progress').job = id }", second)
    await expect(part(opened, "state")).to_have_text("Running")
    await opened.evaluate("document.querySelector('penstock-progress').remove()")
    await until(lambda: tried.served.hub.watchers, so=lambda count: count == 0)
    tried.let("each", 2)


async def test_everybody_can_use_it(opened: Page, tried: Site) -> None:
    id = await start(opened, name="anybody", steps_to_go=0, fail="no rope")
    await add(opened, id, label="To the top", retry="")
    await expect(part(opened, "state")).to_have_text("Failed")
    await refuse_barriers(opened)


async def test_where_colours_are_the_readers_own_one_still_sees_how_far_it_is(opened: Page, tried: Site) -> None:
    """Forced colours paint every background alike: the bar would be empty at any percentage."""
    await opened.emulate_media(forced_colors="active")
    id = await start(opened, name="forced", steps_to_go=2)
    await add(opened, id)
    await expect(part(opened, "state")).to_have_text("Running")

    async def background(of: str, pseudo: str | None = None) -> str:
        find = f"document.querySelector('penstock-progress').shadowRoot.querySelector('[part={of}]')"
        return str(await opened.evaluate(f"pseudo => getComputedStyle({find}, pseudo).backgroundColor", pseudo))

    assert await background("fill") != await background("bar")
    await opened.evaluate(
        "document.querySelector('penstock-progress').shadowRoot.querySelector('[part=bar]').classList.add('waiting')"
    )
    assert await background("bar", "::after") == await background("fill"), "what waits is drawn alike"
    tried.let("forced", 2)
    await expect(part(opened, "state")).to_have_text("Done")

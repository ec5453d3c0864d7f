"""Each page as somebody uses it: the form, the progress, the result; and that anybody can."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from calls.providers import recording
from pages.site import SAID, Site
from penstock.server.auth import mint
from tests.kit.browser import IN_A_BROWSER, PHONE, refuse_barriers
from tests.kit.until import soon

pytestmark = IN_A_BROWSER
WITHIN = 60_000
"""Milliseconds that a whole recipe may take, on a machine that has other work."""


@pytest.fixture(autouse=True)
def patience() -> None:
    expect.set_options(timeout=WITHIN)


async def open_page(tab: Page, recipes: Site, path: str) -> None:
    await tab.goto(recipes.link(path))
    await expect(tab.locator("main")).to_be_visible()
    assert tab.url == recipes.served.address + path, "the code is gone from the address"


async def check_looks(tab: Page) -> None:
    """In both themes, and on a telephone, where nothing may stick out."""
    await refuse_barriers(tab)
    await tab.set_viewport_size(PHONE)
    wide = await tab.evaluate("document.documentElement.scrollWidth")
    assert wide <= PHONE["width"]


async def list_follows(tab: Page, end: str, path: str) -> None:
    """A list beside what is followed is asked for again when that has ended so."""
    async with tab.expect_response(lambda answer: path in answer.url):
        detail = "{ detail: { artifacts: [] } }"
        await tab.locator("penstock-progress").evaluate(
            f"each => each.dispatchEvent(new CustomEvent('{end}', {detail}))"
        )


async def has_loaded(tab: Page, selector: str) -> None:
    await tab.wait_for_function(
        "selector => { const all = [...document.querySelectorAll(selector)];"
        " return all.length && all.every(each => each.complete && each.naturalWidth) }",
        arg=selector,
        timeout=WITHIN,
    )


async def test_exports(tab: Page, recipes: Site) -> None:
    shown_without: list[bool] = []

    async def look_first(route: Route) -> None:
        shown_without.append(await tab.locator("main").is_visible())
        await route.continue_()

    await tab.route("**/exports/samples.json", look_first)
    await open_page(tab, recipes, "/exports")
    assert shown_without == [False], "what is typed before it is there would be lost"
    await expect(tab.get_by_text("Nothing yet.")).to_be_visible()
    name = tab.get_by_label("Name")
    await expect(name).to_have_value("Ada Wiśniewska")
    await name.fill("Ada\u0000")
    await tab.get_by_role("button", name="Make the PDF").click()
    await expect(tab.get_by_role("alert")).to_be_visible()
    await expect(name).to_have_attribute("aria-invalid", "true")
    await name.fill("Ada Nowak")
    await tab.get_by_label("Classic").check()
    await tab.get_by_role("button", name="Make the PDF").press("Enter")
    await has_loaded(tab, ".sheets img")
    assert await tab.locator(".sheets img").count() == 1
    pdf = await tab.request.get(str(await tab.get_by_role("link", name="Download the PDF").get_attribute("href")))
    assert (await pdf.body()).startswith(b"%PDF-")
    line = tab.locator("#earlier li")
    await expect(line).to_contain_text("Ada Nowak.pdf")
    await expect(line).to_contain_text("classic, 1 page")
    await check_looks(tab)
    await tab.get_by_role("button", name="Delete Ada Nowak.pdf").click()
    await expect(tab.get_by_text("Nothing yet.")).to_be_visible()


async def test_an_export_that_failed_says_why_and_when_it_is_tried_again(tab: Page, recipes: Site) -> None:
    """Files cannot be stored: where their folder was there is a file."""
    await open_page(tab, recipes, "/exports")
    aside = recipes.files.with_name("aside")
    recipes.files.mkdir(exist_ok=True)
    recipes.files.rename(aside)
    try:
        recipes.files.write_text("")
        await tab.get_by_role("button", name="Make the PDF").click()
        said = "the file could not be stored: the storage does not answer or refuses it; attempt 2 of 5 is at "
        await expect(tab.locator("#current .wrong")).to_contain_text(said)
        await expect(tab.get_by_text("internal error")).to_be_hidden()
        await check_looks(tab)
        await tab.get_by_role("button", name="Cancel").click()
        await expect(tab.locator("penstock-progress")).to_have_attribute("data-state", "cancelled")
        await expect(tab.locator("#current .wrong")).to_be_empty()
    finally:
        recipes.files.unlink()
        aside.rename(recipes.files)


async def test_the_pages_of_an_export_are_not_shown_below_the_next_one(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/exports")
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def first_is_late(route: Route) -> None:
        if not asked.is_set():
            asked.set()
            await go_on.wait()
        await route.continue_()

    await tab.route("**/export/preview/**", first_is_late)
    for name in ("First", "Second"):
        await tab.get_by_label("Name").fill(name)
        await tab.get_by_role("button", name="Make the PDF").click()
        await soon(asked.wait())
    await has_loaded(tab, ".sheets img")
    async with tab.expect_response("**/export/preview/**") as late:
        go_on.set()
    await (await late.value).finished()
    await tab.evaluate("new Promise(done => setTimeout(done))")
    assert await tab.locator(".finished").count() == 1
    for name in ("First", "Second"):
        await tab.get_by_role("button", name=f"Delete {name}.pdf").click()
    await expect(tab.get_by_text("Nothing yet.")).to_be_visible()


async def test_readings(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/readings")
    await tab.get_by_role("button", name="Begin the reading").click()
    await expect(tab.get_by_role("progressbar", name="The reading")).to_be_visible()
    chapters = tab.locator(".chapters button")
    await expect(chapters).to_have_count(2)
    await has_loaded(tab, ".cover img")
    await expect(tab.locator("#book")).to_contain_text("For Ada")
    audio = tab.locator("audio")
    first = await audio.get_attribute("src")
    await chapters.nth(1).press("Enter")
    await expect(chapters.nth(1)).to_have_attribute("aria-current", "true")
    assert await audio.get_attribute("src") != first
    await expect(tab.locator("article")).to_contain_text("A short chapter about")
    await tab.wait_for_function("() => document.querySelector('audio').readyState > 0", timeout=WITHIN)
    assert await audio.evaluate("audio => audio.duration") > 1
    await expect(tab.locator("#earlier li")).to_have_count(1)
    for end in ("failed", "cancelled"):
        await list_follows(tab, end, "/api/jobs?kind=")
    await check_looks(tab)


async def test_bookmarks(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/bookmarks")
    await expect(tab.get_by_text("Nothing is kept yet")).to_be_visible()
    address = tab.get_by_label("Address")
    await address.fill("http://10.0.0.1/")
    await tab.get_by_role("button", name="Keep it").click()
    await expect(tab.get_by_role("alert")).to_contain_text("private")
    await address.fill(recipes.website.at("/report.pdf"))
    await address.press("Enter")
    card = tab.locator("article")
    await expect(card).to_contain_text("PDF, 2 pages")
    await has_loaded(tab, ".shot img")
    await expect(card.locator("penstock-progress")).to_have_count(0)
    await check_looks(tab)
    await tab.get_by_role("button", name="Delete Annual report").click()
    await expect(tab.get_by_text("Nothing is kept yet")).to_be_visible()


async def test_an_odd_address_is_shown_as_it_is(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/bookmarks")
    for path in ("/100%", "/50%25"):
        await tab.get_by_label("Address").fill(recipes.website.at(path))
        await tab.get_by_role("button", name="Keep it").click()
        await expect(tab.locator("article h2").first).to_have_text("100%" if path == "/100%" else "50%")
    await tab.reload()
    for name in ("50%", "100%"):
        await tab.get_by_role("button", name=f"Delete {name}").click()
    await expect(tab.get_by_text("Nothing is kept yet")).to_be_visible()


async def test_calls(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/calls")
    sound = {"name": "order.wav", "mimeType": "audio/wav", "buffer": recording(1.5)}
    await tab.get_by_label("Choose a file").set_input_files(sound)  # type: ignore[arg-type]
    await tab.get_by_role("button", name="Upload it").click()
    lines = tab.locator(".said button")
    await expect(lines).to_have_count(len(SAID))
    await expect(tab.locator(".said h3")).to_have_text(["Speaker 1", "Speaker 2", "Speaker 1"])
    await tab.wait_for_function("() => document.querySelector('audio').readyState > 0", timeout=WITHIN)
    await tab.locator("audio").evaluate("audio => { audio.play = async () => {} }")
    await lines.nth(1).click()
    await expect(lines.nth(1)).to_have_attribute("aria-current", "true")
    assert await tab.locator("audio").evaluate("audio => audio.currentTime") == SAID[1].start
    await expect(tab.locator(".measures")).to_contain_text("Words a minute")
    for end in ("failed", "cancelled"):
        await list_follows(tab, end, "/api/v1/calls?orgId=")
    await expect(tab.locator("#calls [aria-current]")).to_contain_text("order.wav")
    await check_looks(tab)


async def test_the_call_that_was_opened_last_is_shown(tab: Page, recipes: Site) -> None:
    """However late another's answer comes, and whatever is done meanwhile."""
    await open_page(tab, recipes, "/calls")
    entries = {name: tab.locator("#calls button", has_text=name) for name in ("first.wav", "second.wav")}
    shown = tab.locator("#call h2").first
    for name in entries:
        sound = {"name": name, "mimeType": "audio/wav", "buffer": recording(1.5)}
        await tab.get_by_label("Choose a file").set_input_files(sound)  # type: ignore[arg-type]
        await tab.get_by_role("button", name="Upload it").click()
        await expect(shown).to_have_text(name)
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        asked.set()
        await go_on.wait()
        await route.continue_()

    second = await entries["second.wav"].get_attribute("data-call")
    await tab.route(f"**/api/v1/calls/{second}", late)
    await entries["second.wav"].click()
    await soon(asked.wait())
    await entries["first.wav"].click()
    await expect(shown).to_have_text("first.wav")
    async with tab.expect_response(lambda answer: answer.url.endswith(f"/calls/{second}")):
        go_on.set()
    await list_follows(tab, "succeeded", "/api/v1/calls?orgId=")
    await tab.evaluate("new Promise(requestAnimationFrame)")
    await expect(entries["first.wav"]).to_have_attribute("aria-current", "true")
    assert await shown.is_visible()
    assert await shown.text_content() == "first.wav"


async def test_the_first_page_leads_to_the_others(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/recipes")
    doors = tab.locator(".door h2")
    await expect(doors).to_contain_text(["Exports", "Readings", "Bookmarks", "Calls"])
    await has_loaded(tab, ".door img")
    await check_looks(tab)
    await tab.get_by_role("navigation").get_by_role("link", name="Exports").click()
    await expect(tab.get_by_role("heading", level=1)).to_have_text("A résumé, set in type")
    await expect(tab.locator(".who")).to_contain_text("ada")
    await tab.goto(f"{recipes.served.address}/recipes")
    await tab.get_by_role("link", name="The dashboard").click()
    await tab.wait_for_url(f"{recipes.served.address}/")


async def test_whoever_has_no_key_is_asked_for_one(tab: Page, recipes: Site) -> None:
    await tab.goto(f"{recipes.served.address}/calls")
    token = tab.get_by_label("Token")
    await token.fill("not.a.token")
    await token.press("Enter")
    await expect(tab.get_by_role("alert")).to_contain_text("make another")
    await check_looks(tab)
    await token.fill(str(recipes.sign_in.token(recipes.sign_in.code)))
    await token.press("Enter")
    await expect(tab.get_by_role("heading", level=1)).to_have_text("Calls, word for word")


async def test_whoever_is_not_known_any_more_is_asked_again(tab: Page, recipes: Site) -> None:
    stranger = mint("another secret, which has thirty-two characters", subject="ada")
    await tab.goto(f"{recipes.served.address}/recipes")
    await tab.evaluate("token => sessionStorage.setItem('penstock.token', token)", stranger)
    await tab.goto(f"{recipes.served.address}/exports")
    await expect(tab.get_by_label("Token")).to_be_visible()
    assert await tab.evaluate("sessionStorage.getItem('penstock.token')") is None


async def test_what_is_refused_beside_a_form_is_said_too(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/bookmarks")
    await tab.evaluate("import('/penstock.js').then(({get}) => { get('0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f') })")
    await expect(tab.get_by_role("alert")).to_contain_text("no such job")


@pytest.mark.slow
async def test_a_page_is_bookmarked_with_a_screenshot_and_a_picture_with_its_words(tab: Page, recipes: Site) -> None:
    await open_page(tab, recipes, "/bookmarks")
    for path in ("/card.png", "/"):
        await tab.get_by_label("Address").fill(recipes.website.at(path))
        await tab.get_by_role("button", name="Keep it").click()
    await expect(tab.locator("article h2")).to_have_text(["Penstock & co", "card.png"])
    await has_loaded(tab, ".shot:not(.whole) img")
    await has_loaded(tab, ".shot.whole img")
    await expect(tab.locator("article").nth(1)).to_contain_text("PENSTOCK 42")

"""/penstock.js as a page uses it: start, watch, cancel, retry, and what goes wrong on the way."""

from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Page, Route

from tests.browser.site import Site, token
from tests.kit.browser import IN_A_BROWSER
from tests.kit.serving import KEY
from tests.kit.until import soon, until

pytestmark = IN_A_BROWSER

START = "args => penstock.start('climb', args)"
WATCH = """
({id, options}) => {
  const seen = (globalThis.seen ??= {})[id] = [];
  (globalThis.ended ??= {})[id] = penstock.watch(id, job => seen.push(job), options).catch(error => error);
}
"""


async def start(page: Page, **args: Any) -> str:
    started: dict[str, Any] = await page.evaluate(START, args)
    assert started["created"], started
    return str(started["id"])


async def watch(page: Page, id: str, **options: Any) -> None:
    await page.evaluate(WATCH, {"id": id, "options": options})


async def seen(page: Page, id: str) -> list[dict[str, Any]]:
    return list(await page.evaluate("id => globalThis.seen[id]", id))


async def ended(page: Page, id: str) -> dict[str, Any]:
    job: dict[str, Any] = await page.evaluate("id => globalThis.ended[id]", id)
    return job


async def messages(page: Page, id: str) -> list[str | None]:
    return [job["progress"]["message"] for job in await seen(page, id)]


async def open_through_the_wire(page: Page, tried: Site) -> None:
    await page.goto(f"{tried.wire.address}/try")
    await page.wait_for_function("() => globalThis.penstock")
    await page.evaluate("token => penstock.configure({token})", token())


async def test_a_job_is_started_and_watched_to_its_end(opened: Page, tried: Site) -> None:
    id = await start(opened, name="plain")
    states = opened.evaluate("""async id => {
      const states = [];
      for await (const job of penstock.watch(id)) states.push(job);
      return states;
    }""", id)  # fmt: skip
    tried.let("plain", 2)
    told = await states
    assert told[-1]["state"] == "succeeded"
    assert told[-1]["output"] == {"view": "far and wide"}
    assert [each["name"] for each in told[-1]["artifacts"]] == ["view.txt"]
    assert {each["state"] for each in told[:-1]} <= {"ready", "running"}


async def test_a_lost_connection_is_taken_up_where_it_was(opened: Page, tried: Site) -> None:
    asked: list[str | None] = []
    opened.on(
        "request", lambda each: asked.append(each.headers.get("last-event-id")) if "/stream" in each.url else None
    )
    await open_through_the_wire(opened, tried)
    id = await start(opened, name="cut")
    await watch(opened, id)
    await until(lambda: messages(opened, id), so=lambda told: "Step 1" in told)
    tried.wire.cut()
    tried.let("cut", 1)  # nobody hears of it
    tried.wire.heal()
    await until(lambda: messages(opened, id), so=lambda told: "Step 2" in told)
    tried.let("cut", 1)
    assert (await ended(opened, id))["state"] == "succeeded"
    assert asked[0] is None
    assert asked[-1]
    told = await seen(opened, id)
    assert told == [job for place, job in enumerate(told) if job not in told[:place]]


async def test_a_connection_that_fell_silent_is_given_up(opened: Page, tried: Site) -> None:
    await opened.clock.install()
    await open_through_the_wire(opened, tried)
    id = await start(opened, name="silent")
    await watch(opened, id)
    await until(lambda: messages(opened, id), so=lambda told: "Step 1" in told)
    tried.wire.silence()
    tried.let("silent", 1)

    async def told_after_seconds() -> list[str | None]:
        await opened.clock.run_for(20_000)
        return await messages(opened, id)

    await until(told_after_seconds, so=lambda told: "Step 2" in told)
    tried.let("silent", 1)
    assert (await ended(opened, id))["state"] == "succeeded"


async def test_where_no_stream_passes_it_is_asked_instead(opened: Page, tried: Site) -> None:
    async def swallow(route: Route) -> None:
        await route.fulfill(status=200, content_type="text/html", body="<p>a proxy's own idea</p>")

    polls: list[int] = []
    await opened.clock.install()
    id = await start(opened, name="polled")
    opened.on("response", lambda each: polls.append(each.status) if each.url.endswith(id) else None)
    await opened.route("**/stream*", swallow)
    await watch(opened, id)

    async def seconds_pass() -> list[int]:
        await opened.clock.run_for(1000)
        return polls

    await until(seconds_pass, so=lambda polls: 304 in polls)
    tried.let("polled", 2)
    await until(seconds_pass, so=lambda polls: polls.count(200) >= 2)
    job = await ended(opened, id)
    assert job["state"] == "succeeded"
    assert len(job["artifacts"]) == 1


async def test_more_are_watched_than_a_browser_has_connections(opened: Page, tried: Site) -> None:
    ids = [await start(opened, name="many", steps_to_go=1) for _ in range(8)]
    for id in ids:
        await watch(opened, id)
    for id in ids:
        await until(lambda id=id: seen(opened, id))  # type: ignore[misc]
    assert tried.served.hub.watchers <= 4
    assert await opened.evaluate("id => penstock.get(id).then(job => job.kind)", ids[0]) == "climb"
    tried.let("many", 8)
    assert {(await ended(opened, id))["state"] for id in ids} == {"succeeded"}


async def test_cancel_and_retry(opened: Page, tried: Site) -> None:
    id = await start(opened, name="stopped")
    await watch(opened, id)
    await until(lambda: messages(opened, id), so=lambda told: "Step 1" in told)
    await opened.evaluate("id => penstock.cancel(id)", id)
    assert (await ended(opened, id))["state"] == "cancelled"
    await opened.evaluate("id => penstock.retry(id)", id)
    tried.let("stopped", 2)
    await watch(opened, id, stream=False)
    assert (await ended(opened, id))["state"] == "succeeded"


async def test_a_signal_ends_it_quietly(opened: Page, tried: Site) -> None:
    id = await start(opened, name="left", steps_to_go=1)
    last = await opened.evaluate("""async id => {
      const leaving = new AbortController();
      return await penstock.watch(id, () => leaving.abort(), {signal: leaving.signal});
    }""", id)  # fmt: skip
    assert last["id"] == id
    await until(lambda: tried.served.hub.watchers == 0)
    tried.let("left")


async def test_a_signal_that_comes_before_the_stream_does_ends_it_too(opened: Page, tried: Site) -> None:
    id = await start(opened, name="left at once", steps_to_go=1)
    watching = opened.evaluate("""async id => {
      const leaving = new AbortController();
      const watching = penstock.watch(id, () => {}, {signal: leaving.signal});
      leaving.abort();
      return await watching;
    }""", id)  # fmt: skip
    assert await soon(watching) is None
    await until(lambda: tried.served.hub.watchers == 0)
    tried.let("left at once")


async def test_what_is_refused_names_its_fields(opened: Page) -> None:
    told = await opened.evaluate("""async () => {
      try { await penstock.start('climb', {name: 'x', steps_to_go: 'many'}); } catch (error) {
        const {status, fields, message} = error;
        return {status, fields, message, ours: error instanceof penstock.PenstockError};
      }
    }""")  # fmt: skip
    assert (told["status"], told["ours"]) == (422, True)
    assert list(told["fields"]) == ["args.steps_to_go"]
    assert "steps_to_go" in told["message"]


async def test_what_will_not_get_better_is_an_error(opened: Page, tried: Site) -> None:
    nobody = "0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f"
    await watch(opened, nobody)
    assert await opened.evaluate("id => globalThis.ended[id].then(error => error.status)", nobody) == 404


async def test_a_token_is_asked_for_and_asked_again_when_it_is_refused(opened: Page, tried: Site) -> None:
    await opened.evaluate("""token => {
      globalThis.asked = [];
      penstock.configure({token: async ({refresh}) => { asked.push(refresh); return refresh ? token : 'over'; }});
    }""", token())  # fmt: skip
    id = await start(opened, name="token", steps_to_go=0)
    await watch(opened, id)
    assert (await ended(opened, id))["state"] == "succeeded"
    assert (await opened.evaluate("asked"))[:2] == [False, True]


async def test_a_job_may_be_watched_by_a_token_for_it_alone(
    opened: Page, tried: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SERVICE_KEY", KEY)
    id = await start(opened, name="watched", steps_to_go=0)
    await opened.evaluate("penstock.configure({token: null})")
    await watch(opened, id, token=tried.served.app.watch_token(UUID(id), seconds=60))
    assert (await ended(opened, id))["state"] == "succeeded"

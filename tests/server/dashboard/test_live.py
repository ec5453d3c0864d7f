"""Open pages: told what changes, together, and at the price of a few queries a second."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.dashboard.live import QUERIES, Contact, View
from tests.kit.serving import KEY, Served, served
from tests.kit.until import soon, until
from tests.server.dashboard.browsing import SAME, token_of


@pytest.fixture
async def site(app: Penstock) -> AsyncIterator[Served]:
    @app.job
    async def work(n: int = 0) -> None: ...

    async with served(app) as site:
        yield site


async def sign_in(site: Served, credential: str = KEY) -> None:
    answer = await site.client.post("/login", data={"credential": credential}, headers=SAME)
    assert answer.status_code == 303


@contextlib.asynccontextmanager
async def watching(site: Served, page: str = "/") -> AsyncIterator[AsyncIterator[tuple[str, dict[str, str]]]]:
    """The events of a page, one by one."""
    async with site.client.stream("GET", "/dashboard/events", params={"page": page}) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield _events(stream)


async def _events(stream: httpx.Response) -> AsyncIterator[tuple[str, dict[str, str]]]:
    name = ""
    async for line in stream.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


async def until_told(events: AsyncIterator[tuple[str, dict[str, str]]], region: str, text: str) -> str:
    async for _, regions in events:
        if text in regions.get(region, ""):
            return regions[region]
    raise AssertionError("the stream ended")


async def test_a_page_is_told_what_changes_and_no_more(site: Served) -> None:
    await sign_in(site)
    async with watching(site) as events:
        name, first = await soon(anext(events))
        assert name == "regions"
        assert set(first) == {"figures", "charts", "queues"}
        await site.app.queues.aset("mail", paused=True)
        told = await soon(until_told(events, "queues", "paused"))
        assert "mail" in told
        assert "<html" not in told


async def test_a_job_page_follows_its_job(site: Served) -> None:
    await sign_in(site)
    handle = await site.app.aenqueue(site.app.handler("work").prepare())
    async with watching(site, f"/jobs/{handle.id}") as events:
        _, first = await soon(anext(events))
        assert "ready" in first["head"]
        token = (await site.client.get(f"/jobs/{handle.id}")).text.partition('name="token" value="')[2][:64]
        assert token in first["head"], "forms that came later work as well"
        await site.app.atick()
        await soon(until_told(events, "line", "attempt 1 succeeded"))
        await site.app.jobs.apurge_where(ids=[handle.id], state="succeeded")
        async for name, _ in events:
            if name == "over":
                break
        else:
            raise AssertionError("it is gone, and nobody said so")


async def test_who_may_only_look_is_told_of_no_buttons(site: Served) -> None:
    await sign_in(site, token_of("vera", "viewer"))
    handle = await site.app.aenqueue(site.app.handler("work").prepare())
    async with watching(site, f"/jobs/{handle.id}") as events:
        _, first = await soon(anext(events))
        assert "<form" not in "".join(first.values())


async def test_a_stream_reveals_no_secret_that_is_not_on_record(site: Served) -> None:
    @site.app.job
    async def mail(password: str) -> dict[str, str]:
        return {"password": password}

    handle = await site.app.aenqueue(site.app.handler("mail").prepare(password="hunter2"))
    await site.app.atick()
    page = f"/jobs/{handle.id}?reveal=1"

    async def lines() -> list[tuple[str, str | None]]:
        return [(line.action, line.target) for line in await site.app.audit.alist()]

    await sign_in(site)
    for _ in range(2):
        async with watching(site, page) as events:
            _, first = await soon(anext(events))
            assert "hunter2" in first["result"]
        assert await lines() == [("reveal_secrets", str(handle.id))], "opened again, it is the same look"
    await site.client.get(page)
    assert len(await lines()) == 2, "a page that is asked for is another"
    async with watching(site, page) as events:
        await soon(anext(events))
    assert len(await lines()) == 2

    await sign_in(site, token_of("vera", "viewer"))
    async with watching(site, page) as events:
        _, first = await soon(anext(events))
        assert "hunter2" not in "".join(first.values())
    assert len(await lines()) == 2
    missing = "/jobs/0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f?reveal=1"
    await sign_in(site)
    assert (await site.client.get("/dashboard/events", params={"page": missing})).status_code == 404
    assert len(await lines()) == 2


async def test_strangers_and_pages_that_are_not_there_have_no_stream(site: Served) -> None:
    assert (await site.client.get("/dashboard/events")).status_code == 401
    await sign_in(site)
    for page in ("/nothing", "//evil.example", "jobs", "/login", "/api/workers"):
        assert (await site.client.get("/dashboard/events", params={"page": page})).status_code == 404, page


async def test_a_hundred_open_pages_ask_the_database_less_than_five_times_a_second(site: Served) -> None:
    """Of a few kinds: those that show the same share one look, and all have one budget."""
    await sign_in(site)
    assert site.server.dashboard is not None
    live, answers = site.server.dashboard.live, site.server.dashboard.answers
    pages = ["/", "/", "/", "/", "/", "/queues", "/queues", "/jobs", "/jobs?state=failed", "/jobs?kind=work"]
    told = 0

    async def watch(page: str) -> None:
        nonlocal told
        async with watching(site, page) as events:
            async for _ in events:
                told += 1

    tasks = [asyncio.create_task(watch(page)) for page in pages * 10]
    try:
        await until(lambda: live.watchers == 100 and told >= 100)
        clock = asyncio.get_running_loop().time
        began, before = clock(), answers.count
        await until(lambda: answers.count >= before + 5)
        assert (answers.count - before) / (clock() - began) < QUERIES + 1
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await until(lambda: live.watchers == 0)


async def test_a_server_that_stops_waits_for_no_open_page(app: Penstock) -> None:
    async with served(app) as site:
        await sign_in(site)
        async with watching(site) as events:
            await soon(anext(events))
            site.server.leave()
            with contextlib.suppress(StopAsyncIteration):
                while True:
                    await soon(anext(events))


async def test_while_the_database_is_away_open_pages_are_told_so() -> None:
    app = Penstock("postgresql://nobody@127.0.0.1:1/nothing", database_timeout=0.2)
    server = Server(app, ServerSettings(service_key=KEY))
    assert server.dashboard is not None
    contact, regions = await server.dashboard.live.look_at(View("/", "", True, "http://test"))
    assert (contact, regions) == (Contact.AWAY, {})
    await server.aclose()
    await app.aclose()


async def test_a_page_that_is_opened_once_more_while_the_database_is_away_is_told_so_too() -> None:
    app = Penstock("postgresql://nobody@127.0.0.1:1/nothing", database_timeout=0.2)
    server = Server(app, ServerSettings(service_key=KEY))
    assert server.dashboard is not None
    view = View("/", "", True, "http://test")
    first = server.dashboard.live.join(view)
    await until(lambda: first.contact is Contact.AWAY)
    second = server.dashboard.live.join(view)
    assert second.contact is Contact.AWAY
    assert await second.next(20) == {}
    await server.aclose()
    await app.aclose()

"""Workers, schedules, usage, flows and what operators did, each on its page."""

import asyncio
import re
from datetime import UTC, datetime
from html import unescape

import pytest

from penstock import Context, Flow, Penstock
from penstock.engine import commands
from penstock.server import Server
from penstock.server.dashboard.live import View
from tests.kit.fixtures import Connect
from tests.kit.working import working
from tests.server.dashboard.browsing import Browser, token_of

PAGES = ["/workers", "/schedules", "/approvals", "/usage", "/audit"]


@pytest.mark.parametrize("path", PAGES)
async def test_an_empty_page_says_so_and_a_stranger_sees_none(operator: Browser, path: str) -> None:
    page = await operator.get(path)
    assert page.status_code == 200
    assert 'class="empty"' in page.text
    operator.client.cookies.clear()
    assert (await operator.get(path)).headers["location"].endswith("/login" + f"?next=%2F{path[1:]}")


async def test_workers_are_shown_with_what_each_does(app: Penstock, operator: Browser) -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    @app.job
    async def bake() -> None:
        begun.set()
        await end.wait()

    async with working(app, {"default": 2}, name="oven-1"):
        handle = await bake.aenqueue()
        await asyncio.wait_for(begun.wait(), 20)
        page = (await operator.get("/workers")).text
        end.set()
    assert "oven-1" in page
    assert f"/jobs/{handle.id}" in page


async def test_a_worker_is_shown_with_its_slots_memory_and_load_and_a_dash_for_what_it_has_not_said(
    app: Penstock, operator: Browser
) -> None:
    loud, _ = [await app.engine.arun(commands.OpenLease(name, 60, ["mail"])) for name in ("loud", "quiet")]
    await app.engine.arun(commands.ReportStatistics(loud, memory=52_428_800, load=0.374, slots=1200))
    await app.queues.aset("mail", max_running=9)
    page = (await operator.get("/workers")).text
    rows = [re.findall(rf">{name}</span>.*?</tr>", page, re.DOTALL)[0] for name in ("loud", "quiet")]
    assert re.findall(r'class="num" data-label="(\w+)">(.*?)</td>', rows[0]) == [
        ("Running", '<span>0<span class="muted"> / 1,200</span></span>'), ("Memory", "52.4 MB"), ("Load", "37 %"),
    ]  # fmt: skip
    assert re.findall(r'class="num" data-label="(\w+)">(.*?)</td>', rows[1]) == [
        ("Running", "<span>0</span>"), ("Memory", "–"), ("Load", "–"),
    ]  # fmt: skip
    there = (await operator.get("/queues/mail")).text
    assert '0<span class="muted"> / 1,200</span> running, 52.4 MB, load 37 %, heard' in there


async def test_a_schedule_is_run_paused_and_resumed_by_operators_only(app: Penstock, operator: Browser) -> None:
    @app.job
    async def report() -> None: ...

    await app.schedules.aset("weekly", "0 8 * * MON", "report", {})
    ran = await operator.do("/schedules/run", "/schedules", name="weekly")
    assert re.search(r"/jobs/[0-9a-f-]{36}$", ran.headers["location"])
    await operator.do("/schedules/pause", "/schedules", name="weekly")
    assert "paused" in (await operator.get("/schedules")).text
    await operator.do("/schedules/resume", "/schedules", name="weekly")
    [schedule] = await app.schedules.alist()
    assert not schedule.paused
    audit = (await operator.get("/audit")).text
    assert audit.index("resume schedule") < audit.index("pause schedule") < audit.index("run schedule")
    assert (await operator.do("/schedules/run", "/schedules", name="missing")).status_code == 422

    viewer = await operator.sign_in(token_of("vera", "viewer"))
    page = (await viewer.get("/schedules")).text
    assert "weekly" in page
    assert "Run now" not in page
    assert (await viewer.do("/schedules/run", name="weekly")).status_code == 403


async def test_many_schedules_come_a_page_at_a_time(app: Penstock, operator: Browser) -> None:
    for n in range(51):
        await app.engine.arun(commands.SetSchedule(
            f"number {n:02}", "0 8 * * *", "report", {}, "UTC", "one", {}, "database", datetime.now(UTC)
        ))  # fmt: skip
    first = (await operator.get("/schedules")).text
    assert "number 49" in first
    assert "number 50" not in first
    [address] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = (await operator.get(unescape(address))).text
    assert "number 50" in second
    assert "number 49" not in second
    assert 'rel="next"' not in second


async def test_what_waits_for_an_event_and_what_nobody_waited_for_is_listed_by_event_and_key(
    app: Penstock, operator: Browser
) -> None:
    @app.job
    async def ship(ctx: Context, order: int) -> None:
        await ctx.wait_for("paid", key=f"order-{order}", name="payment")

    @app.job
    async def ask(ctx: Context) -> bool:
        return bool(await ctx.approve("Ship it?", name="the boss"))

    handles = [await app.aenqueue(job) for job in (ship.prepare(7), ship.prepare(7), ship.prepare(8), ask.prepare())]
    await app.atick(limit=10)
    for key in ("", "a", "a"):
        await app.aemit("tick", key=key)
    page = (await operator.get("/approvals")).text
    rows = re.findall(r'<tr data-key="(\w+) ([\w-]*)">.*?"Jobs that wait">(\d+)</td>.*?"Kept">(\d+)<', page, re.DOTALL)
    assert rows == [
        ("paid", "order-7", "2", "0"), ("paid", "order-8", "1", "0"), ("tick", "", "0", "1"), ("tick", "a", "0", "2"),
    ]  # fmt: skip
    waiting = (await operator.get(f"/jobs/{handles[0].id}")).text
    assert "waits for paid order-7" in waiting
    assert '<b>payment</b> <span class="mono">paid order-7</span>' in waiting
    assert "waits for a person: Ship it?" in (await operator.get(f"/jobs/{handles[3].id}")).text
    few = await app.engine.arun(commands.EventsOverview(limit=3, keys=1))
    assert [(each.event, each.key) for each in few] == [("paid", "order-7"), ("tick", "")]
    few = await app.engine.arun(commands.EventsOverview(limit=3))
    assert [each.key for each in few] == ["order-7", "order-8", ""]


async def test_usage_is_summed_by_kind_and_organisation(app: Penstock, operator: Browser) -> None:
    @app.job
    async def scan() -> None: ...

    for org in ("acme", "acme", "umbrella"):
        await scan.using(org=org).aenqueue()
    await app.atick(limit=10)
    page = (await operator.get("/usage")).text
    assert page.index("acme") < page.index("umbrella")
    assert "umbrella" not in (await operator.get("/usage?org=acme")).text


async def test_usage_says_when_it_shows_only_those_that_ran_longest(
    app: Penstock, operator: Browser, connect: Connect
) -> None:
    add = """insert into penstock.usage_sums (day, by, name, runs, seconds, failures, bytes)
             select current_date, 'kind', 'kind ' || n, 1, n, 0, 0 from generate_series(%s::int, %s::int) as n"""
    told = "these are the 200 that ran longest"
    connection = connect()
    connection.execute(add, (1, 199))
    assert told not in (await operator.get("/usage")).text
    connection.execute(add, (200, 201))
    page = (await operator.get("/usage")).text
    assert page.count(told) == 1
    assert '"kind 2"' in page
    assert '"kind 1"' not in page


async def test_a_flow_is_drawn(app: Penstock, operator: Browser) -> None:
    @app.job
    async def page(n: int) -> None: ...

    @app.job
    async def bind() -> None: ...

    flow = Flow(bind.prepare())
    first = flow.add(page.prepare(1))
    flow.add(page.prepare(2), after=[first])
    handle = await app.aenqueue(flow)
    shown = await operator.get(f"/flows/{handle.id}")
    assert shown.status_code == 200
    assert shown.text.count('class="node') == 3
    assert shown.text.count('class="edge') == 2
    assert (await operator.get("/flows/01a1e46f-0000-7000-8000-000000000000")).status_code == 404
    assert (await operator.get("/flows/x")).status_code == 404


async def test_what_operators_did_is_on_record_page_by_page(app: Penstock, operator: Browser) -> None:
    ada = app.operator("ada@example.com")
    for n in range(60):
        await ada.apause_queue(f"queue {n}")
    first = (await operator.get("/audit")).text
    assert "ada@example.com" in first
    assert "queue 59" in first
    assert "queue 3 <" not in first
    older = re.search(r'href="([^"]*before=\d+)"', first)
    assert older
    assert "queue 3 <" in (await operator.get(older[1])).text


@pytest.mark.parametrize("path", PAGES)
async def test_every_region_that_is_kept_up_to_date_can_be(
    app: Penstock, operator: Browser, web: Server, path: str
) -> None:
    @app.job
    async def scan() -> None: ...

    await scan.using(org="acme").aenqueue()
    await app.atick(limit=1)
    await app.operator("ada").apause_queue("mail")
    await app.schedules.aset("weekly", "0 8 * * MON", "scan", {})
    shown = await operator.get(path)
    assert web.dashboard is not None
    watcher = web.dashboard.live.join(View(path, "", operates=True, here=""))
    regions = await watcher.next(20)
    web.dashboard.live.part(watcher)
    assert set(regions) == set(re.findall(r'data-live="(\w+)"', shown.text))


NOT_TEXT, BEYOND_ANY_TYPE = "%00", "9" * 5000


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/approvals?after=", NOT_TEXT), ("/schedules?after=", NOT_TEXT), ("/errors?kind=", NOT_TEXT),
        ("/usage?org=", NOT_TEXT), ("/jobs?owner=", NOT_TEXT), ("/jobs?error=", NOT_TEXT),
        ("/audit?before=", "x"), ("/audit?before=", "9" * 23), ("/audit?before=", BEYOND_ANY_TYPE),
    ],
)  # fmt: skip
async def test_what_an_address_says_wrong_is_named(operator: Browser, path: str, value: str) -> None:
    answer = await operator.get(path + value)
    assert answer.status_code == 422
    field = path.partition("?")[2].removesuffix("=")
    assert f"<h1>{field}: must be" in answer.text

"""Jobs on pages: found, shown, masked, and their files."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from penstock import Backoff, Context, Penstock, Snooze, batch
from penstock.engine import commands
from penstock.errors import StoreFault
from penstock.server import Server
from penstock.server.dashboard import files
from penstock.server.dashboard.live import Contact, View
from tests.engine.hand import Hand
from tests.server.dashboard.browsing import Browser, token_of

NASTY = "<script>alert('x')</script>\"'&"


@dataclass
class Made:
    failed: UUID
    done: UUID
    waiting: UUID
    flow: UUID


@pytest.fixture
async def app(url: str, tmp_path: object) -> AsyncIterator[Penstock]:
    async with Penstock(url, artifacts=str(tmp_path)) as app:
        yield app


@pytest.fixture
async def made(app: Penstock) -> Made:
    """A job of each sort, run here and now."""

    @app.job(queue="mail", max_attempts=2, backoff=Backoff.constant(0))
    async def send(to: str, password: str = "", dsn: str = "") -> None:
        raise ConnectionError(f"refused by {to}: {NASTY}")

    @app.job(queue="exports")
    async def render(ctx: Context, number: int) -> dict[str, object]:
        await ctx.step("totals", _totals)
        await ctx.artifacts.put("page.pdf", b"%PDF-1.4")
        await ctx.artifacts.put("picture.png", b"\x89PNG")
        await ctx.artifacts.put("tune.mp3", b"ID3")
        await ctx.artifacts.put("facts.json", b'{"text": "<b>hello</b>"}')
        await ctx.artifacts.put("page.html", b"<script>alert(1)</script>")
        await ctx.artifacts.put("picture.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
        return {"number": number, "token": "t0k3n"}

    @app.job(queue="later")
    async def wait(n: int = 0) -> None: ...

    failed = await app.aenqueue(
        send.using(owner="ada", org="acme").prepare(to="bob", password="hunter2", dsn="pg://u:pw@h/d")
    )
    done = await app.aenqueue(render.prepare(number=7))
    flow = await app.aenqueue(batch([wait.prepare(n=1), wait.prepare(n=2)]))
    waiting = await app.aenqueue(wait.using(delay=3600).prepare())
    for _ in range(2):
        await app.atick(queues={"mail": 5, "exports": 5})
    return Made(failed.id, done.id, waiting.id, flow.id)


async def _totals() -> dict[str, int]:
    return {"net": 12}


def ids_on(page: str) -> set[str]:
    return set(re.findall(r'href="/jobs/([0-9a-f-]{36})"', page))


async def test_jobs_are_found_by_what_the_address_says(operator: Browser, made: Made) -> None:
    failed, done, waiting = str(made.failed), str(made.done), str(made.waiting)
    cases = {
        "/jobs": {failed, done, waiting},
        "/jobs?state=failed": {failed},
        "/jobs?state=failed&state=succeeded": {failed, done},
        "/jobs?kind=render": {done},
        "/jobs?queue=mail": {failed},
        "/jobs?owner=ada": {failed},
        "/jobs?org=acme&state=succeeded": set(),
        "/jobs?error=REFUSED%20by": {failed},
        f"/jobs?id={failed[:-4]}": {failed},
        "/jobs?since=1h&state=scheduled": {waiting},
        "/jobs?until=2020-01-01T00:00": set(),
        "/jobs?after=2020-01-01T00:00&kind=render": {done},
    }
    for path, wanted in cases.items():
        page = await operator.get(path)
        assert page.status_code == 200, path
        found = ids_on(page.text)
        assert wanted <= found, path
        assert found == wanted or path == "/jobs", path


async def test_a_job_with_what_no_reader_takes_has_its_place(operator: Browser, hand: Hand) -> None:
    beside, id = str(hand.add()), hand.add(owner="alice")
    worker = hand.worker()
    worker.claim(2)
    hand.value("select penstock.complete(%s, %s, array[1], '[{\"n\": [1e4400]}]')", worker.lease, [id])
    for path in ("/jobs", "/jobs?state=succeeded&state=running"):
        assert ids_on((await operator.get(path)).text) == {beside, str(id)}
    assert "100000000" in (await operator.get(f"/jobs/{id}")).text


@pytest.mark.parametrize("query", ["state=dead", "before=x", "since=ever", "after=yesterday", "id=zzz", "kind=%00"])
async def test_a_filter_that_cannot_be_read_is_named(operator: Browser, query: str) -> None:
    answer = await operator.get(f"/jobs?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in answer.text


async def test_the_search_field_finds_what_somebody_may_have_meant(operator: Browser, made: Made) -> None:
    async def leads_to(text: str) -> str:
        answer = await operator.client.get("/jobs", params={"q": text})
        return answer.headers["location"].removeprefix("http://test")

    assert await leads_to(str(made.done)) == f"/jobs/{made.done}"
    assert await leads_to(str(made.done)[:9]) == f"/jobs?id={str(made.done)[:9]}"
    assert await leads_to("render") == "/jobs?kind=render"
    assert await leads_to("no such host") == "/jobs?error=no+such+host"


async def test_pages_follow_each_other_and_keep_the_filter(operator: Browser, app: Penstock) -> None:
    @app.job
    async def count(n: int) -> None: ...

    await count.aenqueue_many([{"n": n} for n in range(120)])
    path, seen = "/jobs?kind=count&queue=default", []
    while path:
        page = (await operator.get(path)).text
        seen += list(dict.fromkeys(re.findall(r'data-key="([0-9a-f-]{36})"', page)))
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = html.unescape(older[1]) if older else ""
        assert not path or "kind=count" in path
    assert len(seen) == len(set(seen)) == 120


async def test_what_is_below_a_flow_leads_to_all_of_it_and_stays_so_while_it_is_searched(
    operator: Browser, app: Penstock
) -> None:
    @app.job
    async def count(n: int) -> None: ...

    flow = await app.aenqueue(batch([count.prepare(n=n) for n in range(51)]))
    await count.aenqueue(n=51)
    job = (await operator.get(f"/jobs/{flow.id}")).text
    below = f"/jobs?parent={flow.id}"
    assert f'href="{below}"' in job
    page = (await operator.get(f"{below}&kind=count")).text
    assert f'<input type="hidden" name="parent" value="{flow.id}">' in page, "Find keeps it"
    assert re.search(rf'Below <a[^>]* href="/jobs/{flow.id}"', page)
    assert 'href="/jobs?kind=count"' in page, "it can be taken away"
    assert 'rel="next"' in page
    assert 'name="parent"' not in (await operator.get("/jobs?kind=count")).text


async def test_a_job_shows_what_happened_and_nothing_that_it_says_becomes_markup(operator: Browser, made: Made) -> None:
    page = (await operator.get(f"/jobs/{made.failed}")).text
    assert page.count("attempt 1 failed") == 1
    assert page.count("attempt 2 failed") == 1
    assert "given up" in page
    assert "Traceback (most recent call last)" in page
    assert "<script>alert" not in page
    assert html.escape(NASTY, quote=True) in page.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    done = (await operator.get(f"/jobs/{made.done}")).text
    assert "attempt 1 succeeded" in done
    assert "totals" in done
    flow = (await operator.get(f"/jobs/{made.flow}")).text
    assert "waits for 2 more" in flow
    assert len(ids_on(flow)) >= 2


async def test_secrets_are_masked_and_only_an_operator_has_them_shown(stranger: Browser, made: Made) -> None:
    path = f"/jobs/{made.failed}"
    for who, reveals in ((token_of("vera", "viewer"), False), (token_of("olga", "operator"), True)):
        stranger.client.cookies.clear()
        await stranger.sign_in(who)
        for page in (path, f"/jobs/{made.done}", "/jobs"):
            text = (await stranger.get(page)).text
            for secret in ("hunter2", "u:pw@", "t0k3n"):
                assert secret not in text
        shown = (await stranger.get(f"{path}?reveal=1")).text
        assert ("hunter2" in shown) == reveals
        assert ("reveal=1" in (await stranger.get(path)).text) == reveals


async def test_what_a_job_says_while_it_runs_is_masked_too(operator: Browser, app: Penstock) -> None:
    @app.job
    async def sign_up(ctx: Context) -> Snooze:
        await ctx.progress(50, "as ada, password=hunter2", phase="token=t0k3n")
        return Snooze(3600)

    handle = await app.aenqueue(sign_up.prepare())
    await app.atick()
    page = (await operator.get(f"/jobs/{handle.id}")).text
    assert "as ada" in page
    assert "hunter2" not in page
    assert "t0k3n" not in page


async def test_files_are_shown_where_that_is_safe_and_else_downloaded(operator: Browser, made: Made) -> None:
    page = (await operator.get(f"/jobs/{made.done}")).text
    assert html.escape('{"text": "<b>hello</b>"}') in page.replace("&#34;", "&quot;")
    files = dict(re.findall(r'/dashboard/artifacts/([0-9a-f-]+)\?download=1">.*?</svg> ([a-z0-9.]+)</a>', page))
    assert set(files.values()) == {"page.pdf", "picture.png", "tune.mp3", "facts.json", "page.html", "picture.svg"}
    shown = {}
    for id, name in files.items():
        answer = await operator.get(f"/dashboard/artifacts/{id}")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        shown[name] = answer.headers["content-disposition"] == "inline"
        assert shown[name] or answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"] or name == "page.pdf"
        download = await operator.get(f"/dashboard/artifacts/{id}?download=1")
        assert download.headers["content-disposition"].startswith("attachment")
    assert {name for name, inline in shown.items() if inline} == {"page.pdf", "picture.png", "tune.mp3"}
    assert "<iframe" in page
    assert 'src="/dashboard/artifacts/' in page


async def test_whoever_may_only_look_sees_previews_and_downloads_no_file_as_it_is(
    stranger: Browser, app: Penstock
) -> None:
    """Nobody can mask what is in a file of any type, and of a text the page shows the beginning, masked."""

    @app.job
    async def export(ctx: Context) -> None:
        await ctx.artifacts.put("picture.png", b"\x89PNG")
        await ctx.artifacts.put("facts.json", b'{"password": "hunter2"}')
        await ctx.artifacts.put("dump.bin", b"hunter2")

    handle = await app.aenqueue(export.prepare())
    await app.atick()
    paths = {
        each.name: f"/dashboard/artifacts/{each.id}"
        for each in await app.engine.arun(commands.ArtifactsOfJobs([handle.id]))
    }
    for who, reads in (("viewer", False), ("operator", True)):
        stranger.client.cookies.clear()
        await stranger.sign_in(token_of("vera", who))
        page = (await stranger.get(f"/jobs/{handle.id}")).text
        assert all(name in page for name in paths), who
        assert "hunter2" not in page
        assert ("download=1" in page) == reads
        assert (await stranger.get(paths["picture.png"])).content == b"\x89PNG"
        for path in (*(f"{path}?download=1" for path in paths.values()), paths["facts.json"], paths["dump.bin"]):
            answer = await stranger.get(path)
            assert answer.status_code == (200 if reads else 403), (who, path)
            assert ("hunter2" in answer.text) == (reads and paths["picture.png"] not in path)


async def test_while_the_store_is_away_a_job_has_its_page_without_previews(
    operator: Browser, web: Server, app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def write(ctx: Context) -> None:
        for name in ("one.txt", "two.txt"):
            await ctx.artifacts.put(name, b"here it is")

    handle = await app.aenqueue(write.prepare())
    await app.atick()
    asked = 0
    away = asyncio.Event()

    async def silent(*_: object) -> None:
        nonlocal asked
        asked += 1
        await away.wait()

    async def refusing(*_: object) -> None:
        raise StoreFault("the store failed to get a file")

    monkeypatch.setattr(files, "_WITHIN", 0.01)
    monkeypatch.setattr(app.artifacts.store, "aopen", silent)
    page = await operator.get(f"/jobs/{handle.id}")
    assert page.status_code == 200
    assert page.text.count("No preview: the store of files does not answer.") == 2
    assert asked == 1, "the second file does not wait for it, too"
    assert web.dashboard is not None
    contact, regions = await web.dashboard.live.look_at(View(f"/jobs/{handle.id}", "", True, "http://test"))
    assert contact is Contact.GOOD
    assert "No preview" in regions["files"]
    [link] = re.findall(r'/dashboard/artifacts/[0-9a-f-]+\?download=1">.*?</svg> one.txt', regions["files"])
    monkeypatch.setattr(app.artifacts.store, "aopen", refusing)
    assert (await operator.get(link.partition('"')[0])).status_code == 503
    monkeypatch.undo()
    monkeypatch.setattr(files, "_away", {})
    assert (await operator.get(f"/jobs/{handle.id}")).text.count("here it is") == 2


async def test_files_of_an_open_page_come_as_they_are_made_and_keep_their_preview(
    operator: Browser, web: Server, app: Penstock
) -> None:
    assert web.dashboard is not None
    live = web.dashboard.live

    @app.job
    async def write(ctx: Context) -> None:
        await ctx.artifacts.put("facts.txt", b"the dsn is pg://u:pw@h/d")

    handle = await app.aenqueue(write.prepare())
    view = View(f"/jobs/{handle.id}", "", True, "http://test")
    assert "facts.txt" not in (await live.look_at(view))[1]["files"]
    await app.atick()
    await operator.get(view.path)  # whoever opens it asks anew, and shares what they hear
    [first, second] = [(await live.look_at(view))[1]["files"] for _ in range(2)]
    assert "facts.txt" in first
    assert "the dsn is pg://" in first
    assert "pw@" not in first
    assert second == first


async def test_what_is_not_there_is_not_found(operator: Browser, made: Made) -> None:
    for path in ("/jobs/0198c5a0-7c11-7d6e-9a3f-3c5d1a2b4e6f", "/jobs/x", "/queues/none", "/dashboard/artifacts/x"):
        assert (await operator.get(path)).status_code == 404, path


async def test_queues_show_what_is_in_them(operator: Browser, app: Penstock, made: Made) -> None:
    await app.queues.aset("later", max_running=3)
    await app.queues.apause("later")
    for path in ("/", "/queues", "/queues/later"):
        page = (await operator.get(path)).text
        assert "later" in page
        assert "paused" in page
    assert "max_running" in (await operator.get("/queues/later")).text
    assert "refused by bob" in (await operator.get("/queues/mail")).text
    odd = 'a/b "c"?#é'
    await app.queues.aset(odd, max_running=1)
    link = re.search(r'href="(/queues/a[^"]*)"', (await operator.get("/queues")).text)
    assert link is not None
    assert (await operator.get(html.unescape(link[1]))).status_code == 200


async def test_a_queue_that_somebody_serves_has_a_place_while_it_is_empty(operator: Browser, app: Penstock) -> None:
    await app.engine.arun(commands.OpenLease("w", 60, ["served"]))
    for path in ("/", "/queues"):
        assert "/queues/served" in (await operator.get(path)).text, path
    assert (await operator.get("/queues/served")).status_code == 200


async def test_every_region_of_every_page_is_rendered_by_itself_as_in_the_page(
    operator: Browser, web: Server, made: Made
) -> None:
    assert web.dashboard is not None
    known = {"{id}": str(made.flow), "{name:path}": "mail"}
    for route in web.dashboard.routes():
        page = re.sub(r"\{[^}]+\}", lambda found: known.get(found[0], ""), route.path)
        if "GET" not in (route.methods or ()) or page.startswith(("/login", "/dashboard", "/operations")):
            continue
        page += "?action=cancel&queue=later" if page == "/jobs/change" else ""
        shown = await operator.get(page)
        assert shown.status_code == 200, page
        path, _, query = page.partition("?")
        contact, regions = await web.dashboard.live.look_at(View(path, query, True, "http://test"))
        assert contact is Contact.GOOD, page
        assert set(regions) == set(re.findall(r'data-live="([a-z]+)"', shown.text)), page

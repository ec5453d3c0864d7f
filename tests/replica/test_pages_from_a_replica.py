"""The dashboard reads from a replica that keeps up; from the leader what that has not, and all while it is away."""

import asyncio
import re
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from penstock import Fail, Penstock, batch
from penstock.errors import InvalidInput
from penstock.server import Server, ServerSettings
from penstock.server.dashboard import reader
from penstock.server.dashboard.pages import SECTIONS
from tests.kit.serving import KEY, SECRET
from tests.kit.standby import Pair
from tests.kit.until import until
from tests.server.dashboard.browsing import Browser


@pytest.fixture
async def app(pair: Pair) -> AsyncIterator[Penstock]:
    async with Penstock(pair.primary.url) as app:

        @app.cron("0 5 * * *")
        @app.job(queue="mail")
        async def send(n: int = 0) -> Fail | None:
            return Fail("refused") if n else None

        yield app


@pytest.fixture
async def server(app: Penstock, pair: Pair) -> AsyncIterator[Server]:
    settings = ServerSettings(service_key=KEY, jwt_secret=SECRET, replica_url=pair.standby.url)
    server = Server(app, settings)
    yield server
    await server.aclose()


@pytest.fixture
async def operator(server: Server) -> AsyncIterator[Browser]:
    transport = httpx.ASGITransport(server.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield await Browser(client).sign_in()


@pytest.fixture
def asked(app: Penstock, server: Server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the leader is asked for, from here on."""
    commands: list[str] = []
    arun = app.database.arun

    async def told(command: Any) -> Any:
        commands.append(type(command).__name__)
        return await arun(command)

    monkeypatch.setattr(app.database, "arun", told)
    return commands


async def test_every_page_is_read_there(app: Penstock, pair: Pair, operator: Browser, asked: list[str]) -> None:
    send = app.handler("send")
    flow = await app.aenqueue(batch([send.prepare(n=n) for n in range(3)]))
    await app.atick(queues={"mail": 3})
    job = await app.aenqueue(send.using(delay=3600).prepare())
    operation = await app.operator("ada").acancel(queue="nowhere")
    ids = {"/jobs/{id}": job.id, "/flows/{id}": flow.id, "/operations/{id}": operation.id}
    await operator.get("/")
    await asyncio.to_thread(pair.catch_up)
    asked.clear()
    for page in (page for section in SECTIONS for page in section.pages):
        path = page.path.replace("{id}", str(ids.get(page.path))).replace("{name:path}", "mail")
        for query in ("?action=cancel&queue=mail",) if page.path == "/jobs/change" else ("", "?error=refused"):
            answer = await operator.get(path + query)
            assert (answer.status_code, asked) == (200, []), path + query


async def test_who_changes_something_sees_it_at_once_and_goes_on_seeing_it(
    app: Penstock, pair: Pair, operator: Browser, asked: list[str]
) -> None:
    """Also where the page, or its stream, comes from another server than the one that was told."""
    await app.queues.aset("mail", paused=False)
    await asyncio.to_thread(pair.catch_up)
    token = await operator.form_token("/queues/mail")
    with pair.behind():
        answer = await operator.send("/queues/pause", token=token, name="mail")
        assert answer.status_code == 303
        assert "/queues/resume" in (await operator.get("/queues/mail")).text
        other = Server(app, ServerSettings(service_key=KEY, jwt_secret=SECRET, replica_url=pair.standby.url))
        transport = httpx.ASGITransport(other.asgi)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", cookies=operator.client.cookies
        ) as web:
            assert "/queues/resume" in (await web.get("/queues/mail")).text
        await other.aclose()


async def test_one_that_is_late_is_not_asked(
    app: Penstock, pair: Pair, operator: Browser, asked: list[str], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setattr(reader, "BEHIND", 0.0)
    monkeypatch.setattr(reader, "EVERY", 0.0)
    await operator.get("/queues")
    await asyncio.to_thread(pair.catch_up)
    with pair.behind():
        await app.queues.aset("mail", paused=True)

        async def from_the_leader() -> bool:
            asked.clear()
            await operator.get("/queues")
            return bool(asked)

        await until(from_the_leader)
        told = [each.message for each in caplog.records if each.levelname == "WARNING"]
        assert [re.sub(r"\d+", "N", line) for line in told] == [
            "the replica is N s behind: pages are read from the leader until it catches up"
        ]

    async def from_the_replica() -> bool:
        return not await from_the_leader()

    await until(from_the_replica)
    assert caplog.records[-1].message == "the replica has caught up"


async def test_while_it_is_away_pages_are_read_from_the_leader(
    pair: Pair, operator: Browser, asked: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "EVERY", 0.0)
    monkeypatch.setattr(reader, "_WITHIN", 0.2)
    caplog.set_level("WARNING", "penstock.database")
    await operator.get("/jobs")
    asked.clear()
    assert (await operator.get("/jobs")).status_code == 200
    assert asked == []
    await asyncio.to_thread(pair.standby.stop, "immediate")
    for _ in range(3):
        assert (await operator.get("/jobs")).status_code == 200
    assert asked == ["SearchJobs"] * 3
    await asyncio.to_thread(pair.standby.start)

    async def from_the_replica() -> bool:
        asked.clear()
        await operator.get("/jobs")
        return not asked

    await until(from_the_replica)
    lost, back = (each.message for each in caplog.records if each.name == "penstock.database")
    assert lost.startswith("the replica cannot be reached: ")
    assert lost.endswith("; pages are read from the leader")
    assert back.startswith("the replica is back after ")


async def test_what_it_does_not_have_the_leader_has(
    app: Penstock, pair: Pair, operator: Browser, asked: list[str]
) -> None:
    with pair.behind():
        job = await app.aenqueue(app.handler("send").prepare())
        assert isinstance(job.id, UUID)
        assert (await operator.get(f"/jobs/{job.id}")).status_code == 200
    assert "GetJob" in asked


def test_what_applications_may_look_at_is_there_too(pair: Pair) -> None:
    looks = ["queue_overview()", "list_jobs()", "search_jobs()", "scale_of('mail')", "next_run_at()"]
    looks += [file.name.removesuffix(".sql") for file in files("penstock.sql").joinpath("views").iterdir()]
    with psycopg.connect(pair.standby.url, autocommit=True) as standby:
        for look in looks:
            standby.execute(f"select * from penstock.{look}".encode())


def test_an_address_that_is_none_is_named(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match="PENSTOCK_REPLICA_URL: is no address of a Postgres"):
        Server(app, ServerSettings(service_key=KEY, replica_url="replica.example.com"))

"""The application of the guide, run by uvicorn as its readers run it, and what its lifespan promises."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI, Request

from penstock import Penstock, PenstockError
from penstock.interop.fastapi import PenstockDep, get_penstock, lifespan, stream_url
from tests.kit.until import soon, until
from tests.run_document import blocks

ROOT = Path(__file__).parent.parent.parent
GUIDE = ROOT / "docs" / "guides" / "fastapi.md"
IN = {"session": "a-random-cookie"}


@contextmanager
def uvicorn(folder: Path, url: str) -> Iterator["tuple[str, subprocess.Popen[str]]"]:
    """The guide's application in a folder of its own, with --reload; its address and the process that is in charge."""
    [shop] = [block.code for block in blocks(GUIDE) if block.title == "shop.py"]
    (folder / "shop.py").write_text(shop)
    environment = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "uvicorn", "shop:web", "--reload", "--port", "0", "--no-use-colors"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield told(process, r"running on (http://127\.0\.0\.1:\d+)"), process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def told(process: "subprocess.Popen[str]", pattern: str) -> str:
    """The first line of its output that says so."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(pattern, line):
            return found[found.lastindex or 0]
    raise AssertionError("".join(lines))


@asynccontextmanager
async def watching(client: httpx.AsyncClient) -> AsyncIterator[AsyncIterator[str]]:
    """The stream of a job that will not end, by the cookie's address; it has begun."""
    added = await client.post("/documents", params={"name": "notes", "delay": 3600})
    async with client.stream("GET", added.json()["stream"]) as stream:
        lines = stream.aiter_lines()
        async for line in lines:
            if line == "event: progress":
                break
        yield lines


async def test_a_reload_and_ctrl_c_end_it_at_once_though_a_stream_is_open(url: str, tmp_path: Path) -> None:
    with uvicorn(tmp_path, url) as (address, process):
        await asyncio.to_thread(told, process, "startup complete")
        async with httpx.AsyncClient(base_url=address, cookies=IN, timeout=60) as client:
            done = (await client.post("/documents", params={"name": "done"})).json()
            assert "event: succeeded" in (await client.get(done["stream"])).text, "run by the worker inside"
            async with watching(client) as lines:
                with (tmp_path / "shop.py").open("a") as changed:
                    changed.write("# changed\n")
                assert [line async for line in lines][-1:] == [""], "it ends, and is not cut off"
            await asyncio.to_thread(told, process, "startup complete")
            async with watching(client) as lines:
                os.killpg(process.pid, signal.SIGINT)
                async for _ in lines:
                    pass
        assert process.stdout is not None
        log = await soon(asyncio.to_thread(process.stdout.read), within=60)
        assert await asyncio.to_thread(process.wait, 60) in (0, -signal.SIGINT)
    assert "Application shutdown complete" in log
    assert "Traceback" not in log
    assert not re.search(r"watch=(?!\.\.\.)", log), "a token in the log"


async def test_the_lifespan_goes_around_the_applications_own_and_ends_the_worker(url: str) -> None:
    jobs, order = Penstock(url), list[str]()
    started, go_on = asyncio.Event(), asyncio.Event()

    @jobs.job
    async def work() -> str:
        started.set()
        await go_on.wait()
        order.append("job")
        return "done"

    @asynccontextmanager
    async def own(_: FastAPI) -> AsyncIterator[dict[str, str]]:
        order.append("open")
        yield {"shop": "open"}
        order.append("closed")

    web = FastAPI(lifespan=lifespan(jobs, own, worker=True))
    web.mount("/queue", jobs.asgi(service_key="k" * 32))

    @web.get("/")
    async def look(request: Request, found: PenstockDep) -> dict[str, str]:
        job = await work.aenqueue()
        return {"id": str(job.id), "same": str(found is jobs), "stream": stream_url(request, job)}

    async with web.router.lifespan_context(web) as state:
        assert state == {"shop": "open"}
        transport = httpx.ASGITransport(web, root_path="/at")
        async with httpx.AsyncClient(transport=transport, base_url="http://web") as client:
            answer = (await client.get("/")).json()
        assert answer["same"] == "True"
        assert answer["stream"].startswith(f"http://web/at/queue/api/jobs/{answer['id']}/stream?watch=")
        await soon(started.wait())
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    assert order == ["open", "job", "closed"], "a job finishes while what it uses is there"
    async with Penstock(url) as other:
        found = await other.jobs.aget(UUID(answer["id"]))
        assert found is not None
        assert (found.state, found.output) == ("succeeded", "done")
        await until(other.workers.alist, so=lambda workers: not workers)


@pytest.mark.parametrize(
    ("settings", "headers", "where"),
    [
        ({}, {}, "http://web/queue"),
        ({"public_url": "https://jobs.example.com/q/"}, {}, "https://jobs.example.com/q"),
        (
            {"trusted_proxies": "127.0.0.1"},
            {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.example.com", "X-Forwarded-Prefix": "/shop"},
            "https://shop.example.com/shop/queue",
        ),
        ({"trusted_proxies": "10.0.0.0/8"}, {"X-Forwarded-Prefix": "/shop"}, "http://web/queue"),
    ],
    ids=["as it was asked", "the public one", "behind a proxy", "behind a stranger"],
)
async def test_a_stream_is_where_the_api_is_seen_from_outside(
    url: str, settings: dict[str, str], headers: dict[str, str], where: str
) -> None:
    async with Penstock(url) as jobs:
        web = FastAPI()
        web.state.penstock = jobs
        web.mount("/queue", jobs.asgi(service_key="k" * 32, **settings))

        @web.get("/")
        async def look(request: Request) -> str:
            return stream_url(request, UUID(int=7))

        async with httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://web") as client:
            told = (await client.get("/", headers=headers)).json()
        assert told.startswith(f"{where}/api/jobs/{UUID(int=7)}/stream?watch=")


async def test_what_is_missing_is_said(url: str) -> None:
    web = FastAPI()
    request = Request({"type": "http", "app": web, "headers": [], "root_path": ""})
    with pytest.raises(PenstockError, match="has no Penstock"):
        get_penstock(request)
    async with Penstock(url) as jobs:
        web.state.penstock = jobs
        with pytest.raises(PenstockError, match="not mounted"):
            stream_url(request, UUID(int=7))
    away = FastAPI(lifespan=lifespan(Penstock("postgresql://127.0.0.1:1/nowhere"), worker={"default": 1}))
    with pytest.raises(Exception, match="refused"):
        async with away.router.lifespan_context(away):
            raise AssertionError("it started")

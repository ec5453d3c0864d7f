"""Redis is away: whoever asks for something is told so in time, and the log says it once."""

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, Handler, Penstock
from penstock.engine.faults import answering_within
from penstock.errors import DatabaseUnavailable, PenstockError
from penstock.server import ServerSettings
from tests.bullmq import in_process
from tests.kit.ports import free_port
from tests.kit.redis import fresh_redis, start_valkey
from tests.kit.serving import KEY
from tests.kit.until import soon, until
from tests.kit.wire import wire_to
from tests.kit.working import working
from tests.server.api import asking

TIMEOUT = 0.3
IN_TIME = 1.0
Send = Handler[..., None]


class Server:
    """Of one test, which may end it or freeze it."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process = start_valkey(self.port)
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def go_down(self) -> None:
        self._process.kill()
        self._process.wait()

    def come_back(self) -> None:
        self._process = start_valkey(self.port)

    def freeze(self) -> None:
        """It is connected to, and answers nobody."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)


@pytest.fixture
def redis() -> Iterator[Server]:
    server = Server()
    yield server
    server.go_down()


Fault = tuple[Callable[[Server], None], Callable[[Server], None]]
faults = pytest.mark.parametrize(
    "fault", [(Server.go_down, Server.come_back), (Server.freeze, Server.thaw)], ids=["refused", "frozen"]
)


def make_send(app: Penstock) -> Send:
    @app.job
    def send(to: object) -> None: ...

    return send


def flow_of(send: Send) -> Flow:
    flow = Flow()
    flow.add(send.prepare(1))
    return flow


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [each.message for each in caplog.records if each.name == "penstock.database"]
    return [re.sub(r" \(.*?\)", "", re.split(": | after", each)[0]) for each in found]


ONCE = ["Redis cannot be reached", "Redis is back"]


@faults
def test_enqueue_fails_in_time_and_says_why(redis: Server, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    away, back = fault
    with Penstock(redis.url, database_timeout=TIMEOUT) as app:
        send = make_send(app)
        send.enqueue(0)
        away(redis)
        for ask in (
            lambda: send.enqueue(1),
            lambda: app.enqueue(flow_of(send)),
            lambda: app.jobs.list(),
        ):
            began = time.monotonic()
            with pytest.raises(DatabaseUnavailable, match=r"^Redis could not be reached within 0\.3 s") as raised:
                ask()
            assert time.monotonic() - began < IN_TIME
            assert isinstance(raised.value, OSError)
        back(redis)
        with answering_within(None):
            assert send.enqueue(2).created
    assert told(caplog) == ONCE


@faults
async def test_the_same_in_async_code_for_more_callers_than_connections(
    redis: Server, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    away, back = fault
    async with Penstock(redis.url, database_timeout=TIMEOUT) as app:
        send = make_send(app)
        await send.aenqueue(0)
        away(redis)
        began = time.monotonic()
        answers = await asyncio.gather(*(send.aenqueue(n) for n in range(200)), return_exceptions=True)
        assert {type(each).__name__ for each in answers} == {"RedisUnavailable"}
        assert time.monotonic() - began < IN_TIME
        back(redis)
        with answering_within(None):
            assert (await send.aenqueue(2)).created
    assert told(caplog) == ONCE


async def test_many_callers_wait_for_each_other(caplog: pytest.LogCaptureFixture) -> None:
    async with Penstock(fresh_redis()) as app:
        send = make_send(app)
        jobs = await asyncio.gather(*(send.aenqueue(n) for n in range(300)))
    assert all(job.created for job in jobs)
    assert told(caplog) == []


async def test_whoever_may_wait_waits_until_it_is_back(redis: Server) -> None:
    async with Penstock(redis.url, database_timeout=0.1) as app:
        send = make_send(app)
        with answering_within(None):
            await send.aenqueue(0)
        redis.go_down()
        with answering_within(None):
            enqueueing = asyncio.create_task(send.aenqueue(1))
        with pytest.raises(DatabaseUnavailable):
            await send.aenqueue(2)
        assert not enqueueing.done()
        redis.come_back()
        assert (await enqueueing).created


async def test_a_thread_that_waits_ends_with_its_application(redis: Server) -> None:
    app = Penstock(redis.url)
    send = make_send(app)
    await asyncio.to_thread(send.enqueue, 0)
    redis.go_down()
    with answering_within(None):
        waiting = asyncio.ensure_future(asyncio.to_thread(send.enqueue, 1))
    await until(lambda: app.engine.outage.known)
    await asyncio.to_thread(app.close)
    with pytest.raises(PenstockError, match="until the application was closed"):
        await soon(asyncio.shield(waiting))


@pytest.mark.parametrize("isolate", [False, True], ids=["in the worker", "in a process of its own"])
@pytest.mark.parametrize("function", [in_process.step_and_enqueue, in_process.step_and_enqueue_async])
async def test_a_handler_waits_until_it_is_back(
    redis: Server, tmp_path: Path, function: Callable[..., Any], isolate: bool
) -> None:
    """It costs no attempt, and the step and the jobs that follow are there once."""
    began, go, tried = in_process.signs(str(tmp_path))
    async with wire_to(redis.port) as wire, Penstock(f"redis://{wire.address.removeprefix('http://')}/0") as app:
        after = app.job(kind="after")(lambda: None)
        job = await app.job(isolate=isolate, max_attempts=1)(function).aenqueue(str(tmp_path))
        async with working(app, {"default": 1}):
            await until(began.exists)
            wire.cut()
            go.touch()
            await until(tried.exists)
            wire.heal()
            assert await job.aresult(timeout=20) == "of attempt 1"
        assert [each.kind for each in (await app.jobs.alist(kind=after.kind)).jobs] == ["after"]


@pytest.fixture
async def app(url: str, redis: Server) -> AsyncIterator[Penstock]:
    async with Penstock(url, jobs=redis.url) as app:
        yield app


@pytest.mark.parametrize("began", [True, False])
async def test_the_server_says_in_time_that_it_is_not_ready(
    app: Penstock, redis: Server, began: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its settings say it, and not after the application's own five seconds."""
    monkeypatch.setattr("penstock.server.asgi.READY_WITHIN", 0.3)
    async with asking(app, ServerSettings(service_key=KEY, database_timeout=0.6)) as api:
        if began:
            assert (await api.nobody("GET", "/readyz")).status_code == 200
        redis.freeze()

        async def timed(path: str) -> tuple[int, float]:
            began = time.monotonic()
            answer = await api.service("GET", path)
            return answer.status_code, time.monotonic() - began

        ready, healthy, job = await asyncio.gather(
            *map(timed, ("/readyz", "/healthz", "/api/jobs/0198c5a0-0000-7000-8000-000000000000"))
        )
        assert (ready[0], healthy[0], job[0]) == (503, 200, 503)
        assert ready[1] < 1.1
        assert job[1] < 2.3
        redis.thaw()

"""A consumer elsewhere is called when there is work, and not otherwise."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from penstock import InvalidInput, Penstock
from penstock.worker.waker import Waker
from tests.kit.fake_http import Answer, FakeServer, Request, fake_server
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until


class Consumer:
    """An endpoint that ticks when it is called."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self.broken = 0
        self.called = asyncio.Event()

    async def __call__(self, request: Request) -> Answer:
        self.called.set()
        if self.broken:
            self.broken -= 1
            return Answer(503, b"not now")
        results = await self._app.atick(limit=2)
        return Answer(200, json.dumps({"processed": len(results)}).encode())


def an_app(url: str) -> Penstock:
    app = Penstock(url)

    @app.job(kind="greet", queue="greetings")
    async def greet(name: str) -> None: ...

    return app


@asynccontextmanager
async def waking(app: Penstock, server: FakeServer) -> AsyncIterator[Waker]:
    waker = app.waker(f"{server.url}consume?token=secret", ["greetings"], headers={"Authorization": "Bearer key"})
    running = asyncio.create_task(waker.run())
    try:
        await soon(waker.asleep.wait())
        yield waker
    finally:
        waker.stop()
        await soon(running)


async def test_a_message_that_arrives_is_consumed_at_once(url: str) -> None:
    async with an_app(url) as app, fake_server(consumer := Consumer(app)) as server:
        async with waking(app, server):
            assert not server.requests
            job = await app.handler("greet").aenqueue("ann")
            await soon(consumer.called.wait(), 10)
            await job.aresult(timeout=20)
        assert (server.requests[0].method, server.requests[0].headers["authorization"]) == ("POST", "Bearer key")


async def test_what_waits_already_is_consumed_in_as_many_calls_as_it_takes(url: str) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server:
        jobs = await app.handler("greet").aenqueue_many([{"name": str(number)} for number in range(5)])
        async with waking(app, server):
            for job in jobs:
                await job.aresult(timeout=20)
        assert len(server.requests) == 3


async def test_nothing_is_called_for_what_others_do(url: str) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server:

        @app.job(queue="elsewhere")
        async def other() -> None: ...

        async with waking(app, server) as waker:
            await other.aenqueue()
            waker.asleep.clear()
            await soon(waker.asleep.wait())  # it has looked again
        assert server.requests == []


async def test_an_enqueue_that_looked_before_it_was_there_and_commits_later_is_not_missed(url: str) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server:
        async with app.atransaction() as connection:
            job = await app.handler("greet").using(connection=connection).aenqueue("ann")
            waker = app.waker(server.url, ["greetings"])
            running = asyncio.create_task(waker.run())
            await soon(waker.asleep.wait())
        assert await job.aresult(timeout=20) is None
        waker.stop()
        await soon(running)


async def test_a_call_that_failed_is_made_again(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with an_app(url) as app, fake_server(consumer := Consumer(app)) as server:
        async with waking(app, server):
            consumer.broken = 1
            job = await app.handler("greet").aenqueue("ann")
            await job.aresult(timeout=20)
        assert len(server.requests) == 2
    assert "answered 503: not now" in caplog.text
    assert "secret" not in caplog.text


async def test_a_retry_that_is_due_wakes_it_too(url: str) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server, waking(app, server):
        await app.handler("greet").using(delay=0.2).aenqueue("ann")
        await until(lambda: _called(server))


async def _called(server: FakeServer) -> bool:
    return bool(server.requests)


async def test_a_lost_connection_loses_no_wake(url: str, connect: Connect) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server, waking(app, server):
        connect().execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where pid <> pg_backend_pid() and datname = current_database()"
        )
        await app.handler("greet").aenqueue("ann")
        await until(lambda: _called(server))


@pytest.mark.parametrize(
    ("given", "field"), [(("file:///x", ["q"]), "url"), (("http://x", []), "queues"), (("http://x", "q"), "queues")]
)
def test_what_cannot_be_is_refused_by_name(url: str, given: tuple[str, list[str]], field: str) -> None:
    with Penstock(url) as app, pytest.raises(InvalidInput) as refused:
        app.waker(*given)
    assert refused.value.field == field


async def test_the_command_calls_and_stops_at_a_signal(url: str) -> None:
    async with an_app(url) as app, fake_server(Consumer(app)) as server:
        command = [sys.executable, "-m", "penstock.cli", "wake", server.url, "-q", "greetings", "-H", "X-Key: 7"]
        command += ["-q", "greetnigs"]
        await app.queues.aset("greetings", max_running=10)
        process = await asyncio.create_subprocess_exec(
            *command, "-d", url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            job = await app.handler("greet").aenqueue("ann")
            await job.aresult(timeout=30)
            process.send_signal(signal.SIGINT)
            out, err = await soon(process.communicate(), 30)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err
        assert out == b"stopped\n"
        assert b"there is no 'greetnigs' yet (did you mean 'greetings'?)" in err
        assert b"there is no 'greetings'" not in err
        assert server.requests[0].headers["x-key"] == "7"

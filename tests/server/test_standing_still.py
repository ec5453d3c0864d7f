"""A server that was stopped and goes on, as on a computer that slept: its streams go on, too."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.hand import Hand
from tests.kit.fixtures import Connect
from tests.kit.until import until
from tests.security.process import Served, served
from tests.server.streaming import path_of, streaming

STANDS = 1.2


@pytest.fixture
def server_process(url: str) -> Iterator[Served]:
    with served(url, PENSTOCK_DATABASE_TIMEOUT="1") as running:
        yield running


async def test_the_streams_of_a_server_that_stood_still_go_on(server_process: Served, connect: Connect) -> None:
    hand = Hand(connect())
    ids = [hand.add() for _ in range(2)]
    worker = hand.worker()
    jobs = {job.id: job for job in worker.claim(2)}
    pid, port = server_process.process.pid, server_process.port
    async with streaming(port, path_of(ids[0])) as first, streaming(port, path_of(ids[1])) as second:
        assert await first.event()
        assert await second.event()
        os.kill(pid, signal.SIGSTOP)
        status = Path(f"/proc/{pid}/stat")
        await until(lambda: status.read_text().rpartition(")")[2].split()[0] == "T")
        worker.complete(jobs[ids[0]])
        await asyncio.sleep(STANDS)  # what is waited for here: that whatever it waits for is overdue
        os.kill(pid, signal.SIGCONT)
        assert [event.name for event in await first.events()] == ["succeeded"]
        worker.progress(jobs[ids[1]], 40)
        event = await second.event()
        assert event is not None
        assert event.data["progress"]["percent"] == 40
        worker.complete(jobs[ids[1]])
        assert [event.name for event in await second.events()] == ["succeeded"]

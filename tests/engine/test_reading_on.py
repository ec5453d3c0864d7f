"""An answer that is there already is read without a turn of the event loop for each 8 KB of it."""

import socket
from collections.abc import Generator, Iterator

import pytest
from psycopg.waiting import Ready, Wait

from penstock import Penstock
from penstock.engine import commands
from penstock.engine.postgres import connections
from penstock.engine.postgres.connections import reading_on

CHUNK = 8192


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def answer(near: socket.socket, size: int) -> Generator[Wait, Ready, int]:
    """As psycopg reads one: so much at a time, whenever there is something."""
    read = 0
    while read < size:
        assert (yield Wait.R) == Ready.R
        read += len(near.recv(CHUNK))
    return read


def turns(reading: Generator[Wait, Ready, int]) -> int:
    """How often the event loop is asked until all is read."""
    asked = 0
    try:
        next(reading)
        while True:
            asked += 1
            reading.send(Ready.R)
    except StopIteration:
        return asked


def test_what_is_there_is_read_in_one_turn(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.postgres.connections._READING", 60.0)
    near, far = ends
    far.sendall(bytes(10 * CHUNK))
    assert turns(reading_on(answer(near, 10 * CHUNK), near.fileno())) == 1


def test_what_is_still_to_come_is_waited_for_by_the_loop(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    far.sendall(bytes(CHUNK))
    reading = reading_on(answer(near, 2 * CHUNK), near.fileno())
    assert next(reading) == Wait.R
    assert reading.send(Ready.R) == Wait.R  # and does not block
    far.sendall(bytes(CHUNK))
    with pytest.raises(StopIteration) as end:
        reading.send(Ready.R)
    assert end.value.value == 2 * CHUNK


def test_others_have_their_turn_when_its_time_is_over(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.postgres.connections._READING", 0.0)
    near, far = ends
    far.sendall(bytes(10 * CHUNK))
    assert turns(reading_on(answer(near, 10 * CHUNK), near.fileno())) == 10


async def test_claims_are_read_on_and_what_only_enqueues_pays_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(gen: Generator[object, object, object], descriptor: int) -> Generator[object, object, object]:
        read.append(descriptor)
        return reading_on(gen, descriptor)

    monkeypatch.setattr(connections, "reading_on", counted)
    async with Penstock(url) as app:

        @app.job
        async def work(text: str) -> None:
            del text

        for _ in range(40):
            await work.aenqueue("x" * 10_000)
        assert not read
        lease = await app.engine.arun(commands.OpenLease("worker"))
        claimed = await app.engine.arun(commands.Claim(lease, "default", 40))
        assert read
        assert [len(job.args) > 10_000 for job in claimed] == [True] * 40

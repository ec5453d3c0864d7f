"""How long a loop pauses after a fault: not longer than its engine is away."""

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from penstock.engine.faults import Faults
from penstock.engine.loop import Loop

MANY = 10


class Failing(Loop):
    """It ends when it has failed often enough."""

    def __init__(self, error: Callable[[int], Exception]) -> None:
        super().__init__(Faults(passing=(OSError,), is_lost=lambda error: isinstance(error, ConnectionError)))
        self._error = error
        self._times = count()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        if (times := next(self._times)) < MANY:
            raise self._error(times)
        self.ended.set()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []

    async def sleep(seconds: float) -> None:
        taken.append(seconds)

    monkeypatch.setattr("penstock.engine.loop.asyncio.sleep", sleep)
    return taken


async def failed(error: Callable[[int], Exception]) -> None:
    failing = Failing(error)
    failing.start()
    async with asyncio.timeout(10):
        await failing.ended.wait()


async def test_an_engine_that_is_away_is_tried_each_second(pauses: list[float]) -> None:
    await failed(lambda _: ConnectionRefusedError("nobody listens"))
    assert pauses == [0.1, 0.2, 0.4, 0.8, *[1.0] * 6]


async def test_what_fails_again_and_again_is_tried_less_often(pauses: list[float]) -> None:
    await failed(lambda _: OSError("a statement failed"))
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, *[5.0] * 4])


async def test_an_engine_that_goes_away_meanwhile_is_tried_each_second(pauses: list[float]) -> None:
    await failed(lambda times: OSError("a statement failed") if times < 8 else ConnectionRefusedError("nobody"))
    assert pauses[-2:] == [1.0, 1.0]

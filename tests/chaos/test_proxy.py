"""The proxy does to connections what it says."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.chaos.producer import giving_up_after
from tests.chaos.wire import Wire, open_wire

A_MOMENT = 0.3


@pytest.fixture
def wire(url: str, tmp_path: Path) -> Iterator[Wire]:
    with open_wire(url, tmp_path) as wire:
        yield wire


@pytest.fixture
def line(wire: Wire) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(wire.url, autocommit=True) as line:
        yield line


@pytest.fixture
def meanwhile() -> Iterator[Callable[[psycopg.Connection[Any]], "Future[object]"]]:
    with ThreadPoolExecutor() as threads:
        yield lambda line: threads.submit(ask, line)


def ask(line: psycopg.Connection[Any]) -> object:
    return line.execute("select 1").fetchall()[0][0]


def test_it_cuts_and_refuses_until_it_is_healed(wire: Wire, line: psycopg.Connection[Any]) -> None:
    assert ask(line) == 1
    wire.order("cut")
    with pytest.raises(psycopg.OperationalError):
        ask(line)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(wire.url)
    wire.order("heal")
    with psycopg.connect(wire.url) as other:
        assert ask(other) == 1


def test_it_delays_both_ways(wire: Wire, line: psycopg.Connection[Any]) -> None:
    wire.order("delay 0.2")
    began = time.monotonic()
    assert ask(line) == 1
    assert time.monotonic() - began >= 0.4


def test_what_was_frozen_goes_on(
    wire: Wire, line: psycopg.Connection[Any], meanwhile: Callable[[psycopg.Connection[Any]], "Future[object]"]
) -> None:
    wire.order("freeze")
    answer = meanwhile(line)
    with pytest.raises(NotYet):
        answer.result(A_MOMENT)
    wire.order("heal")
    assert answer.result(5) == 1


def test_what_vanished_stays_silent_and_new_connections_work(
    wire: Wire, line: psycopg.Connection[Any], meanwhile: Callable[[psycopg.Connection[Any]], "Future[object]"]
) -> None:
    with giving_up_after(4 * A_MOMENT, line):
        wire.order("vanish")
        answer = meanwhile(line)
        wire.order("heal")
        with psycopg.connect(wire.url) as other:
            assert ask(other) == 1
        with pytest.raises(NotYet):
            answer.result(A_MOMENT)
        with pytest.raises(psycopg.OperationalError):
            answer.result(5)

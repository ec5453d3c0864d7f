"""Every order in which two or three sessions can meet, and the orders that find out a broken engine."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import penstock.sql
from tests.engine.hand import Hand
from tests.interleavings import sleeps
from tests.interleavings.explorer import Explorer, Program
from tests.interleavings.mutants import MUTANTS, Mutant
from tests.interleavings.pauses import with_pauses
from tests.interleavings.scenarios import CLEANING, SCENARIOS, World
from tests.kit.fixtures import Connect

FUNCTIONS = Path(penstock.sql.__file__).parent / "functions"


@pytest.fixture
def hand(connect: Connect) -> Hand:
    return Hand(connect())


@pytest.fixture(
    params=[
        pytest.param(1, id="one interruption"),
        pytest.param(None, id="every order", marks=[pytest.mark.slow, pytest.mark.time_limit(600)]),
    ]
)
def explorer(connect: Connect, request: pytest.FixtureRequest) -> Explorer:
    return make_explorer(connect, request.param)


def make_explorer(connect: Connect, interruptions: int | None) -> Explorer:
    sessions = [connect() for _ in range(3)]
    for session in sessions:
        session.execute("set deadlock_timeout = '10min'")  # a circle is found by looking, not by the first to give up
    return Explorer(sessions, connect(), interruptions)


def explore(name: str, hand: Hand, explorer: Explorer, broken: Mutant | None = None) -> int:
    """All orders of a scenario; how many."""
    changed = {broken.function: broken.text(FUNCTIONS)} if broken else {}
    for text in with_pauses(name, FUNCTIONS, changed):
        hand.do(text)
    hand.do(CLEANING)
    world = World(hand)

    def start() -> Sequence[Program]:
        nonlocal world
        world = World(hand)
        world.reset()
        return SCENARIOS[name](world)

    walked = 0
    for order in explorer.orders(start):
        walked += 1
        try:
            world.check()
            world.check_the_end()
        except AssertionError as wrong:
            raise AssertionError(f"{wrong}\n{order}") from wrong
    return walked


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_order_loses_a_job_or_counts_it_twice(name: str, hand: Hand, explorer: Explorer) -> None:
    assert explore(name, hand, explorer) > 1


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_engine_is_found_out(mutant: Mutant, hand: Hand, connect: Connect) -> None:
    with pytest.raises(AssertionError):
        explore(mutant.scenario, hand, make_explorer(connect, 1), mutant)


def test_a_worker_that_sleeps_without_a_second_look_is_found_out(
    hand: Hand, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a plain job while a worker goes to sleep"
    monkeypatch.setitem(SCENARIOS, name, partial(sleeps.falls_asleep, enqueue=sleeps.PLAIN, claims_again=False))
    with pytest.raises(AssertionError, match="the worker sleeps"):
        explore(name, hand, make_explorer(connect, 1))

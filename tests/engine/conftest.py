"""The hands that the tests of the engine act with."""

from collections.abc import Callable

import pytest

from tests.engine.hand import Hand
from tests.kit.fixtures import Connect

Hands = Callable[[], Hand]


@pytest.fixture
def hands(connect: Connect) -> Hands:
    """Makes hands, each on its own connection."""
    return lambda: Hand(connect())


@pytest.fixture
def hand(hands: Hands) -> Hand:
    return hands()

"""How hard Hypothesis tries, and the hands that the tests of the engine act with.

HYPOTHESIS_PROFILE=thorough makes an evening's run of the state machine; the default fits into every test run.
"""

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from tests.conftest import Connect
from tests.engine.hand import Hand

# each example works on a real database, so it is slow, and the time it takes says nothing
settings.register_profile(
    "default",
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=3000, stateful_step_count=80)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

Hands = Callable[[], Hand]


@pytest.fixture
def hands(connect: Connect) -> Hands:
    """Makes hands, each on its own connection."""
    return lambda: Hand(connect())


@pytest.fixture
def hand(hands: Hands) -> Hand:
    return hands()

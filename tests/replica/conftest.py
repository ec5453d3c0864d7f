"""A leader and its replica, made once for all tests here; each cleans up what the next must not see."""

from collections.abc import Iterator

import pytest

from penstock.engine.postgres.migrate import migrate
from tests.kit.standby import Pair, primary_and_standby


@pytest.fixture(scope="session")
def pair() -> Iterator[Pair]:
    with primary_and_standby() as pair:
        migrate(pair.primary.url)
        pair.catch_up()
        yield pair

from collections.abc import Iterator

import pytest

from penstock import Penstock


@pytest.fixture
def app(url: str) -> Iterator[Penstock]:
    with Penstock(url) as app:
        yield app

"""A wire to the test's database that can be cut."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.app.cut_wire import Wire


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    # a socket's path must be short, which pytest's own folders are not
    with TemporaryDirectory(prefix="penstock") as folder:
        wire = Wire(url, Path(folder))
        yield wire
        wire.close()

"""The whole API, asked with whatever its description allows and forbids, by anybody: no 500, nothing undocumented.

When slow tests are asked for, at random and for much longer.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from penstock.testing.database import throw_away
from tests import slow
from tests.server.described import DESCRIPTION
from tests.server.seeded import SeededServer, seeded_server

if TYPE_CHECKING:
    import requests

    from tests.server.generated import Asking

pytestmark = [pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []

OPERATIONS = [(path, method) for path, methods in DESCRIPTION["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def running(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededServer]:
    with throw_away(server, template) as url, seeded_server(url, tmp_path_factory.mktemp("penstock")) as running:
        yield running


@pytest.fixture(scope="module")
def session() -> Iterator["requests.Session"]:
    import requests

    with requests.Session() as session:
        yield session


@pytest.fixture
def asking(running: SeededServer, session: "requests.Session") -> "Asking":
    from tests.server.generated import Asking

    return Asking(running, running.seed(), session)


each_operation = pytest.mark.parametrize(
    ("path", "method"), OPERATIONS, ids=[f"{method.upper()} {path}" for path, method in OPERATIONS]
)


@each_operation
def test_anybody(path: str, method: str, asking: "Asking") -> None:
    asking.ask(path, method, "anonymous", 2)


@each_operation
def test_a_user(path: str, method: str, asking: "Asking") -> None:
    asking.ask(path, method, "user", 2)


@each_operation
def test_the_service(path: str, method: str, asking: "Asking") -> None:
    asking.ask(path, method, "service", 3)

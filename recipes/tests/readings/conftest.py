"""Applications of readings over a fresh database."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Backoff, Penstock
from penstock_recipes.readings import make_app
from readings.people import ShortWriter

MakeApp = Callable[..., Penstock]


@pytest.fixture
async def make(url: str, tmp_path: Path) -> AsyncIterator[MakeApp]:
    """Of two short chapters unless told otherwise; tried again at once."""
    made: list[Penstock] = []

    def make_one(**options: Any) -> Penstock:
        chosen: dict[str, Any] = {"artifacts": str(tmp_path / "files"), "chapters": 2, "text": ShortWriter()}
        made.append(make_app(url, **chosen | {"backoff": Backoff.constant(0.01)} | options))
        return made[-1]

    yield make_one
    for app in made:
        await app.aclose()

"""The recipe on a fresh database: a real server on a loopback port, a folder for files."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from exports.asking import Exports, serving
from penstock import Penstock
from penstock.worker.process import HandlerProcess, HandlerProcesses
from penstock_recipes.exports import install


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
async def exports(url: str, files: Path) -> AsyncIterator[Exports]:
    """With the limits that the recipe has by itself."""
    async with Penstock(url, artifacts=files) as app:
        install(app)
        async with serving(app) as exports:
            yield exports


@pytest.fixture(scope="package")
def loaded_processes() -> Iterator[list[HandlerProcess]]:
    kept: list[HandlerProcess] = []
    yield kept
    for child in kept:
        child.close()
        child.process.kill()
        child.process.join()


@pytest.fixture
def kept_processes(loaded_processes: list[HandlerProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's processes for handlers outlive it, for the workers of the next tests: each takes half a second of a
    processor to load what sets pages."""
    begin = HandlerProcesses.__init__

    def begin_with_them(self: HandlerProcesses, *given: Any) -> None:
        begin(self, *given)
        self._idle = loaded_processes

    monkeypatch.setattr(HandlerProcesses, "__init__", begin_with_them)
    monkeypatch.setattr(HandlerProcesses, "close", lambda _: None)

"""Folders for real servers. A test leaves no process behind, whatever it killed: the fixture checks."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import embedded
from tests.kit.until import wait_until

from .users import nothing_runs


@pytest.fixture
def fresh() -> Iterator[Path]:
    """A folder that does not exist yet, under a parent that everybody may pass through."""
    parent = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    parent.chmod(0o755)
    folder = parent / "pg"
    yield folder
    embedded.stop(folder)
    wait_until(lambda: nothing_runs(folder))
    shutil.rmtree(parent)


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """The folder of a server that ran before: making one takes over a second."""
    parent = Path(tempfile.mkdtemp(prefix="penstock-test-"))
    parent.chmod(0o755)
    embedded.start(parent / "pg").close()
    yield parent / "pg"
    shutil.rmtree(parent)


@pytest.fixture
def folder(prepared: Path) -> Iterator[Path]:
    """The folder of a server that ran before and is stopped, for tests that leave it as it was."""
    yield prepared
    embedded.stop(prepared)
    wait_until(lambda: nothing_runs(prepared))


@pytest.fixture
def own_folder(fresh: Path, prepared: Path) -> Path:
    """The same, for a test that changes what is in it. Copying it takes 0.3 to 0.7 s."""
    assert nothing_runs(prepared)
    subprocess.run(["cp", "-a", prepared, fresh], check=True)
    return fresh


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")

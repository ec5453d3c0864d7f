"""The `penstock` command, run as a shell would run it, on a database that is empty."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from penstock import Handler, Penstock
from penstock.cli.commands import cli
from tests.app.conftest import shared as shared
from tests.app.conftest import url as url
from tests.app.worker import Worker


@dataclass
class Command:
    """Calls `penstock` with arguments; `environment` is what the shell would have exported."""

    environment: dict[str, str | None]

    def __call__(self, *arguments: object, answer: str | None = None) -> Result:
        result = CliRunner().invoke(cli, [str(each) for each in arguments], input=answer, env=self.environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def lines(self, *arguments: object, answer: str | None = None) -> list[str]:
        """What it printed, once it was seen to have gone well."""
        result = self(*arguments, answer=answer)
        assert result.exit_code == 0, result.stderr
        # the runner plays the terminal too, which shows what was typed
        shown = f" {answer}" if answer else ""
        assert result.stdout.startswith(shown)
        return result.stdout.removeprefix(shown).splitlines()

    def json(self, *arguments: object, answer: str | None = None) -> Any:
        """What it printed with --json, read: nothing else may be among it."""
        return msgspec.json.decode("\n".join(self.lines(*arguments, "--json", answer=answer)))

    def fails(self, *arguments: object, code: int = 1) -> str:
        """What it complained of, on stderr and nowhere else."""
        result = self(*arguments)
        assert (result.exit_code, result.stdout) == (code, "")
        return result.stderr


@pytest.fixture
def penstock(url: str, tmp_path: Path) -> Command:
    return Command({"DATABASE_URL": url, "PENSTOCK_FOLDER": str(tmp_path / "none"), "COLUMNS": "200"})


@pytest.fixture
def homeless(tmp_path: Path) -> Command:
    """Without a database in its environment."""
    return Command({"DATABASE_URL": None, "PENSTOCK_FOLDER": str(tmp_path / "folder"), "COLUMNS": "200"})


@pytest.fixture
def app(url: str) -> Iterator[Penstock]:
    with Penstock(url) as app:
        yield app


@pytest.fixture
def send(app: Penstock) -> Handler[..., None]:
    @app.job
    def send(to: str) -> None: ...

    return send


@pytest.fixture
def failed(app: Penstock, send: Handler[..., None]) -> list[str]:
    """The ids of three jobs that have failed: two of the queue mail, one of pdf."""
    ids = []
    for queue in ("mail", "mail", "pdf"):
        ids.append(str(send.using(queue=queue).enqueue("ada").id))
        worker = Worker(app, queue)
        worker.fail(worker.claim_one(), error="no route to host")
    return ids

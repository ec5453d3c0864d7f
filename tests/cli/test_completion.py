"""Tab, as a shell asks for it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock import Penstock
from penstock.cli.commands import cli
from tests.cli.conftest import Command


def offered(penstock: Command, line: str) -> list[str]:
    """What bash is offered for the last word of the line."""
    asked = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    result = CliRunner().invoke(cli, [], prog_name="penstock", env=penstock.environment | asked)
    assert result.stderr == ""
    return result.stdout.split()


@pytest.fixture
def known(app: Penstock) -> None:
    """A queue with settings, a kind that has run, a schedule."""
    app.queues.set("mail", max_running=3)
    app.schedules.set("nightly", "0 2 * * *", "tidy")

    @app.job
    def tidy() -> None: ...

    tidy.enqueue()
    app.tick()


@pytest.mark.usefixtures("known")
def test_commands_options_queues_kinds_and_schedules_are_offered(penstock: Command) -> None:
    assert {"init", "up", "top", "enqueue"} <= set(offered(penstock, "penstock "))
    assert offered(penstock, "penstock queues pa") == ["pause"]
    assert "--state" in offered(penstock, "penstock jobs list --")
    assert offered(penstock, "penstock jobs list --queue ma") == ["mail"]
    assert offered(penstock, "penstock queues pause ") == ["mail"]
    assert offered(penstock, "penstock jobs retry --kind t") == ["tidy"]
    assert offered(penstock, "penstock enqueue ") == ["tidy"]
    assert offered(penstock, "penstock schedules run n") == ["nightly"]
    assert offered(penstock, "penstock jobs list --state fa") == ["failed"]


def test_the_application_says_which_kinds_there_are(
    penstock: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mailroom.py").write_text(
        "from penstock import Penstock\napp = Penstock()\n@app.job\ndef letter() -> None: ...\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert offered(penstock, "penstock enqueue --app mailroom:app le") == ["letter"]


def test_nothing_is_offered_and_nothing_said_where_no_database_is(homeless: Command) -> None:
    assert offered(homeless, "penstock queues pause ") == []
    assert not Path(homeless.environment["PENSTOCK_FOLDER"] or "").exists()
    homeless.environment["DATABASE_URL"] = "postgresql://127.0.0.1:1/nowhere"
    assert offered(homeless, "penstock queues pause ") == []

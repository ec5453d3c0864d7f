"""Text of jobs on a terminal is shown, and never obeyed."""

import io
import json
import logging

import pytest
import typer

from penstock import Handler, Penstock
from penstock.cli.output import explained
from penstock.errors import PenstockError
from penstock.logs import ForPeople, JSONLines, set_up, shown
from tests.app.worker import Worker
from tests.cli.conftest import Command

NASTY = "\x1b]0;owned\x07 \x1b[2J \x9b31m \u202egnp.exe \u2066 \r\x08"


@pytest.fixture
def nasty(app: Penstock, send: Handler[..., None]) -> str:
    job = send.using(owner=NASTY.replace("\x00", ""), max_attempts=1).enqueue(NASTY)
    worker = Worker(app)
    worker.fail(worker.claim_one(), error=NASTY)
    return str(job.id)


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", [["jobs", "list"], ["jobs", "show"]], ids=" ".join)
def test_a_command_shows_what_a_terminal_would_obey(
    penstock: Command, nasty: str, command: list[str], json: list[str]
) -> None:
    said = penstock(*command, *([nasty] if "show" in command else []), *json).stdout
    assert not set(said) & set("\x1b\x07\x9b\u202e\u2066\r\x08")
    assert ("\\u202e" in said) is True


@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_so_does_what_it_complains_of(capsys: pytest.CaptureFixture[str], json: bool) -> None:
    with pytest.raises(typer.Exit), explained(json):
        raise PenstockError(NASTY)  # as a server or a database has put it
    said = capsys.readouterr().err
    assert not set(said) & set("\x1b\x07\x9b\u202e\u2066\r\x08")
    assert "\\u202e" in said


@pytest.mark.parametrize("formatter", [ForPeople(colour=False), JSONLines()], ids=lambda each: type(each).__name__)
def test_so_do_log_lines(formatter: logging.Formatter) -> None:
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, f"failed: {NASTY}\n12:00:00  forged", (), None)
    line = formatter.format(record)
    assert not set(line) & set("\x1b\x07\x9b\u202e\u2066\r\x08")
    if isinstance(formatter, JSONLines):
        assert json.loads(line)["message"] == record.getMessage()
    else:
        assert "\n12:00:00" not in line


def test_ordinary_text_is_left_as_it_is() -> None:
    for text in ("Grüße, 世界, שלום 🎉\tand\nmore", "é", ""):
        assert shown(text) == text


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False), ("", True)])
def test_no_color_takes_the_colours_out_of_log_lines(
    monkeypatch: pytest.MonkeyPatch, no_color: str | None, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        set_up(stream=(screen := Screen()))
        logging.getLogger("penstock").warning("careful")
    finally:
        root.handlers[:], root.level = before
    assert ("\x1b[" in screen.getvalue()) is coloured

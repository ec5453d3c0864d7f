"""Bars on a terminal, and nothing where there is none."""

import io
from uuid import UUID

import pytest
from rich.console import Console

from penstock import Handler, Penstock
from penstock.cli import progress
from penstock.cli.operate import operate
from penstock.engine import commands
from tests.cli.conftest import Command


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would be sent."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100, force_interactive=True)
    monkeypatch.setattr(progress, "err", console)
    return written


def test_what_is_too_much_for_one_transaction_is_done_in_chunks_while_one_waits(
    penstock: Command, app: Penstock, send: Handler[..., None], terminal: io.StringIO
) -> None:
    send.using(queue="mail").enqueue_many([{"to": "x"}] * 2500)
    assert penstock.lines("jobs", "move", "slow", "-q", "mail", "--create", "-y") == ["2500 jobs moved to slow"]
    assert "moving" in terminal.getvalue()
    assert "2500/2500" in terminal.getvalue()
    assert [(queue.name, queue.ready) for queue in app.queues.list()] == [("slow", 2500)]
    [operation] = app.operations.list()
    assert (operation.state, operation.done) == ("done", 2500)


def test_ctrl_c_ends_an_operation_for_everybody(
    app: Penstock, send: Handler[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    send.enqueue_many([{"to": "x"}] * 1500)

    def press_ctrl_c(id: UUID) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app.operations, "get", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        operate(app, "move", {"queue": "slow"}, True, kind="send")
    [operation] = app.operations.list()
    assert (operation.state, operation.done) == ("cancelled", 1000)
    assert not app.engine.run(commands.ContinueOperation())


def test_a_bar_is_shown_on_a_terminal_and_gone_in_the_end(
    penstock: Command, send: Handler[..., None], terminal: io.StringIO, empty_url: str
) -> None:
    send.enqueue_many([{"to": "x"}] * 3)
    penstock.lines("jobs", "cancel", "-k", "send", "-y")
    assert "cancelling" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    penstock.lines("migrate", "-d", empty_url)
    assert "functions" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line it was on is empty again


def test_scripts_see_no_bar(penstock: Command, send: Handler[..., None], terminal: io.StringIO) -> None:
    send.enqueue("x")
    penstock.json("jobs", "cancel", "-k", "send", "-y")
    assert terminal.getvalue() == ""
    terminal_is_none = penstock("jobs", "purge", "-k", "send", "-s", "cancelled", "-y")
    assert terminal_is_none.stdout == "1 job purged\n"

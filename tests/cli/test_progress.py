"""Bars on a terminal, and nothing where there is none."""

import io

import pytest
from rich.console import Console

from penstock import Handler, Penstock
from penstock.cli import jobs, progress
from tests.cli.conftest import Command


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would be sent."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100, force_interactive=True)
    monkeypatch.setattr(progress, "err", console)
    return written


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PART", 2)


@pytest.mark.usefixtures("small_parts")
def test_changes_by_filter_are_made_in_parts_and_reach_every_job(
    penstock: Command, app: Penstock, send: Handler[..., None]
) -> None:
    send.using(queue="mail").enqueue_many([{"to": "x"}] * 5)
    assert len(penstock.json("jobs", "cancel", "-q", "mail", "-y")["cancelled"]) == 5
    assert len(penstock.json("jobs", "retry", "-q", "mail", "-s", "cancelled", "-y")["retried"]) == 5
    assert len(penstock.json("jobs", "cancel", "-k", "send", "-y")["cancelled"]) == 5
    assert penstock.json("jobs", "purge", "-q", "mail", "-s", "cancelled", "-y") == {"purged": 5}
    assert app.jobs.list().jobs == []


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

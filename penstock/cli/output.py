"""How commands speak: tables and sentences for people, JSON for scripts, errors on stderr with an exit code."""

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec
import psycopg
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from penstock.cli.hints import with_hint
from penstock.cli.interrupt import INTERRUPTED, interruptible
from penstock.embedded.errors import EmbeddedError
from penstock.errors import PenstockError
from penstock.extras import MissingExtra
from penstock.logs import escaped_in_json, shown

# a pipe has no width: do not fold what a script or a pager will read
out = Console(width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True)


def print_json(value: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=2).decode()
    sys.stdout.write(escaped_in_json(text) + "\n")


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)


def print_table(columns: list[str], rows: list[list[Any]], *, empty: str) -> None:
    if not rows:
        out.print(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1])
    for row in rows:
        # escaped: an error's text or a queue's name may have brackets
        table.add_row(*("" if cell is None else escape(shown(str(cell))) for cell in row))
    # a narrow terminal wraps the lines by itself: better than cutting ids short
    Console(width=max(out.width, 140)).print(table)


def print_record(record: object, names: Iterable[str]) -> None:
    """What is on record, a line for each value that there is."""
    for name in names:
        value = getattr(record, name)
        if value not in (None, {}, [], False):
            out.print(f"[bold]{name:>16}[/]  {escape(shown(str(value)))}", soft_wrap=True, highlight=False)


def ask(question: str) -> None:
    """Stops the command unless somebody agrees."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        err.print()
        raise PenstockError("nobody answers here; --yes goes on without the question") from None
    if not agreed:
        raise typer.Exit(1)


def warn(message: str, *, json: bool) -> None:
    """On stderr, whatever is printed beside it."""
    if json:
        _tell_json({"warning": message})
    else:
        err.print(f"[bold yellow]warning:[/] {escape(shown(message))}", highlight=False, soft_wrap=True)


@contextmanager
def explained(json: bool) -> Iterator[None]:
    """Turns what can go wrong into one line (or one JSON object) on stderr and exit code 1."""
    try:
        with interruptible():
            yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except (PenstockError, MissingExtra, EmbeddedError, psycopg.Error) as error:
        _complain(with_hint(error), type(error).__name__, json)


def _complain(message: str, type: str, json: bool) -> NoReturn:
    if json:
        _tell_json({"error": message, "type": type})
    else:
        err.print(f"[bold red]error:[/] {escape(shown(message))}", highlight=False, markup=True, soft_wrap=True)
    raise typer.Exit(1) from None


def _tell_json(told: dict[str, str]) -> None:
    sys.stderr.write(escaped_in_json(msgspec.json.encode(told).decode()) + "\n")

"""How far a command is: a bar on a terminal, nothing where a script reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
)  # fmt: skip
from rich.progress import TimeElapsedColumn as Elapsed
from rich.text import Text

from penstock.cli.output import err


class Told(Protocol):
    """Tells how much is done, of how much as far as that is known, and what is at hand."""

    def __call__(self, done: int, total: int | None = None, what: str | None = None) -> None: ...


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="dim")


@contextmanager
def bar(what: str, total: int | None = None, *, json: bool, percent: bool = False) -> Iterator[Told]:
    """Gone when it is done. Without a total it shows how much was done so far. `percent`: nothing is counted."""
    doing = TextColumn("{task.description}", markup=False)
    far = [TaskProgressColumn()] if percent else [MofNCompleteColumn(), _Rate()]
    with Progress(
        SpinnerColumn(),
        doing,
        BarColumn(),
        *far,
        Elapsed(),
        console=err,
        transient=True,
        disable=json or not err.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=total)

        def tell(done: int, total: int | None = None, what: str | None = None) -> None:
            progress.update(task, completed=done, total=total, description=what)

        yield tell

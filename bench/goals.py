"""What is meant to be reached, and whether it was."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

MISSED = 3
"""The exit status of a benchmark that measured everything, and missed a goal: one that broke ends with 1."""


@dataclass(frozen=True)
class Goal:
    name: str
    label: str
    at_least: float | None = None
    at_most: float | None = None
    form: str = ".2f"

    def met(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def colour(self, value: float) -> str:
        return f"[{'green' if self.met(value) else 'red'}]{value:{self.form}}[/]"

    def __str__(self) -> str:
        return f"≥ {self.at_least:{self.form}}" if self.at_least is not None else f"≤ {self.at_most:{self.form}}"


def verdicts(goals: Sequence[Goal], measured: Mapping[str, float]) -> dict[str, bool]:
    """Which were met, of those that were measured."""
    return {goal.name: goal.met(measured[goal.name]) for goal in goals if goal.name in measured}


def end(met: Mapping[str, bool | None]) -> None:
    """The last thing that a benchmark does: whoever started it hears by its exit status that a goal was missed. What
    could not be judged is none."""
    if missed := [name for name, was_met in met.items() if was_met is False]:
        print(f"missed: {', '.join(missed)}", file=sys.stderr)
        raise SystemExit(MISSED)


def table(goals: Sequence[Goal], measured: Mapping[str, float]) -> Table:
    made = Table(title="goals", box=None)
    for column in ("ours", "measured", "goal"):
        made.add_column(column, justify="left" if column == "ours" else "right")
    for goal in goals:
        if goal.name in measured:
            made.add_row(goal.label, goal.colour(measured[goal.name]), str(goal))
    return made

"""What came of it, to be read by people and by programs."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bench import machine
from tests.chaos.ledger import RED
from tests.chaos.storm import Outcome

MEANINGS = {
    "enqueued": "jobs whose commit was acknowledged, or that turned out to have landed",
    "finished": "jobs in a final state",
    "failed": "of these, given up for good",
    "rolled_back": "jobs whose transaction was rolled back",
    "maybe": "jobs whose connection was lost during the commit",
    "maybe_landed": "of these, committed all the same",
    "runs": "runs of handlers",
    "rerun": "jobs that were run more than once",
    "refused": "outcomes that came too late and were refused",
    "lost": "committed, and never finished",
    "ghosts": "there, though rolled back or never enqueued",
    "double_accepted": "finished twice, or by a run that had lost the job",
    "effects_wrong": "written by ctx.transaction(), and not exactly once",
}


def show(console: Console, outcome: Outcome) -> None:
    table = Table(title="the ledger", box=None)
    table.add_column("")
    table.add_column("jobs", justify="right")
    table.add_column("")
    for name, count in outcome.reckoning.to_json().items():
        colour = "white" if name not in RED else "red" if count else "green"
        table.add_row(name, f"[{colour}]{count:,}[/{colour}]", f"[dim]{MEANINGS[name]}[/dim]")
    colour = "green" if outcome.recovery <= outcome.allowed else "red"
    longest = f"[dim]the longest of {len(outcome.struck)} faults[/dim]"
    table.add_row("recovery_s", f"[{colour}]{outcome.recovery:.2f}[/{colour}]", longest)
    console.print(table)
    if outcome.left_out:
        console.print(f"left out: {', '.join(outcome.left_out)}")
    if not outcome.drained:
        console.print("[red]the queue did not drain[/red]")
    if outcome.ended:
        console.print(f"[red]ended by themselves: {', '.join(outcome.ended)}[/red]")


def to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "machine": machine.here(),
        **outcome.reckoning.to_json(),
        "recovery_s": round(outcome.recovery, 3),
        "seed": outcome.seed,
        "faults": [
            {
                "kind": each.kind,
                "what": each.what,
                "recovery_s": round(each.recovery.seconds, 3),
                "stuck": list(each.recovery.stuck),
            }
            for each in outcome.struck
        ],
        "left_out": list(outcome.left_out),
        "ended": list(outcome.ended),
        "drained": outcome.drained,
        "good": outcome.good,
    }

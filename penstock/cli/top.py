"""`penstock top`: queues, workers and what runs, live."""

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import psycopg
import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from penstock.app import Penstock
from penstock.cli.output import out, print_json
from penstock.cli.samples import Samples, take_sample
from penstock.cli.screen import View, beside, keys, picture
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.cli.keys import Read

CALM = 20
"""A look takes at most this part of the time: a database that is slow to answer is asked less often."""


def top(
    app: Penstock,
    json: bool,
    every: Annotated[float, typer.Option("--every", "-n", min=0.2, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print how it is now, and end. So does --json.")] = False,
) -> None:
    """Watch queues, workers, running jobs and throughput. q ends it, p pauses it, s or arrows sort the queues.

    Without a terminal it prints how it is now, and ends.
    """
    samples, sample = Samples(), take_sample(app)
    samples.add(sample)
    view = View(app.home.shown if app.engine.capabilities.database else app.engine.outage.what, every)
    if json:
        print_json(
            {"queues": sample.queues, "workers": sample.workers, "ready": sample.ready, "running": sample.running,
             "runs": sample.runs, "failures": sample.failures, "last_minute": sample.last_minute}
        )  # fmt: skip
    elif once or not (out.is_terminal and sys.stdin.isatty()):
        out.print(picture(samples, sample, view, None))
    else:
        from penstock.cli.keys import reading_keys

        with reading_keys() as read:
            try:
                watch(app, samples, view, read)
            except KeyboardInterrupt:
                return  # as q


def watch(app: Penstock, samples: Samples, view: View, read: "Read") -> None:
    sample, due = samples.latest, time.monotonic() + view.every
    with Live(console=out, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            live.update(Group(picture(samples, sample, view, live.console.height), Text(), keys(view)), refresh=True)
            pressed = read(3600 if view.paused else due - time.monotonic())
            match pressed:
                case "q" | "Q" | "\x1b" | "\x04":
                    return
                case "p" | "P" | " ":
                    view = replace(view, paused=not view.paused)
                case "s" | "right" | "down":
                    view = replace(view, sort=beside(view.sort))
                case "left" | "up":
                    view = replace(view, sort=beside(view.sort, -1))
            if view.paused or time.monotonic() < due:
                continue
            try:
                sample = take_sample(app)
            except (PenstockError, psycopg.Error) as error:
                view = replace(view, trouble=" ".join(str(error).split()))
            else:
                samples.add(sample)
                view = replace(view, trouble=None)
            due = time.monotonic() + max(view.every, CALM * sample.took)

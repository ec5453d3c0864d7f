"""`make storm-recipes`: 20 readings and 200 exports at once, workers killed every few seconds; then the files are
compared with those of a run that nobody disturbed."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock import embedded
from storm.storm import Plan, run_storm


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m storm", description=__doc__)
    parser.add_argument("--readings", type=int, default=20)
    parser.add_argument("--exports", type=int, default=200)
    parser.add_argument("--chapters", type=int, default=16)
    parser.add_argument("--kill-every", type=float, default=4.0, help="seconds")
    given = parser.parse_args()
    plan = Plan(given.readings, given.exports, given.chapters, given.kill_every)
    console = Console()
    bars = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded.start(Path(folder) / "postgres") as postgres,
        Progress(*bars, console=console) as progress,
    ):
        report = asyncio.run(run_storm(plan, postgres.url, Path(folder) / "files", progress))
    console.print(report)
    if report.wrong:
        raise SystemExit("something did not end right")


if __name__ == "__main__":
    main()

"""`penstock top` as a picture of a given size."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.samples import Rates, Sample, Samples
from penstock.engine.commands import LiveWorker, Queue, RunningJob
from penstock.logs import counted, shown
from penstock.statistics import Runs

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEADS = 10
"""Lines that are no rows: three of numbers, three of headings, empty ones, the keys."""

SORTS: dict[str, Callable[[Queue], tuple[float, str]]] = {
    "name": lambda queue: (0, queue.name),
    "ready": lambda queue: (-queue.ready, queue.name),
    "running": lambda queue: (-queue.running, queue.name),
    "oldest": lambda queue: (-(queue.oldest_ready_seconds or 0), queue.name),
}


@dataclass(frozen=True, slots=True)
class View:
    """What the person before it has chosen, and what is wrong at the moment."""

    database: str
    every: float
    sort: str = "name"
    paused: bool = False
    trouble: str | None = None


def picture(samples: Samples, sample: Sample, view: View, height: int | None) -> RenderableType:
    """As much as fits; what does not is counted. Without a height everything is there."""
    jobs = sorted(
        ((job, worker) for worker in sample.workers for job in worker.running), key=lambda each: -each[0].seconds
    )
    queues, workers, running = _share(height, len(sample.queues), len(sample.workers), len(jobs))
    parts: list[RenderableType] = [
        _headline(sample, view, height), _numbers(sample, samples.rates, samples.speeds), _minute(sample.last_minute),
        Text(), _queues(sorted(sample.queues, key=SORTS[view.sort]), view.sort, queues),
        Text(), _workers(sample.workers, workers),
        Text(), _jobs(jobs, running),
    ]  # fmt: skip
    return Group(*parts)


def keys(view: View) -> Text:
    on = "go on" if view.paused else "pause"
    return Text(f"q quit   p {on}   s sort by {beside(view.sort)}", style="dim")


def beside(sort: str, step: int = 1) -> str:
    """The next way to sort, or the one before."""
    names = list(SORTS)
    return names[(names.index(sort) + step) % len(names)]


def _share(height: int | None, *wanted: int) -> list[int]:
    """How many rows each table gets of those that fit: what one does not need is the others'."""
    if height is None:
        return list(wanted)
    left, given = max(height - _HEADS, 3), [0] * len(wanted)
    for place in sorted(range(len(wanted)), key=lambda each: wanted[each]):
        open_ = sum(1 for each in given if each == 0)
        given[place] = min(max(wanted[place], 1), max(1, left // open_))
        left -= given[place]
    return given


def _headline(sample: Sample, view: View, height: int | None) -> Text:
    at = datetime.now(UTC).astimezone()
    line = Text.assemble(("penstock top", "bold"), f"  {shown(view.database)}  {at:%H:%M:%S}")
    if view.trouble:
        line.append(f"  {shown(view.trouble)}", "red")
    elif height is None:
        pass
    elif view.paused:
        line.append("  paused", "yellow")
    else:
        line.append(f"  every {view.every:g} s, a look takes {1000 * sample.took:.0f} ms", "dim")
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _numbers(sample: Sample, rates: Rates, speeds: Iterable[float]) -> Text:
    line = Text.assemble(
        (f"{rate(rates.runs)}", "bold"), " runs/s   ",
        (f"{rate(rates.failures)}", "bold red" if rates.failures else "bold"), " failures/s   ",
        (f"{sample.running:,}", "bold"), " running   ",
        (f"{sample.ready:,}{more(*sample.queues)}", "bold"), " ready   ",
        (f"{len(sample.workers):,}", "bold"), f" {'worker' if len(sample.workers) == 1 else 'workers'}   ",
        (sparkline(list(speeds)), "cyan"),
    )  # fmt: skip
    line.no_wrap, line.overflow = True, "crop"
    return line


def _minute(runs: Runs | None) -> Text:
    if runs is None or not (ended := runs.succeeded + runs.failed + runs.retried + runs.cancelled):
        return Text("the last minute: no runs", style="dim")
    told = f"the last minute: {counted(ended, 'run')}, {runs.failed:,} given up, {runs.retried:,} to be retried"
    if runs.waited.p95 is not None and runs.ran.p95 is not None:
        told += f"; of 100, 95 waited up to {duration(runs.waited.p95)} and ran up to {duration(runs.ran.p95)}"
    return Text(told, style="dim", no_wrap=True, overflow="ellipsis")


def rate(value: float | None) -> str:
    """Of three digits or more without a fraction."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:,.1f}"


def sparkline(values: Sequence[float]) -> str:
    most = max(values, default=0)
    return "".join(_BLOCKS[round(value / most * (len(_BLOCKS) - 1))] if most else _BLOCKS[0] for value in values)


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:,.0f} h {seconds % 3600 // 60:.0f} min"


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis", justify="right" if column in right else "left")
    return table


def _rest(table: Table, hidden: int, what: str, many: str) -> Table:
    if hidden > 0:
        table.add_row(Text(f"… and {counted(hidden, what, many)} more", style="dim"))
    return table


def _fit(rows: int, all: int) -> int:
    """One row is for how many are left out."""
    return all if all <= rows else max(rows - 1, 0)


def _queues(queues: Sequence[Queue], sort: str, rows: int) -> Table:
    numbers = ["ready", "running", "scheduled", "blocked", "oldest"]
    heads = [f"{head} ▾" if head == sort else head for head in numbers]
    table = _table("queue", *heads, "", right=heads)
    for queue in queues[: _fit(rows, len(queues))]:
        table.add_row(
            Text(shown(queue.name)), f"{queue.ready:,}{more(queue)}", f"{queue.running:,}", f"{queue.scheduled:,}",
            f"{queue.blocked:,}", duration(queue.oldest_ready_seconds),
            Text("  paused", style="yellow") if queue.paused else "",
        )  # fmt: skip
    if not queues:
        table.add_row(Text("no queues yet", style="dim"))
    return _rest(table, len(queues) - _fit(rows, len(queues)), "queue", "queues")


def _workers(workers: Sequence[LiveWorker], rows: int) -> Table:
    table = _table("worker", "host", "pid", "running", "heard of", "queues", right=["pid", "running", "heard of"])
    now = datetime.now(UTC)
    for worker in workers[: _fit(rows, len(workers))]:
        ago = max(0.0, (now - worker.heard_at).total_seconds())
        table.add_row(
            Text(shown(worker.worker)), Text(shown(worker.host or "")), str(worker.pid or ""),
            f"{len(worker.running):,}", f"{duration(ago)} ago", Text(shown(", ".join(worker.queues))),
        )  # fmt: skip
    if not workers:
        table.add_row(Text("no workers: start one with `penstock worker APP`", style="dim"))
    return _rest(table, len(workers) - _fit(rows, len(workers)), "worker", "workers")


def _jobs(jobs: Sequence[tuple[RunningJob, LiveWorker]], rows: int) -> Table:
    table = _table("job", "kind", "queue", "attempt", "for", "on", right=["attempt", "for"])
    for job, worker in jobs[: _fit(rows, len(jobs))]:
        stopping = " (asked to stop)" if job.cancel_requested else ""
        table.add_row(
            str(job.id), Text(shown(job.kind)), Text(shown(job.queue)), str(job.attempt), duration(job.seconds),
            Text(shown(worker.worker) + stopping),
        )  # fmt: skip
    if not jobs:
        table.add_row(Text("nothing runs", style="dim"))
    return _rest(table, len(jobs) - _fit(rows, len(jobs)), "job", "jobs")


def more(*queues: Queue) -> str:
    """Where there are more jobs than were counted."""
    return "" if all(queue.exact for queue in queues) else "+"

"""What a job costs in each system, by the size of its arguments: CPU of the client and of Postgres, bytes of WAL."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from rich.table import Table

from bench import payload
from bench.figures import median_a_job, shown
from bench.goals import Goal
from bench.measuring import Drained

WAL = ("wal_bytes", "wal_enqueue_bytes", "wal_after_bytes")
"""System → payload → bytes a job: its whole life, until it is enqueued, and from then on."""
MOST_WAL = 1200.0

Runs = dict[int, dict[str, list[Drained]]]
"""By size and system."""


def results(runs: Runs) -> dict[str, Any]:
    """`cpu_us` and `jobs` of each size, as `cpu_us_10k`, and those of WAL, which tell sizes apart themselves."""
    found: dict[str, Any] = {key: defaultdict(dict) for key in WAL}
    for size, of_size in runs.items():
        suffix, label = payload.suffix(size), payload.label(size)
        found[f"jobs{suffix}"] = {name: drains[0].jobs for name, drains in of_size.items()}
        cpu = found[f"cpu_us{suffix}"] = {}
        for name, drains in of_size.items():
            cpu[name] = {
                "worker": _median(((each.worker_cpu, each) for each in drains), 1e6),
                "postgres": _median(((each.after.cpu, each) for each in drains), 1e6),
                "postgres_enqueue": _median(((each.enqueue.cpu, each) for each in drains), 1e6),
            }
            whole = _median((each.wal, each) for each in drains)
            enqueue = _median((each.enqueue.wal, each) for each in drains)
            after = _median((each.after.wal, each) for each in drains)
            for key, value in zip(WAL, (whole, enqueue, after), strict=True):
                found[key][name][label] = value
    return found


def goals(sizes: Iterable[int]) -> list[Goal]:
    return [
        Goal(f"wal_after{payload.suffix(size)}", f"WAL after the enqueue, {size:,} bytes a job", at_most=MOST_WAL,
             form=",.0f")
        for size in sizes
    ]  # fmt: skip


def measured(results: dict[str, Any], sizes: Iterable[int]) -> dict[str, float]:
    """Ours, by the names of these goals."""
    after = results["wal_after_bytes"].get("penstock", {})
    return {f"wal_after{payload.suffix(size)}": after[payload.label(size)] for size in sizes if after}


def table(results: dict[str, Any], size: int, rates: dict[str, float]) -> Table:
    """A line for each system, the fastest first."""
    made = Table(title=f"{size:,} bytes a job, one process", box=None)
    made.add_column("system", no_wrap=True)
    for column in ("jobs/s", "worker µs", "Postgres µs", "at enqueue", "WAL B", "at enqueue", "jobs"):
        made.add_column(column, justify="right")
    label, suffix = payload.label(size), payload.suffix(size)
    for name, rate in sorted(rates.items(), key=lambda item: -item[1]):
        cpu = results[f"cpu_us{suffix}"][name]
        made.add_row(
            f"[bold]{name}[/]" if name == "penstock" else name, f"{rate:,.0f}", shown(cpu["worker"], ",.0f"),
            shown(cpu["postgres"], ",.0f"), shown(cpu["postgres_enqueue"], ",.0f"),
            shown(results["wal_after_bytes"][name][label], ",.0f"),
            shown(results["wal_enqueue_bytes"][name][label], ",.0f"), f"{results[f'jobs{suffix}'][name]:,}",
        )  # fmt: skip
    return made


def _median(spent: Iterable[tuple[float | None, Drained]], scale: float = 1.0) -> float | None:
    return median_a_job(((total, drained.jobs) for total, drained in spent), scale)

"""The first page: how much there is to do, how long it waits, and who does it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.engine import commands
from penstock.engine.commands import LiveWorker, Queue, SummedRuns
from penstock.server.dashboard import words
from penstock.server.dashboard.charts import SPANS, charts_of, steps_of
from penstock.server.dashboard.page import Contents, Look, Section

section = Section()

LATE = 60.0
"""Seconds after which a job that is ready has waited for long enough to be shown in another colour."""


class Figure(NamedTuple):
    label: str
    value: str
    note: str
    path: str
    tone: str = ""


class BarPart(NamedTuple):
    """Of a bar, in per cent."""

    name: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class QueueRow:
    name: str
    paused: bool
    ready: int
    running: int
    scheduled: int
    blocked: int
    oldest: float | None
    limit: int | None
    workers: int
    parts: Sequence[BarPart]
    exact: bool

    @property
    def late(self) -> bool:
        return self.oldest is not None and self.oldest > LATE and not self.paused

    @property
    def unattended(self) -> bool:
        """Something is to be done, and nobody is there for it."""
        return self.workers == 0 and self.ready > 0


@section.page("/", "Overview", icon="overview")
async def overview(look: Look) -> Contents:
    found, workers = await queues_and_workers(look)
    queues = queue_rows(found, workers)
    over, steps = await steps_of(look)
    return {
        "figures": [*_figures(queues, workers), *_ended(over, steps)],
        "queues": queues,
        "charts": charts_of(over, steps),
        "over": over,
        "spans": SPANS,
    }


async def queues_and_workers(look: Look) -> tuple[list[Queue], list[LiveWorker]]:
    """A queue that is served has a place, though nothing is in it just now."""
    workers = await look.run(commands.Workers())
    return commands.with_served(await look.run(commands.QueueOverview()), workers), workers


def queue_rows(queues: Iterable[Queue], workers: Iterable[LiveWorker]) -> list[QueueRow]:
    """Every queue with who attends to it; bars are drawn beside that of the deepest."""
    found = list(queues)
    attended: dict[str, int] = {}
    for worker in workers:
        for name in worker.queues:
            attended[name] = attended.get(name, 0) + 1
    deepest = max((queue.ready + queue.running + queue.scheduled + queue.blocked for queue in found), default=0)
    return [_row(queue, attended.get(queue.name, 0), deepest) for queue in found]


def _row(queue: Queue, workers: int, deepest: int) -> QueueRow:
    limit = queue.settings.get("max_running")
    return QueueRow(
        queue.name, queue.paused, queue.ready, queue.running, queue.scheduled, queue.blocked,
        queue.oldest_ready_seconds, limit if isinstance(limit, int) else None, workers,
        _parts(deepest, running=queue.running, ready=queue.ready, later=queue.scheduled + queue.blocked),
        queue.exact,
    )  # fmt: skip


def _parts(whole: int, **counts: int) -> list[BarPart]:
    parts, start = [], 0.0
    for name, count in counts.items():
        width = round(100 * count / whole, 2) if whole else 0.0
        if count:
            parts.append(BarPart(name, round(start, 2), max(width, 0.5)))
        start += width
    return parts


def _figures(queues: Sequence[QueueRow], workers: Sequence[LiveWorker]) -> list[Figure]:
    ready, running = sum(queue.ready for queue in queues), sum(queue.running for queue in queues)
    later = sum(queue.scheduled + queue.blocked for queue in queues)
    oldest = max((queue.oldest for queue in queues if queue.oldest is not None), default=None)
    paused = sum(queue.paused for queue in queues)
    hosts = len({worker.host for worker in workers})
    more = "" if all(queue.exact for queue in queues) else "+"
    return [
        Figure("Ready", words.short(ready) + more, f"{words.short(later)} more later", "/jobs?state=ready"),
        Figure("Running", words.short(running), f"in {words.counted(len(queues), 'queue')}", "/jobs?state=running"),
        Figure("Oldest ready", words.duration(oldest), _paused(paused), "/jobs?state=ready",
               "paused" if oldest is not None and oldest > LATE else ""),
        Figure("Workers", words.short(len(workers)), f"on {words.counted(hosts, 'host')}", "/workers",
               "" if workers or not ready else "failed"),
    ]  # fmt: skip


def _ended(over: str, steps: Sequence[SummedRuns]) -> list[Figure]:
    failed, retried = sum(step.failed for step in steps), sum(step.retried for step in steps)
    note = f"{words.short(retried)} tried again"
    done = words.short(sum(step.succeeded for step in steps))
    past = f"in the last {SPANS[over].label}"
    return [
        Figure("Succeeded", done, past, "/jobs?state=succeeded"),
        Figure("Given up", words.short(failed), note, "/jobs?state=failed", "failed" if failed else ""),
    ]


def _paused(queues: int) -> str:
    return f"{words.counted(queues, 'queue')} paused" if queues else "nothing is paused"

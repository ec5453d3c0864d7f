"""Workers: who they are, what each does now, and when it was last heard of."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from penstock.engine import commands
from penstock.engine.commands import LiveWorker
from penstock.server.dashboard.page import Contents, Look, Section

section = Section()

SHOWN = 5
"""Of a worker's jobs: those that have run longest."""


class Host(NamedTuple):
    name: str
    workers: Sequence[LiveWorker]
    running: int


@section.page("/workers", "Workers", icon="workers")
async def workers(look: Look) -> Contents:
    found = await look.run(commands.Workers())
    by_host: dict[str, list[LiveWorker]] = {}
    for worker in found:
        by_host.setdefault(worker.host or "", []).append(worker)
    hosts = [
        Host(name, sorted(there, key=lambda each: each.worker), sum(len(each.running) for each in there))
        for name, there in sorted(by_host.items())
    ]
    return {"hosts": hosts, "shown": SHOWN, "silent": _silent}


def _silent(worker: LiveWorker) -> bool:
    """Its heartbeats come every few seconds: this one has missed some."""
    return (datetime.now(UTC) - worker.heard_at).total_seconds() > 30
